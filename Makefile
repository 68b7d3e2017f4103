# qnnrt: build, test, install. `make help` lists the targets; two are enough to begin: run and test.
#
# CC, CXX, CPPFLAGS, CFLAGS, LDFLAGS are yours and come last on the command line. Everything is
# made below build/, objects and programs in build/<config>/; only install writes elsewhere.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDEXPANSION:
MAKEFLAGS += --no-print-directory

B      := build
PYTHON ?= python3
PREFIX ?= /usr/local
OPT    ?= -O2
WARN   ?= -Wall -Wextra -Wpedantic -Wconversion -Wshadow
V      ?= 0
Q      := $(if $(filter 0,$(V)),@)
say     = @$(if $(filter 0,$(V)),printf '  %-8s %s\n' '$(1)' '$@',:)

# Releases of Qualcomm's libraries: what qnn-libs fetches, what test uses.
QNN_RELEASES  ?= 2.47 2.51
TEST_RELEASES ?= 2.47 2.51
ALL_RELEASES  := 2.47 2.48 2.49 2.50 2.51

# Each build option of the headers once, for `make silent`; with what it needs behind a +.
CONFIG_MACROS ?= QNNRT_STATIC QNNRT_API=extern QNNRT_LOG_SLOTS=1 QNNRT_NO_ERROR_TEXT QNNRT_NO_JSON QNNRT_COMPOSE QNNRT_PROFILE_LOG
JSON_MACROS   ?= QNNRT_JSON_STATIC QNNRT_JSON_API=extern
LLM_MACROS    ?= QNNRT_LLM_API=extern QNNRT_STATIC+QNNRT_IMPLEMENTATION QNNRT_NO_JSON+QNNRT_IMPLEMENTATION
# Tests that compile as C++11 too: tests/test_<name>.c.
CXX_TESTS ?= wire run oom quant plan codes json meta compose llm llm_cells llm_roles
# Tests that are of no use in the ASan or in the aarch64 configuration.
NOT_ASAN_TESTS    ?=
NOT_AARCH64_TESTS ?=

# test builds in a make of its own; at the same time as another goal, files would be written twice.
ifneq ($(filter test test-all,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

# ---- what there is --------------------------------------------------------------------------------

HEADERS  := qnnrt.h $(wildcard qnnrt_json.h examples/*.h examples/llm/*.h tools/*.h tools/refbackend/*.h tests/*.h tests/golden/*.h tests/fuzz/*.h tests/fake/*.h tests/real/*.h tests/bench/*.h)
TOOLS    := $(patsubst tools/%.c,$(B)/%,$(wildcard tools/*.c))
EXAMPLES := $(patsubst examples/%.c,%,$(wildcard examples/*.c examples/llm/*.c examples/host/*.c))
EXAMPLE_FILES := $(EXAMPLES:%=$(B)/examples/%)
TESTS    := $(patsubst tests/test_%.c,%,$(wildcard tests/test_*.c))
SCRIPTS  := $(wildcard tests/test_*.sh tests/test_*.py)
REAL     := $(sort $(patsubst real_%,%,$(patsubst tests/real/%.c,%,$(wildcard tests/real/*.c))))
FAKES    := $(if $(wildcard tests/fake/fake_qnn.c),libQnnFake.so)
REF      := $(patsubst tools/refbackend/%.c,%,$(wildcard tools/refbackend/*.c))
# Operators know nothing of the rest: tests/test_ref_op*.c are linked with these alone.
REF_OPS  := $(filter ref_op ops_%,$(REF))
BENCHES  := $(filter-out bench_json bench_ops bench_llm%,$(patsubst tests/bench/%.c,%,$(wildcard tests/bench/bench_*.c)))

ASAN_TESTS    := $(filter-out $(NOT_ASAN_TESTS),$(TESTS))
AARCH64_TESTS := $(filter-out $(NOT_AARCH64_TESTS),$(TESTS))

# Seconds for one program.
LIMIT      ?= 120
LIMIT_ASAN ?= 300
LIMIT_REAL ?= 600

# Compilers. ASan: clang where it is complete, else the C compiler; looked at when first needed.
AARCH64_CC     ?= aarch64-linux-gnu-gcc
AARCH64_SYSROOT ?= /usr/aarch64-linux-gnu
QEMU           ?= qemu-aarch64-static
SANITIZE       := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
ASAN_CC         = $(eval ASAN_CC := $$(shell mkdir -p $(B); echo 'int main(void) { return 0; }' > $(B)/probe.c; \
                  if clang $(SANITIZE) -o $(B)/probe $(B)/probe.c 2>/dev/null; then echo clang; else echo '$(CC)'; fi))$(ASAN_CC)

LIBS      := -ldl
INCLUDES  := -I. -Itests -Itools
TEST_LIBS := -ldl -lm -pthread
# A test that is defined and never run is a mistake.
TEST_WARN := $(WARN) -Werror=unused-function
# Tests are built with POSIX names in view; that qnnrt.h needs none is for `make silent` to show.
TEST_CPPFLAGS := $(INCLUDES) -D_POSIX_C_SOURCE=200809L

# A change of flags rebuilds everything.
FLAGS := $(CC) | $(CXX) | $(CPPFLAGS) | $(CFLAGS) | $(LDFLAGS) | $(OPT) | $(WARN) | $(AARCH64_CC)
DEPS  := $(HEADERS) $(B)/.flags

.PHONY: FORCE
$(B)/.flags: FORCE
	@mkdir -p $(B)
	@printf '%s\n' '$(subst ','\'',$(FLAGS))' > $@.new
	@if cmp -s $@.new $@; then rm -f $@.new; else mv $@.new $@; fi

# ---- tools and examples ---------------------------------------------------------------------------

.PHONY: all
all: $(TOOLS) $(EXAMPLE_FILES) $(B)/examples/libQnnRef.so $(B)/examples/llm/libQnnRef.so $(B)/examples/host/libQnnRef.so   ## build the tools, the examples and libQnnRef.so (default)

$(TOOLS): $(B)/%: tools/%.c $(DEPS)
	$(call say,CC)
	$(Q)$(CC) -std=c99 $(OPT) $(WARN) -I. $(CPPFLAGS) $(CFLAGS) -o $@ $< $(LDFLAGS) $(LIBS)

$(B)/examples/%: examples/%.c $(DEPS)
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c99 $(OPT) $(WARN) -I. $(CPPFLAGS) $(CFLAGS) -o $@ $< $(LDFLAGS) $(LIBS) -lm

# How each configuration compiles. The tools take libQnnRef.so of none, build/libQnnRef.so.
CC_check    = $(CC) -std=c99 $(if $(filter $(ASAN_O1),$(@F)),-O1,-O0) -g1 $(CPPFLAGS) $(CFLAGS)
CC_c99      = $(CC) -std=c99 -O2 -g $(CPPFLAGS) $(CFLAGS)
CC_c++11    = $(CXX) -x c++ -std=c++11 -O1 -g $(CPPFLAGS) $(CXXFLAGS)
CC_asan     = $(ASAN_CC) -std=c99 $(if $(filter $(ASAN_O1),$(@F)),-O1,-O0) -g $(SANITIZE) $(CPPFLAGS) $(CFLAGS)
CC_aarch64  = $(AARCH64_CC) -std=c99 -O2 -g
CC_fuzz     = clang -std=c99 -O1 -g $(SANITIZE) -fsanitize=fuzzer-no-link
CONFIGS    := check c99 c++11 asan aarch64 fuzz
# clang with ASan takes seven times as long to compile with -O1. What computes for long has it.
ASAN_O1    := impl.o llm.o $(addprefix test_,plan quant json llm_sample llm_cells)

# In a recipe: the configuration of build/<config>/<file>, and of build/<config>/<folder>/<file>.
config      = $(notdir $(@D))
config_up   = $(notdir $(patsubst %/,%,$(dir $(@D))))

# libQnnRef.so, the reference backend, and libQnnFake.so, which the tests steer.
CC_ref_build   = $(CC) -std=c99 $(OPT) $(CPPFLAGS) $(CFLAGS)
CC_ref_check   = $(CC) -std=c99 -O1 $(CPPFLAGS) $(CFLAGS)
CC_ref_asan    = $(ASAN_CC) -std=c99 -O1 -g $(SANITIZE)
CC_ref_aarch64 = $(AARCH64_CC) -std=c99 $(OPT)
CC_ref_fuzz    = $(CC_fuzz)
REF_DIRS  := $(B) $(foreach c,check asan aarch64 fuzz,$(B)/$c)
REF_SOS   := $(REF_DIRS:%=%/libQnnRef.so)
REF_OBJS  := $(foreach d,$(REF_DIRS),$(REF:%=$d/ref/%.o))
CC_ref     = $(CC_ref_$(patsubst $(notdir $(B)),build,$(notdir $(patsubst %/ref,%,$(@D)))))

$(REF_OBJS): tools/refbackend/$$(basename $$(@F)).c $(wildcard tools/refbackend/*.h) $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC_ref) $(WARN) -ffp-contract=off -D_POSIX_C_SOURCE=200809L -fPIC -fvisibility=hidden -c -o $@ $<

$(REF_SOS): $(REF:%=$$(@D)/ref/%.o)
	$(call say,LD)
	$(Q)$(CC_ref) -shared -o $@ $^ $(LDFLAGS) -lm -pthread

.PHONY: ref
ref: $(B)/libQnnRef.so   ## build/libQnnRef.so: the reference backend (tools/refbackend/README.md)

# ---- Qualcomm's libraries -------------------------------------------------------------------------

fetch = if command -v $(PYTHON) >/dev/null 2>&1; then $(PYTHON) tests/qnn-libs.py --dir $(B)/qnn $(1); \
        else echo "qnn-libs: python3 is missing; it and its pip are needed to fetch Qualcomm's libraries"; false; fi

.PHONY: qnn-libs
qnn-libs:   ## fetch Qualcomm's libraries into build/qnn (QNN_RELEASES=all, aarch64 or a list)
	@$(call fetch,$(QNN_RELEASES))

# BACKEND is ref or htp. Of ref the examples need no path: it lies beside them, and they take it unless told otherwise.
BACKEND ?= ref
RUN_DIR ?= $(B)/run
RUN     ?=

QNN51    := $(B)/qnn/2.51/onnxruntime_qnn
SAMPLE   := tests/data/ctx/qairt2.51/chain_of_three
LIBS_ref := $(B)/libQnnRef.so $(B)/libQnnRef.so
LIBS_aarch64 := $(LIBS_ref)
LIBS_htp := $(QNN51)/libQnnHtp.so $(QNN51)/libQnnSystem.so
RUN_LIB   = $(firstword $(LIBS_$(BACKEND)))
RUN_SYS   = $(lastword $(LIBS_$(BACKEND)))
RUN_OUT   = $(RUN_DIR)/$(BACKEND)

$(B)/examples/libQnnRef.so: $(B)/libQnnRef.so
	@mkdir -p $(@D)
	@ln -sf ../libQnnRef.so $@

$(B)/examples/llm/libQnnRef.so $(B)/examples/host/libQnnRef.so: $(B)/libQnnRef.so
	@mkdir -p $(@D)
	@ln -sf ../../libQnnRef.so $@

.PHONY: run run-ref run-htp run-cpu run-aarch64
run: run-$(BACKEND)   ## build a language model in C, run it on libQnnRef.so (BACKEND=htp: on Qualcomm's libQnnHtp.so)

define run_model
	@rm -rf $(RUN_OUT) && mkdir -p $(RUN_OUT)/model
	$(RUN) $(B)/examples/05_make_model tests/data/llm/model $(RUN_OUT)/model $(filter-out $(LIBS_ref),$(RUN_LIB))
	$(RUN) $(B)/qnnrt-run inspect $(RUN_OUT)/model --system_so $(RUN_SYS) --json_file $(RUN_OUT)/model/ > $(RUN_OUT)/inspect
	$(RUN) $(B)/qnnrt-run --ctx_dir $(RUN_OUT)/model --backend_so $(RUN_LIB) --num_inferences 5
	$(RUN) $(B)/examples/06_generate $(RUN_OUT)/model "And the LORD said unto " 64 $(RUN_LIB) $(RUN_OUT)/logits.raw > $(RUN_OUT)/text
	@sh tests/check_run.sh $(RUN_DIR) $(BACKEND)
endef

RUN_PROGRAMS := $(B)/qnnrt-run $(B)/examples/05_make_model $(B)/examples/06_generate
run-ref: $(RUN_PROGRAMS) $(B)/libQnnRef.so $(B)/examples/libQnnRef.so
	$(run_model)

# Behind the model made here, one in three shards that Qualcomm's own tools made.
run-htp: $(RUN_PROGRAMS)
	@$(call fetch,2.51)
	$(run_model)
	$(RUN) $(B)/qnnrt-run --ctx_dir $(SAMPLE) --backend_so $(RUN_LIB) \
	    --input input_ids=$(SAMPLE)/input_ids.raw --output_dir $(RUN_OUT)/chain
	@for file in $(RUN_OUT)/chain/*/logits.raw; do \
	    if cmp "$$file" $(SAMPLE)/logits.expected.raw; then echo "OK: $$file is what Qualcomm's runtime returns"; \
	    else echo "FAILED: $$file differs from $(SAMPLE)/logits.expected.raw"; exit 1; fi; \
	done

run-cpu:
	@echo "run: Qualcomm's CPU library has no 16-bit activations, which this model is made of: BACKEND is ref or htp"; exit 2

run-%:
	@echo "run: there is no backend '$*': BACKEND is ref or htp"; exit 2

# The same for a board, in a folder of its own; what both computed is compared.
run-aarch64:   ## run, but built for aarch64 and under qemu (needs gcc-aarch64-linux-gnu, qemu-user-static)
	@for program in $(AARCH64_CC) $(QEMU); do \
	    command -v $$program >/dev/null 2>&1 || { echo "run-aarch64: $$program is not installed"; exit 2; }; done
	@$(MAKE) run-ref B=$(B)/run-aarch64 BACKEND=aarch64 RUN_DIR=$(RUN_DIR) CC=$(AARCH64_CC) RUN='$(QEMU) -L $(AARCH64_SYSROOT)'

# A language model with the names of public exports, and its text.
.PHONY: llm llm-ref llm-htp
llm: llm-$(BACKEND)   ## export a language model in four shards, and let it write (BACKEND=htp: on Qualcomm's libQnnHtp.so)

LLM_OUT     = $(B)/llm-run/$(BACKEND)
# A space stands behind it, everywhere.
LLM_PROMPT := And the LORD said unto
define llm_model
	@rm -rf $(LLM_OUT) && mkdir -p $(LLM_OUT)/model
	$(RUN) $(B)/examples/llm/export tests/data/llm/model $(LLM_OUT)/model --type w8a16 --shards 4 --backend_so $(RUN_LIB)
	$(RUN) $(B)/qnnrt-llm --ctx_dir $(LLM_OUT)/model --backend_so $(RUN_LIB) --prompt '$(LLM_PROMPT) ' --max_gen 64 > $(LLM_OUT)/text
	@cat $(LLM_OUT)/text
	@text=$$(sed -n 's/.*"prompt": "$(LLM_PROMPT) ", "text": "\([^"]*\)".*/\1/p' tests/data/llm/expected.json); \
	if [ -n "$$text" ] && grep -qF "$$text" $(LLM_OUT)/text; then echo "OK: the text is the one that Qualcomm's language-model runtime writes with this model"; \
	else echo "FAILED: that is not '$$text'"; exit 1; fi
endef

LLM_PROGRAMS := $(B)/examples/llm/export $(B)/qnnrt-llm
llm-ref: $(LLM_PROGRAMS) $(B)/libQnnRef.so
	$(llm_model)

llm-htp: $(LLM_PROGRAMS)
	@$(call fetch,2.51)
	$(llm_model)

llm-%:
	@echo "llm: there is no backend '$*' for this: BACKEND is ref or htp"; exit 2

.PHONY: host host-ref host-htp
host: host-$(BACKEND)   ## an inference engine on qnnrt_llm.h: batches, sequences, drafts, state (BACKEND=htp: on Qualcomm's libQnnHtp.so)

# The draft model is the first three layers of the model.
HOST_OUT := $(B)/host-run
host-ref: $(B)/examples/host/host $(B)/examples/llm/export $(B)/libQnnRef.so
	@rm -rf $(HOST_OUT) && mkdir -p $(HOST_OUT)/model $(HOST_OUT)/three $(HOST_OUT)/draft
	@cp tests/data/llm/model/model.safetensors $(HOST_OUT)/three
	@sed 's/"num_hidden_layers": 4/"num_hidden_layers": 3/' tests/data/llm/model/config.json > $(HOST_OUT)/three/config.json
	$(B)/examples/llm/export tests/data/llm/model $(HOST_OUT)/model --type w8a16 --backend_so $(RUN_LIB)
	$(B)/examples/llm/export $(HOST_OUT)/three $(HOST_OUT)/draft --type f32 --backend_so $(RUN_LIB)
	$(B)/examples/host/host $(HOST_OUT)/model $(RUN_LIB) $(HOST_OUT)/draft

host-htp: $(B)/examples/host/host
	@$(call fetch,2.51)
	$(B)/examples/host/host tests/data/llm/w8a16_one $(RUN_LIB)

host-%:
	@echo "host: there is no backend '$*' for this: BACKEND is ref or htp"; exit 2

# What the tests of language models compare with, by numpy: tokens of the trained model and of random ones, and ranges.
DEEP := $(B)/llm/deep
TIED := $(B)/llm/tied
.PHONY: golden-llm
golden-llm: $(B)/examples/llm/random_model   ## write tests/golden/llm_tokens.txt and ranges.json anew (needs python3 with numpy)
	@mkdir -p $(DEEP) $(TIED)
	$(B)/examples/llm/random_model $(DEEP) 16 7
	$(B)/examples/llm/random_model $(TIED) 3 5 1 tied
	$(PYTHON) tests/make_ranges.py > $(DEEP)/new && mv $(DEEP)/new tests/data/llm/model/ranges.json
	$(PYTHON) tests/make_ranges.py $(DEEP) > $(DEEP)/new && mv $(DEEP)/new tests/data/llm/deep_ranges.json
	$(PYTHON) tests/reference_llm.py --golden tests/data/llm/model $(DEEP) $(TIED) > $(DEEP)/new && mv $(DEEP)/new tests/golden/llm_tokens.txt
	$(PYTHON) tests/reference_llm.py --argmax tests/data/llm/model > $(DEEP)/new && mv $(DEEP)/new tests/golden/llm_argmax.txt

# ---- tests ----------------------------------------------------------------------------------------

FAKE_check   := $(B)/check/fake
FAKE_c99     := $(B)/fake
FAKE_c++11   := $(B)/fake
FAKE_asan    := $(B)/fake
FAKE_aarch64 := $(B)/aarch64/fake
FAKE_fuzz    := $(B)/fuzz/fake
REF_check    := $(B)/check
REF_c99      := $(B)
REF_c++11    := $(B)
REF_asan     := $(B)/asan
REF_aarch64  := $(B)/aarch64
REF_fuzz     := $(B)/fuzz

# build/fake serves several configurations; the others have one of their own.
CC_fake_build = $(CC_c99)
CC_fake       = $(or $(CC_fake_$(config_up)),$(CC_$(config_up)))
FAKE_SOS     := $(sort $(foreach c,$(CONFIGS),$(FAKE_$c)/libQnnFake.so))
$(FAKE_SOS): tests/fake/fake_qnn.c qnnrt.h $(wildcard tests/fake/*.h) $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC_fake) $(WARN) $(TEST_CPPFLAGS) -fPIC -shared -o $@ $< $(LDFLAGS) -ldl -pthread

$(B)/fake/libOpPackage.so: tests/fake/op_package.c
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c99 $(OPT) -g $(WARN) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $< $(LDFLAGS)

# The implementation of the headers, once for each configuration. A test takes what it does not define itself
# out of libqnnrt.a; tests/test_own.sh knows which tests define something.
IMPLS        := $(foreach c,$(CONFIGS),$(B)/$c/impl.o)
LLMS         := $(IMPLS:impl.o=llm.o)
NO_JSONS     := $(IMPLS:impl.o=nojson.o)
ARCHIVES     := $(IMPLS:impl.o=libqnnrt.a)
IMPL_FLAGS    = $(WARN) $(TEST_CPPFLAGS) $(if $(filter c++11,$(config)),,-x c) -MMD -MP -MT $@ -c
$(IMPLS): qnnrt.h qnnrt_json.h $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC_$(config)) $(IMPL_FLAGS) -DQNNRT_COMPOSE -DQNNRT_PROFILE_LOG -DQNNRT_IMPLEMENTATION -o $@ $<
$(NO_JSONS): qnnrt.h $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC_$(config)) $(IMPL_FLAGS) -DQNNRT_NO_JSON -DQNNRT_IMPLEMENTATION -o $@ $<
$(LLMS): tools/qnnrt_llm.h qnnrt.h qnnrt_json.h $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC_$(config)) $(IMPL_FLAGS) -DQNNRT_COMPOSE -DQNNRT_LLM_IMPLEMENTATION -o $@ $<
$(ARCHIVES): $$(@D)/impl.o $$(@D)/llm.o
	@rm -f $@ && ar rc $@ $^

# Programs with the implementation: the compiler writes what each includes into <program>.d.
LIB_DEFS      = -DTEST_FAKE_LIB='"$(FAKE_$(config))/libQnnFake.so"' -DTEST_REF_LIB='"$(REF_$(config))/libQnnRef.so"' \
                -DTEST_OP_PACKAGE='"$(B)/fake/libOpPackage.so"'
TEST_BUILD    = $(CC_$(config)) $(TEST_WARN) $(TEST_CPPFLAGS) $(LIB_DEFS) -MMD -MP -MF $@.d -o $@ $< \
                $(if $(filter c++11,$(config)),-x none) $(filter %.o %.a,$^) $(LDFLAGS) $(TEST_LIBS)
-include $(wildcard $(foreach c,$(CONFIGS),$(B)/$c/*.d))

REF_OP_TESTS  := $(filter ref_op%,$(TESTS))
TEST_PROGRAMS := $(foreach c,$(CONFIGS),$(addprefix $(B)/$c/test_,$(filter-out nojson $(REF_OP_TESTS),$(TESTS))))
$(TEST_PROGRAMS): tests/$$(@F).c $$(@D)/libqnnrt.a $(B)/.flags
	$(call say,CC)
	$(Q)$(TEST_BUILD)

# Built without JSON.
$(CONFIGS:%=$(B)/%/test_nojson): tests/test_nojson.c $$(@D)/nojson.o $(B)/.flags
	$(call say,CC)
	$(Q)$(TEST_BUILD)

$(foreach c,$(CONFIGS),$(addprefix $(B)/$c/test_,$(REF_OP_TESTS))): tests/$$(@F).c $(REF_OPS:%=$$(REF_$$(config))/ref/%.o) $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(TEST_BUILD)

$(foreach c,$(CONFIGS),$(REAL:%=$(B)/$c/real_%)): tests/real/$$(patsubst real_%,%,$$(@F)).c $$(@D)/libqnnrt.a $(B)/.flags
	$(call say,CC)
	$(Q)$(TEST_BUILD)

# Programs that scripts run.
$(foreach c,$(CONFIGS),$(addprefix $(B)/$c/,ops llm_plain llm_exact)): tests/$$(@F).c $$(@D)/libqnnrt.a $(B)/.flags
	$(call say,CC)
	$(Q)$(TEST_BUILD)

$(B)/json_check: tests/json_check.c $(B)/c99/libqnnrt.a $(B)/.flags
	$(call say,CC)
	$(Q)$(CC_c99) $(WARN) $(TEST_CPPFLAGS) -o $@ $< $(B)/c99/libqnnrt.a $(LDFLAGS) $(TEST_LIBS)

# tests/fuzz/fuzz_<name>.c, its inputs in tests/fuzz/corpus/<name>/, words for it in <name>.dict. test
# replays the inputs without libFuzzer; `make fuzz` runs it for real, on a work corpus of its own.
FUZZERS    := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ       ?= $(FUZZERS)
TIME       ?= 600
FUZZ_LEN   ?= 8192
FUZZ_LINK  = $(if $(filter fuzz,$(config)),-fsanitize=fuzzer,-DFUZZ_REPLAY)
$(foreach c,asan fuzz,$(FUZZERS:%=$(B)/$c/fuzz_%)): tests/fuzz/$$(@F).c $$(@D)/libqnnrt.a $(B)/.flags
	$(call say,CC)
	$(Q)$(TEST_BUILD) $(FUZZ_LINK)

fuzz_run = mkdir -p $(B)/fuzz/$(1) && $(B)/fuzz/fuzz_$(1) $(patsubst %,-dict=%,$(wildcard tests/fuzz/$(1).dict)) -max_len=$(FUZZ_LEN) \
           -max_total_time=$(TIME) -print_final_stats=1 -artifact_prefix=$(B)/fuzz/$(1)- $(B)/fuzz/$(1) tests/fuzz/corpus/$(1)
.PHONY: fuzz
fuzz: $(FUZZ:%=$(B)/fuzz/fuzz_%) $(B)/fuzz/fake/libQnnFake.so $(B)/fuzz/libQnnRef.so   ## hostile input for TIME seconds (default 600) each, or FUZZ=json alone: needs clang with libFuzzer
	$(foreach f,$(FUZZ),$(call fuzz_run,$f) &&) :

SYMBOL_FLAGS := -std=c99 -O2 -U_FORTIFY_SOURCE -fno-stack-protector -DQNNRT_IMPLEMENTATION -x c
$(B)/symbols/qnnrt.o: qnnrt.h qnnrt_json.h $(B)/.flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(SYMBOL_FLAGS) -c -o $@ qnnrt.h
$(B)/symbols/qnnrt_static.o: qnnrt.h qnnrt_json.h $(B)/.flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(SYMBOL_FLAGS) -DQNNRT_STATIC -w -c -o $@ qnnrt.h

$(B)/symbols/qnnrt_hidden.o: qnnrt.h qnnrt_json.h $(B)/.flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(SYMBOL_FLAGS) -DQNNRT_API='extern __attribute__((visibility("hidden")))' -c -o $@ qnnrt.h

# tests/oracle_<name>.py prints expected values; tests/test_<name>.c finds them through QNNRT_ORACLE.
HAVE_PYTHON = $(shell command -v $(PYTHON) 2>/dev/null)
ORACLES     = $(if $(HAVE_PYTHON),$(patsubst tests/oracle_%.py,%,$(wildcard tests/oracle_*.py)))
oracle_env  = $(if $(filter $(1),$(ORACLES)),QNNRT_ORACLE=$(B)/oracle_$(1).txt )$(if $(filter json,$(1)),LOCPATH=$(B)/locale )

# A locale with a decimal comma, made of what Debian's package locales has.
$(B)/locale/.made:
	@mkdir -p $(@D)
	@localedef -i de_DE -f UTF-8 $(@D)/de_DE.UTF-8 >/dev/null 2>&1 || true
	@touch $@

# The operators of libQnnRef.so beside the genuine libraries, and beside what oracle_ops.py makes of the same inputs.
OPS_SEEDS  = $(if $(FULL),6,1)
OPS_CHECK  = $(if $(UPDATE),--update tests/golden/ops.txt,$(if $(FULL),,$(if $(HAVE_PYTHON),--golden tests/golden/ops.txt)))
OPS_RUN    = $(B)/c99/ops $(B)/libQnnRef.so $(B)/qnn $(if $(HAVE_PYTHON),--oracle $(B)/oracle_ops.txt) $(OPS_CHECK)
$(B)/oracle_ops.txt: tests/oracle_ops.py $(B)/c99/ops
	$(Q)$(B)/c99/ops --dump $(B)/ops_cases.txt
	$(Q)$(PYTHON) $< $(B)/ops_cases.txt > $@

.PHONY: ops
ops: $(B)/c99/ops $(B)/libQnnRef.so $(if $(HAVE_PYTHON),$(B)/oracle_ops.txt)   ## each operator of libQnnRef.so beside Qualcomm's libraries and Python (FULL=1: more shapes, UPDATE=1: new table)
	@$(call fetch,2.47 2.51)
	@$(if $(FULL),$(B)/c99/ops --dump $(B)/ops_full.txt --seeds $(OPS_SEEDS); $(PYTHON) tests/oracle_ops.py $(B)/ops_full.txt > $(B)/oracle_ops_full.txt)
	@pin=; if taskset -c 0 true 2>/dev/null; then pin='taskset -c 0'; fi; \
	$$pin $(if $(FULL),$(subst oracle_ops.txt,oracle_ops_full.txt,$(OPS_RUN)) --seeds $(OPS_SEEDS),$(OPS_RUN))

# This one reads files, and which ones depends on QNNRT_SAMPLES.
$(B)/oracle_meta.txt: FORCE $(wildcard tests/data/json/*.json)

$(B)/oracle_%.txt: tests/oracle_%.py
	@mkdir -p $(@D)
	$(Q)$(PYTHON) $< > $@

HAVE_AARCH64 = $(if $(TEST_AARCH64),$(shell command -v $(AARCH64_CC) 2>/dev/null))

.PHONY: test-programs
test-programs: all $(B)/asan/libQnnRef.so $(B)/c99/ops $(B)/asan/ops $(B)/c99/llm_plain $(B)/c99/llm_exact $(B)/json_check $(FAKES:%=$(B)/fake/%) $(B)/fake/libOpPackage.so $(B)/symbols/qnnrt.o $(B)/symbols/qnnrt_static.o $(B)/symbols/qnnrt_hidden.o \
    $(ORACLES:%=$(B)/oracle_%.txt) $(B)/locale/.made $(TESTS:%=$(B)/c99/test_%) $(REAL:%=$(B)/c99/real_%) \
    $(ASAN_TESTS:%=$(B)/asan/test_%) $(FUZZERS:%=$(B)/asan/fuzz_%) $(REAL:%=$(B)/asan/real_%) $(CXX_TESTS:%=$(B)/c++11/test_%) \
    $(if $(HAVE_AARCH64),$(B)/aarch64/libQnnRef.so $(FAKES:%=$(B)/aarch64/fake/%) $(AARCH64_TESTS:%=$(B)/aarch64/test_%) $(REAL:%=$(B)/aarch64/real_%))

# The list for tests/run.sh: label, seconds, command.
SILENT  := sh tests/silent.sh qnnrt.h $(CONFIG_MACROS) qnnrt_json.h $(JSON_MACROS) tools/qnnrt_llm.h $(LLM_MACROS)
SYMBOLS := sh tests/symbols.sh qnnrt.h $(B)/symbols/qnnrt.o $(B)/symbols/qnnrt_static.o $(B)/symbols/qnnrt_hidden.o $(if $(wildcard tools/qnnrt-run.c),$(B)/qnnrt-run)
ASAN_ENV := UBSAN_OPTIONS=print_stacktrace=1
LIST     := $(B)/tests.list

comma := ,
define make_list
{ if [ -f $(B)/.build-failed ]; then echo "build 10 echo 'not everything was built: see the messages above'; exit 1"; fi; \
  $(foreach t,$(TESTS),echo "c99/test_$t $(LIMIT) $(call oracle_env,$t)$(B)/c99/test_$t";) \
  $(foreach t,$(CXX_TESTS),echo "c++11/test_$t $(LIMIT) $(call oracle_env,$t)$(B)/c++11/test_$t";) \
  $(foreach t,$(ASAN_TESTS),echo "asan/test_$t $(LIMIT_ASAN) $(ASAN_ENV) $(call oracle_env,$t)$(B)/asan/test_$t";) \
  $(foreach f,$(FUZZERS),echo "asan/fuzz_$f $(LIMIT_ASAN) $(ASAN_ENV) $(B)/asan/fuzz_$f tests/fuzz/corpus/$f/*";) \
  $(foreach t,$(filter %.sh,$(SCRIPTS)),echo "script/$(notdir $t) $(LIMIT_ASAN) sh $t";) \
  if command -v $(PYTHON) >/dev/null 2>&1; then :; $(foreach t,$(filter %.py,$(SCRIPTS)),echo "script/$(notdir $t) $(LIMIT) $(PYTHON) $t";) \
  else :; $(foreach t,$(filter %.py,$(SCRIPTS)),echo "script/$(notdir $t) skip python3 is missing";) fi; \
  echo "silent 1200,anycore $(SILENT)"; \
  echo "symbols 60 $(SYMBOLS)"; \
  echo "make-host $(LIMIT_ASAN) MAKEFLAGS= MAKELEVEL= $(MAKE) host && echo 1 passed$(comma) 0 failed"; \
  echo "asan/ops $(LIMIT_ASAN) $(ASAN_ENV) $(B)/asan/ops $(B)/asan/libQnnRef.so - $(if $(HAVE_PYTHON),--oracle $(B)/oracle_ops.txt)"; \
  if [ -f $(B)/qnn/2.47/.stamp ] && [ -f $(B)/qnn/2.51/.stamp ]; then echo "ops $(LIMIT_REAL) $(OPS_RUN)"; \
  else echo "ops skip $(B)/qnn/2.47 or 2.51 is missing: say 'make qnn-libs' (needs python3 with pip, and a network)"; fi; \
  for r in $(TEST_RELEASES); do \
    if [ ! -f $(B)/qnn/$$r/.stamp ]; then \
      echo "real@$$r skip $(B)/qnn/$$r is missing: say 'make qnn-libs' (needs python3 with pip, and a network)"; continue; fi; \
    $(foreach t,$(REAL),echo "real_$t@$$r $(LIMIT_REAL) $(B)/c99/real_$t $(B)/qnn/$$r/onnxruntime_qnn tests/data";) \
  done; \
  if [ -f $(B)/qnn/2.51/.stamp ]; then :; \
    $(foreach t,$(REAL),echo "asan/real_$t@2.51 $(LIMIT_REAL) ASAN_OPTIONS=detect_leaks=0 $(ASAN_ENV) $(B)/asan/real_$t $(QNN51) tests/data";) \
    $(if $(wildcard tools/qnnrt-run.c),echo "make-run@2.51 $(LIMIT_ASAN) MAKEFLAGS= MAKELEVEL= $(MAKE) run && MAKEFLAGS= MAKELEVEL= $(MAKE) run BACKEND=htp && echo 1 passed$(comma) 0 failed";) \
    echo "make-llm@2.51 $(LIMIT_ASAN) MAKEFLAGS= MAKELEVEL= $(MAKE) llm && MAKEFLAGS= MAKELEVEL= $(MAKE) llm BACKEND=htp && echo 1 passed$(comma) 0 failed"; \
  fi; \
  $(if $(TEST_AARCH64), \
  if ! command -v $(AARCH64_CC) >/dev/null 2>&1; then echo "aarch64 skip $(AARCH64_CC) is not installed"; \
  elif ! command -v $(QEMU) >/dev/null 2>&1; then echo "aarch64 skip $(QEMU) is not installed"; \
  elif [ ! -d $(AARCH64_SYSROOT) ]; then echo "aarch64 skip there is no $(AARCH64_SYSROOT)"; \
  else :; \
    $(foreach t,$(AARCH64_TESTS),echo "aarch64/test_$t $(LIMIT_ASAN) $(call oracle_env,$t)$(QEMU) -L $(AARCH64_SYSROOT) $(B)/aarch64/test_$t";) \
    echo "aarch64/make-run $(LIMIT_REAL) MAKEFLAGS= MAKELEVEL= $(MAKE) run && MAKEFLAGS= MAKELEVEL= $(MAKE) run-aarch64 | grep -F '$(B)/run/ref: the same bytes' && echo 1 passed$(comma) 0 failed"; \
    r=$(B)/qnn/2.51-aarch64; \
    if [ -f $$r/.stamp ]; then :; \
      $(foreach t,$(REAL),echo "aarch64/real_$t@2.51 $(LIMIT_REAL) QNNRT_NO_DEVICE=1 $(QEMU) -L $(AARCH64_SYSROOT) -E LD_LIBRARY_PATH=$$r/onnxruntime_qnn $(B)/aarch64/real_$t $$r/onnxruntime_qnn tests/data";) \
    else echo "aarch64/real skip $$r is missing: say 'make qnn-libs QNN_RELEASES=aarch64'"; fi; \
  fi;) \
} > $(LIST)
endef

# One configuration without optimization, sanitizer or download.
CHECK_TESTS = $(if $(T),$(foreach t,$(TESTS),$(if $(findstring $(T),$t),$t)),$(TESTS))
.PHONY: check
check: $$(addprefix $(B)/check/test_,$$(CHECK_TESTS)) $(FAKE_check)/libQnnFake.so $(REF_check)/libQnnRef.so \
    $$(addsuffix .txt,$$(addprefix $(B)/oracle_,$$(filter $$(CHECK_TESTS),$$(ORACLES)))) $(B)/locale/.made   ## the unit tests of the headers in seconds (T=wire: part of a name)
	@{ :; $(foreach t,$(CHECK_TESTS),echo "test_$t $(LIMIT) $(call oracle_env,$t)$(B)/check/test_$t";) } > $(B)/check.list
	@sh tests/run.sh $(B)/check.list

.PHONY: test
test:   ## all tests, ASan and the genuine libraries included (T=part of a label for some)
	@mkdir -p $(B) && rm -f $(B)/.build-failed
	@$(MAKE) -k test-programs || touch $(B)/.build-failed
	@$(call fetch,$(TEST_RELEASES)) || true
	@$(if $(TEST_AARCH64),$(call fetch,aarch64) || true,:)
	@$(make_list)
	@sh tests/run.sh $(LIST) $(T)

.PHONY: test-all
test-all:   ## test, with all five releases and the aarch64 build under qemu
	@$(MAKE) test TEST_RELEASES='$(ALL_RELEASES)' TEST_AARCH64=1

.PHONY: silent
silent:   ## compile each header alone in every combination that must give no warning
	@$(SILENT)

.PHONY: symbols
symbols: $(B)/symbols/qnnrt.o $(B)/symbols/qnnrt_static.o $(B)/symbols/qnnrt_hidden.o $(if $(wildcard tools/qnnrt-run.c),$(B)/qnnrt-run)   ## what the implementation exports, keeps and calls
	@$(SYMBOLS)

OOM_TESTS := $(filter oom% compose,$(TESTS))
.PHONY: oom
oom: $(FAKES:%=$(B)/fake/%) $(OOM_TESTS:%=$(B)/asan/test_%)   ## let every allocation fail in turn: tests/test_oom*.c with ASan
	@mkdir -p $(B)
	@{ :; $(foreach t,$(OOM_TESTS),echo "asan/test_$t $(LIMIT_ASAN) $(ASAN_ENV) $(B)/asan/test_$t";) } > $(B)/oom.list
	@sh tests/run.sh $(B)/oom.list

$(B)/bench/%: tests/bench/%.c $(DEPS)
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c99 -O2 $(WARN) $(TEST_CPPFLAGS) $(CPPFLAGS) $(CFLAGS) -o $@ $< $(LDFLAGS) $(TEST_LIBS)

$(B)/bench/libempty_qnn.so $(B)/bench/libllm_proxy.so: $(B)/bench/lib%.so: tests/bench/%.c $(DEPS)
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c99 -O2 $(WARN) $(TEST_CPPFLAGS) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $< $(LDFLAGS)

.PHONY: bench
bench: $(BENCHES:%=$(B)/bench/%) $(B)/bench/libempty_qnn.so   ## what qnnrt_exec costs over the vendor's graphExecute; then bench-json
	@$(call fetch,2.47 2.51) || true
	@pin=; if taskset -c 0 true 2>/dev/null; then pin='taskset -c 0'; fi; \
	set -e; for program in $(BENCHES:%=$(B)/bench/%); do $$pin $$program $(B)/bench/libempty_qnn.so $(B)/qnn tests/data; done
	@$(MAKE) bench-json

# Peers: yyjson by tests/bench-peers.py, the other two where their Debian packages are installed. simdjson is
# meant to be built for the machine it runs on; yyjson is fastest with these flags, so ours has them too.
PEERS       := $(B)/peers
PEER_FLAGS   = $(if $(wildcard $(PEERS)/yyjson/yyjson.c),-DBENCH_YYJSON -I$(PEERS)/yyjson) \
               $(if $(wildcard /usr/include/simdjson.h),-DBENCH_SIMDJSON) $(if $(wildcard /usr/include/cjson/cJSON.h),-DBENCH_CJSON)
PEER_OBJECTS = $(if $(wildcard $(PEERS)/yyjson/yyjson.c),$(B)/bench/yyjson.o) $(if $(wildcard /usr/include/simdjson.h),$(B)/bench/simdjson.o)
PEER_LIBS    = $(if $(wildcard /usr/include/simdjson.h),-lsimdjson -lstdc++) $(if $(wildcard /usr/include/cjson/cJSON.h),-lcjson)

$(B)/bench/yyjson.o: $(PEERS)/yyjson/yyjson.c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c99 -O3 -falign-functions=64 -c -o $@ $<

$(B)/bench/simdjson.o: tests/bench/bench_simdjson.cpp tests/bench/bench_json.h $(B)/.flags
	$(call say,CXX)
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -O2 -march=native -Wall -Wextra -Wno-mismatched-new-delete -Itests/bench -c -o $@ $<

.PHONY: bench-json bench-json-peers bench-json-run
bench-json-peers:
	@$(PYTHON) tests/bench-peers.py --dir $(PEERS) yyjson || echo "bench-json: without yyjson"

bench-json-run: $(PEER_OBJECTS) $(DEPS)
	$(call say,CC)
	@mkdir -p $(B)/bench
	$(Q)$(CC) -std=c99 -O3 -falign-functions=64 $(WARN) $(TEST_CPPFLAGS) $(PEER_FLAGS) $(CPPFLAGS) $(CFLAGS) -o $(B)/bench/bench_json tests/bench/bench_json.c \
	    $(PEER_OBJECTS) $(LDFLAGS) -Wl,-z,now $(TEST_LIBS) $(PEER_LIBS)
	@pin=; if taskset -c 0 true 2>/dev/null; then pin='taskset -c 0'; fi; \
	if [ -d "$(QNNRT_SAMPLES)/json" ]; then $$pin $(B)/bench/bench_json "$(QNNRT_SAMPLES)/json"; \
	else echo "bench-json: QNNRT_SAMPLES is not set: dumps of our own tool"; $$pin $(B)/bench/bench_json tests/data/llm/json; fi

bench-json: bench-json-peers   ## JSON metadata beside yyjson, simdjson and cJSON (QNNRT_SAMPLES=folder with json/)
	@$(MAKE) bench-json-run

.PHONY: bench-ops
bench-ops: $(B)/bench/bench_ops $(B)/libQnnRef.so   ## libQnnRef.so beside libQnnCpu.so and ONNX Runtime: MatMul, Conv2d, a decoder layer
	@$(call fetch,2.47) || true
	@$(PYTHON) tests/bench-peers.py --dir $(PEERS) onnxruntime || echo "bench-ops: without ONNX Runtime"
	@pin=; if taskset -c 0 true 2>/dev/null; then pin='taskset -c 0'; fi; \
	there() { if [ -f "$$1" ]; then echo "$$1"; else echo -; fi; }; \
	$$pin $(B)/bench/bench_ops $(B)/libQnnRef.so "$$(there $(B)/qnn/2.47/onnxruntime_qnn/libQnnCpu.so)" "$$(there $(PEERS)/onnxruntime/libonnxruntime.so)"

# Genie and a bare loop run the same file as we do, each behind a library that writes down when it computes.
LLM_PEERS := $(B)/bench/llm_genie $(B)/bench/llm_raw $(B)/bench/llm_ours $(B)/bench/libllm_proxy.so

.PHONY: bench-llm
bench-llm: $(LLM_PEERS) $(B)/bench/bench_llm_shapes $(B)/libQnnRef.so   ## a token's work on the host: ours beside Qualcomm's Genie and a bare loop; then large models' shapes
	@$(call fetch,2.51) || true
	@pin=; if taskset -c 0 true 2>/dev/null; then pin='taskset -c 0'; fi; status=0; \
	if [ -f $(QNN51)/libGenie.so ]; then $(PYTHON) tests/bench-llm.py $(B)/bench $(B)/qnn tests/data/llm || status=1; \
	else echo "bench-llm: without Genie: $(QNN51)/libGenie.so is missing"; fi; \
	$$pin $(B)/bench/bench_llm_shapes $(B)/libQnnRef.so || status=1; exit $$status

# ---- install --------------------------------------------------------------------------------------

VERSION  = $(shell sed -n '1s/.* v\([0-9][0-9.]*\) .*/\1/p' qnnrt.h)
INSTALL ?= install
INSTALL_HEADERS := qnnrt.h qnnrt_json.h tools/qnnrt_compose.h tools/qnnrt_profile_log.h tools/qnnrt_llm.h

.PHONY: install
install: $(TOOLS)   ## install the headers, the tools and qnnrt.pc (PREFIX, DESTDIR)
	@printf 'prefix=%s\nincludedir=$${prefix}/include\n\nName: qnnrt\nDescription: %s\nVersion: %s\nCflags: -I$${includedir}\nLibs: -ldl\n' \
	    '$(PREFIX)' 'Run compiled Qualcomm QNN models from C99, one header' '$(VERSION)' > $(B)/qnnrt.pc
	$(INSTALL) -d '$(DESTDIR)$(PREFIX)/include' '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/lib/pkgconfig'
	$(INSTALL) -m 644 $(INSTALL_HEADERS) '$(DESTDIR)$(PREFIX)/include'
	$(INSTALL) -m 755 $(TOOLS) '$(DESTDIR)$(PREFIX)/bin'
	$(INSTALL) -m 644 $(B)/qnnrt.pc '$(DESTDIR)$(PREFIX)/lib/pkgconfig'

.PHONY: uninstall
uninstall:   ## remove what install put there
	rm -f $(patsubst %,'$(DESTDIR)$(PREFIX)/include/%',$(notdir $(INSTALL_HEADERS))) $(patsubst %,'$(DESTDIR)$(PREFIX)/bin/%',$(notdir $(TOOLS))) \
	    '$(DESTDIR)$(PREFIX)/lib/pkgconfig/qnnrt.pc'

.PHONY: clean
clean:   ## remove what was built, but not the fetched libraries
	@if [ -d $(B) ]; then find $(B) -mindepth 1 -maxdepth 1 ! -name qnn -exec rm -rf {} +; fi

.PHONY: distclean
distclean:   ## remove build/ with the fetched libraries
	rm -rf $(B)

.PHONY: help
help:   ## this list
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
