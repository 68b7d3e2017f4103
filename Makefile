# qnnrt: build, test, install. `make help` lists the targets; two are enough to begin: run and test.
#
# CC, CXX, CPPFLAGS, CFLAGS, LDFLAGS are yours and come last on the command line. Everything is
# made below build/, objects and programs in build/<config>/; only install writes elsewhere.
# What runs tests is in tests/: suite.sh builds and runs a list, list.sh writes it from the table tests/index.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDEXPANSION:
MAKEFLAGS += --no-print-directory

export B        := build
export PYTHON   ?= python3
PREFIX          ?= /usr/local
OPT             ?= -O2
# Where speed does not matter, -Og (about -O1) in place of -O2: a third of the compiler's time.
OPT_LIGHT       ?= $(patsubst -O2,-Og,$(OPT))
WARN            ?= -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wcast-qual
V               ?= 0
Q               := $(if $(filter 0,$(V)),@)
say              = @$(if $(filter 0,$(V)),printf '  %-8s %s\n' '$(1)' '$@',:)

# Releases of Qualcomm's libraries: what qnn-libs fetches, what test and test-all use.
QNN_RELEASES         ?= 2.47 2.51
export TEST_RELEASES ?= 2.47 2.51
ALL_RELEASES         := 2.47 2.48 2.49 2.50 2.51

# Compilers. ASan: clang where it is complete, else the C compiler; chosen when it is first needed.
export AARCH64_CC      ?= aarch64-linux-gnu-gcc
export AARCH64_SYSROOT ?= /usr/aarch64-linux-gnu
export QEMU            ?= qemu-aarch64-static
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
PROBE     = mkdir -p $(B); echo 'int main(void) { return 0; }' > $(B)/probe.c; \
            if clang $(SANITIZE) -o $(B)/probe $(B)/probe.c 2>/dev/null; then echo clang; else echo '$(CC)'; fi
ASAN_CC   = $(eval ASAN_CC := $$(shell $$(PROBE)))$(ASAN_CC)

# tests/suite.sh runs make: beside another goal, both would write the same files.
ifneq ($(filter test test-all check oom,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

# ---- the files ------------------------------------------------------------------------------------

# The table of headers, tools/headers: rows with | between the columns.
HEADERS := tools/headers
ROWS    := $(shell sed '/^#/d; /^$$/d; s/  */|/g' $(HEADERS))
column   = $(word $(1),$(subst |, ,$(2)))
comma   := ,
list     = $(subst $(comma), ,$(filter-out -,$(1)))
# Rows of which the list in a column has a word, and the object of a row.
having   = $(foreach row,$(ROWS),$(if $(filter $(2),$(call list,$(call column,$(1),$(row)))),$(row)))
object   = $(call column,3,$(1)).o
# The option that says that the implementation of a row was compiled.
once     = $(if $(filter -,$(call column,3,$(1))),,-D$(call column,2,$(1))__IMPL_ONCE)
# Friends are compiled with qnnrt.h, after it.
FRIENDS := $(foreach row,$(call having,7,friend),-D$(call column,4,$(row)) -include $(call column,1,$(row)))

TOOLS    := $(B)/qnnrt-run $(B)/qnnrt-llm
EXAMPLES := $(patsubst %.c,$(B)/%,$(wildcard examples/*.c examples/llm/*.c examples/host/*.c))
TESTS    := $(patsubst tests/test_%.c,%,$(wildcard tests/test_*.c))
REAL     := $(patsubst tests/real/%.c,%,$(wildcard tests/real/*.c))
FUZZERS  := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
REF      := $(patsubst tools/refbackend/%.c,%,$(wildcard tools/refbackend/*.c))
# Operators know nothing of the rest: tests/test_ref_op*.c are linked with these alone.
REF_OPS  := $(filter ref_op ops_%,$(REF))
BENCHES  := $(filter-out bench_json bench_ops bench_compile bench_session bench_llm%,$(basename $(notdir $(wildcard tests/bench/bench_*.c))))

LIBS      := -ldl -pthread
TEST_LIBS := -ldl -lm -pthread
# Refuse a test that is defined but never run.
TEST_WARN := $(WARN) -Werror=unused-function
# Tests may use POSIX names; `make silent` checks that qnnrt.h needs none.
TEST_CPPFLAGS := -I. -Itests -Itools -D_POSIX_C_SOURCE=200809L

# A change of flags rebuilds everything.
FLAGS := $(CC) | $(CXX) | $(CPPFLAGS) | $(CFLAGS) | $(LDFLAGS) | $(OPT) | $(WARN) | $(AARCH64_CC)

.PHONY: FORCE
$(B)/.flags: FORCE
	@mkdir -p $(B)
	@printf '%s\n' '$(subst ','\'',$(FLAGS))' > $@.$$$$; \
	if cmp -s $@.$$$$ $@; then rm -f $@.$$$$; else mv $@.$$$$ $@; fi

# The compiler writes what a file includes beside the object or program.
DEPEND = -MMD -MP -MF $@.d -MT $@
-include $(filter-out $(TOOLS:=.d),$(wildcard $(B)/*.d $(B)/*/*.d $(B)/examples/*/*.d $(foreach d,$(B) $(B)/*,$d/units/*/*.d $d/units/*/*/*.d)))

# ---- tools and examples ---------------------------------------------------------------------------

EXAMPLE_REFS := $(addsuffix libQnnRef.so,$(B)/examples/ $(B)/examples/llm/ $(B)/examples/host/)

.PHONY: all
## all: build the tools, the examples and libQnnRef.so (default)
all: $(TOOLS) $(EXAMPLES) $(EXAMPLE_REFS)

# The implementations are compiled once, into build/lib; a program that includes them finds them done. By hand, one
# line compiles all: see the head of each program.
LIB    := $(B)/lib/libqnnrt.a
# What these call is in fewer objects; `make run` builds no more.
$(addprefix $(B)/,qnnrt-run examples/05_make_model examples/06_generate): LIB := $(B)/lib/libtool.a
LINKED := $(foreach row,$(ROWS),$(call once,$(row)))
OPT_LEVEL = $(OPT)
BUILD_C99 = $(CC) -std=c99 $(OPT_LEVEL) $(WARN) -I. -Itools $(LINKED) $(DEPEND) $(CPPFLAGS) $(CFLAGS) -o $@ $<

# The programs are made of units, an object each: tools/run/io/zip.c becomes build/units/run/io/zip.o.
units      = $(patsubst tools/%.c,%.o,$(wildcard $(addprefix tools/,$(1))))
RUN_UNITS := $(call units,run/*.c run/*/*.c cli/*.c)
LLM_UNITS := $(call units,llm/*.c cli/*.c)
$(B)/units/%.o: OPT_LEVEL = $(OPT_LIGHT)
$(B)/units/%.o: tools/%.c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(BUILD_C99) -c

$(B)/qnnrt-run: $(addprefix $(B)/units/,$(RUN_UNITS))
$(B)/qnnrt-llm: $(addprefix $(B)/units/,$(LLM_UNITS))
$(TOOLS): $$(LIB) $(B)/.flags
	$(call say,LD)
	$(Q)$(CC) $(OPT_LIGHT) $(CFLAGS) -o $@ $(filter %.o,$^) $(LIB) $(LDFLAGS) $(LIBS) -lm

$(B)/examples/llm/export: $(addprefix $(B)/units/,$(call units,cli/*.c))
$(EXAMPLES): $(B)/%: %.c $$(LIB) $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(BUILD_C99) $(filter %.o,$^) $(LIB) $(LDFLAGS) $(LIBS) -lm

# Examples find the backend beside them.
$(EXAMPLE_REFS): UP := ../..
$(B)/examples/libQnnRef.so: UP := ..
$(EXAMPLE_REFS): $(B)/libQnnRef.so
	@mkdir -p $(@D)
	@ln -sf $(UP)/libQnnRef.so $@

# ---- Qualcomm's libraries -------------------------------------------------------------------------

fetch = if command -v $(PYTHON) >/dev/null 2>&1; then $(PYTHON) tests/qnn-libs.py --dir $(B)/qnn $(1); \
        else echo "qnn-libs: python3 is missing; it and its pip are needed to fetch Qualcomm's libraries"; false; fi

.PHONY: qnn-libs
## qnn-libs: fetch Qualcomm's libraries into build/qnn (QNN_RELEASES=all, aarch64 or a list)
qnn-libs:
	@$(call fetch,$(QNN_RELEASES))

ENGINES ?= onnxruntime-1.31.1 openvino-2026.4.1
.PHONY: session-table
## session-table: run an MLP, a CNN and MiniLM through each engine; print differences and times (5 min; python3, session-models)
session-table: session-models $(B)/c99/session_table $(B)/qnnrt-run $(B)/libQnnRef.so
	@$(call fetch,2.47 2.51)
	@$(PYTHON) tests/engine-libs.py --dir $(B)/engines
	$(PYTHON) tests/session_table.py --exports $(EXPORTS)/session --build $(B) $(if $(REPORT),--report '$(REPORT)') $(MODELS)

.PHONY: engine-libs
## engine-libs: fetch the inference engines that tests use into build/engines (ENGINES=all or a list)
engine-libs:
	@$(PYTHON) tests/engine-libs.py --dir $(B)/engines $(ENGINES)

# BACKEND is ref or htp. The examples need no path for ref: it lies beside them.
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

.PHONY: run run-ref run-htp run-cpu run-aarch64
## run: build a language model in C, run it on libQnnRef.so (BACKEND=htp: on Qualcomm's libQnnHtp.so)
run: run-$(BACKEND)

# The prompt. Every use adds a space after it.
PROMPT := And the LORD said unto

define run_model
	@rm -rf $(RUN_OUT) && mkdir -p $(RUN_OUT)/model
	$(RUN) $(B)/examples/05_make_model tests/data/llm/model $(RUN_OUT)/model $(filter-out $(LIBS_ref),$(RUN_LIB))
	$(RUN) $(B)/qnnrt-run inspect $(RUN_OUT)/model --system_so $(RUN_SYS) \
	    --json_file $(RUN_OUT)/model/ > $(RUN_OUT)/inspect
	$(RUN) $(B)/qnnrt-run --ctx_dir $(RUN_OUT)/model --backend_so $(RUN_LIB) --num_inferences 5
	$(RUN) $(B)/examples/06_generate $(RUN_OUT)/model '$(PROMPT) ' 64 $(RUN_LIB) \
	    $(RUN_OUT)/logits.raw > $(RUN_OUT)/text
	@sh tests/check_run.sh $(RUN_DIR) $(BACKEND)
endef

RUN_PROGRAMS := $(B)/qnnrt-run $(B)/examples/05_make_model $(B)/examples/06_generate
run-ref: $(RUN_PROGRAMS) $(B)/libQnnRef.so $(B)/examples/libQnnRef.so
	$(run_model)

# After the model made here, run one in three shards that Qualcomm's own tools made.
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
	@echo "run: Qualcomm's CPU library has no 16-bit activations, which this model needs: BACKEND is ref or htp"; exit 2

run-%:
	@echo "run: there is no backend '$*': BACKEND is ref or htp"; exit 2

# Do the same for aarch64, in a folder of its own, and compare the results.
## run-aarch64: the same as run, built for aarch64 and run under qemu (needs gcc-aarch64-linux-gnu, qemu-user-static)
run-aarch64:
	@for program in $(AARCH64_CC) $(QEMU); do \
	    command -v $$program >/dev/null 2>&1 || { echo "run-aarch64: $$program is not installed"; exit 2; }; done
	@$(MAKE) run-ref B=$(B)/run-aarch64 BACKEND=aarch64 RUN_DIR=$(RUN_DIR) CC=$(AARCH64_CC) \
	    RUN='$(QEMU) -L $(AARCH64_SYSROOT)'

# A language model with the names of public exports, and its text.
.PHONY: llm llm-ref llm-htp
## llm: export a language model in four shards, and let it write (BACKEND=htp: on Qualcomm's libQnnHtp.so)
llm: llm-$(BACKEND)

LLM_OUT     = $(B)/llm-run/$(BACKEND)
define llm_model
	@rm -rf $(LLM_OUT) && mkdir -p $(LLM_OUT)/model
	$(RUN) $(B)/examples/llm/export tests/data/llm/model $(LLM_OUT)/model --type w8a16 --shards 4 --backend_so $(RUN_LIB)
	$(RUN) $(B)/qnnrt-llm --ctx_dir $(LLM_OUT)/model --backend_so $(RUN_LIB) --prompt '$(PROMPT) ' \
	    --max_gen 64 > $(LLM_OUT)/text
	@cat $(LLM_OUT)/text
	@sh tests/check_llm.sh $(LLM_OUT)/text '$(PROMPT) '
endef

LLM_PROGRAMS := $(B)/examples/llm/export $(B)/qnnrt-llm
llm-ref: $(LLM_PROGRAMS) $(B)/libQnnRef.so
	$(llm_model)

llm-htp: $(LLM_PROGRAMS)
	@$(call fetch,2.51)
	$(llm_model)

.PHONY: llm-table
## llm-table: compile the sample model in float and with small weights; print bytes, errors, texts (10 min; python3)
llm-table: $(B)/qnnrt-run $(B)/qnnrt-llm $(B)/libQnnRef.so $(B)/bench/llm_genie
	@$(call fetch,2.51)
	$(PYTHON) tests/exports/llm_table.py $(B)/llm-table --tools $(B) --htp $(QNN51) --genie $(B)/bench/llm_genie

llm-%:
	@echo "llm: there is no backend '$*' for this: BACKEND is ref or htp"; exit 2

.PHONY: host host-ref host-htp
## host: run a small server on qnnrt_llm.h: its own checks, then requests (BACKEND=htp: on Qualcomm's libQnnHtp.so)
host: host-$(BACKEND)

# The draft model is the first three layers of the model.
HOST_OUT := $(B)/host-run
HOST_ASKS := 'ask first write=12 drafts=4 : And the LORD said \nask second temperature=0.8 seed=1 stop=the : In the beginning of \n'
host-ref: $(B)/examples/host/host $(B)/examples/llm/export $(B)/libQnnRef.so
	@rm -rf $(HOST_OUT) && mkdir -p $(HOST_OUT)/model $(HOST_OUT)/three $(HOST_OUT)/draft
	@cp tests/data/llm/model/model.safetensors $(HOST_OUT)/three
	@sed 's/"num_hidden_layers": 4/"num_hidden_layers": 3/' tests/data/llm/model/config.json \
	    > $(HOST_OUT)/three/config.json
	$(B)/examples/llm/export tests/data/llm/model $(HOST_OUT)/model --type w8a16 --backend_so $(RUN_LIB)
	$(B)/examples/llm/export $(HOST_OUT)/three $(HOST_OUT)/draft --type f32 --backend_so $(RUN_LIB)
	$(B)/examples/host/host --check --shift $(HOST_OUT)/model $(RUN_LIB) $(HOST_OUT)/draft
	printf $(HOST_ASKS) | $(B)/examples/host/host $(HOST_OUT)/model $(RUN_LIB) $(HOST_OUT)/draft

host-htp: $(B)/examples/host/host
	@$(call fetch,2.51)
	$(B)/examples/host/host --check tests/data/llm/w8a16_one $(RUN_LIB)
	printf $(HOST_ASKS) | $(B)/examples/host/host tests/data/llm/w8a16_one $(RUN_LIB)

host-%:
	@echo "host: there is no backend '$*' for this: BACKEND is ref or htp"; exit 2

# Graphs of PyTorch with made-up weights, compiled, compared with what qnnrt computes on the host, and run.
COMPILE_OUT := $(B)/compile-run
.PHONY: run-compile
## run-compile: compile graphs of PyTorch in ATen IR, compare them with the host, run them (BACKEND=htp: on Qualcomm's libQnnHtp.so)
run-compile: $(B)/qnnrt-run $(B)/libQnnRef.so
	@$(if $(filter htp,$(BACKEND)),$(call fetch,2.51))
	@rm -rf $(COMPILE_OUT) && mkdir -p $(COMPILE_OUT)
	$(PYTHON) tests/make_weights.py $(COMPILE_OUT)/cnn.safetensors tests/data/ir/torch_cnn.npz
	$(PYTHON) tests/make_weights.py $(COMPILE_OUT)/llm.safetensors tests/data/ir/tiny_prefill.json tests/data/ir/tiny_decode.json
	$(RUN) $(B)/qnnrt-run compile tests/data/ir/torch_cnn.json --weights $(COMPILE_OUT)/cnn.safetensors \
	    --backend_so $(RUN_LIB) --output_dir $(COMPILE_OUT)/cnn --verify 3 --report $(COMPILE_OUT)/cnn.txt
	$(RUN) $(B)/qnnrt-run compile tests/data/ir/tiny_prefill.json tests/data/ir/tiny_decode.json --graph_name prefill,decode \
	    --weights $(COMPILE_OUT)/llm.safetensors --rope_base 1000000 --backend_so $(RUN_LIB) --output_dir $(COMPILE_OUT)/llm \
	    --binary_file llm --verify 3 --report $(COMPILE_OUT)/llm.txt
	$(RUN) $(B)/qnnrt-run --ctx_dir $(COMPILE_OUT)/cnn --backend_so $(RUN_LIB) --num_inferences 5
	$(RUN) $(B)/qnnrt-run --ctx_dir $(COMPILE_OUT)/llm --backend_so $(RUN_LIB) --num_inferences 5

# Expected values for the tests of language models, computed by numpy: tokens of the trained model and of random ones, and ranges.
DEEP := $(B)/llm/deep
TIED := $(B)/llm/tied
.PHONY: golden-llm
## golden-llm: write tests/golden/llm_tokens.txt and ranges.json anew (needs python3 with numpy)
golden-llm: $(B)/examples/llm/random_model
	@mkdir -p $(DEEP) $(TIED)
	$(B)/examples/llm/random_model $(DEEP) 16 7
	$(B)/examples/llm/random_model $(TIED) 3 5 1 tied
	$(PYTHON) tests/make_ranges.py > $(DEEP)/new && mv $(DEEP)/new tests/data/llm/model/ranges.json
	$(PYTHON) tests/make_ranges.py $(DEEP) > $(DEEP)/new && mv $(DEEP)/new tests/data/llm/deep_ranges.json
	$(PYTHON) tests/reference_llm.py --golden tests/data/llm/model $(DEEP) $(TIED) > $(DEEP)/new
	mv $(DEEP)/new tests/golden/llm_tokens.txt
	$(PYTHON) tests/reference_llm.py --argmax tests/data/llm/model > $(DEEP)/new
	mv $(DEEP)/new tests/golden/llm_argmax.txt
	$(PYTHON) tests/reference_llm.py --hidden tests/data/llm/model > $(DEEP)/new
	mv $(DEEP)/new tests/golden/llm_hidden.txt

# ---- configurations -------------------------------------------------------------------------------

# How each compiles. The tests of c99 and c++11 use the backends of build/, which the tools use, too.
CC_check    = $(CC) -std=c99 $(OPT_TEST) -g1 $(CPPFLAGS) $(CFLAGS)
CC_c99      = $(CC) -std=c99 $(OPT_C99) -g $(CPPFLAGS) $(CFLAGS)
CC_lib      = $(CC) -std=c99 $(OPT_LIB) $(CPPFLAGS) $(CFLAGS) $(LIB_FLAGS)
CC_c++11    = $(CXX) -x c++ -std=c++11 $(OPT_CXX) -g $(CPPFLAGS) $(CXXFLAGS)
CC_asan     = $(ASAN_CC) -std=c99 $(OPT_ASAN) -g $(SANITIZE) $(CPPFLAGS) $(CFLAGS)
CC_m32      = $(CC) -std=c99 -m32 -msse2 -mfpmath=sse -O1 -g $(M32_HEADERS) $(CPPFLAGS) $(CFLAGS)
CC_aarch64  = $(AARCH64_CC) -std=c99 -O2 -g
CC_fuzz     = clang -std=c99 -O1 -g $(SANITIZE) -fsanitize=fuzzer-no-link
CC_tsan     = $(CC) -std=c99 -O1 -g -fsanitize=thread $(CPPFLAGS) $(CFLAGS)
# One heap object per allocation, as with ASan: each can then fail.
CC_cover    = clang -std=c99 -O0 -g -DQNNRT__ASAN -fprofile-instr-generate -fcoverage-mapping $(CPPFLAGS) $(CFLAGS)
CONFIGS    := lib check c99 c++11 asan m32 aarch64 fuzz tsan cover
# Debian's gcc-12-multilib has no 32-bit asm/; use the one for 64 bits.
M32_HEADERS = $(eval M32_HEADERS := -idirafter /usr/include/$$(shell $$(CC) -print-multiarch))$(M32_HEADERS)

# What prepares and is not called again and again: a second of a compiler's time is worth more there.
LIGHT      := $(foreach row,$(call having,7,light),$(call object,$(row)))
OPT_LIB     = $(if $(filter $(LIGHT),$(@F)),$(OPT_LIGHT),$(OPT))

# Users' level, -O2, is that of build/lib, with which the tests of c99 are linked. A test that includes an
# implementation is compiled in 1 s with -O0 and in 7 s with -O2 (clang and ASan: 2 s, and 14 s with -O1): only what
# computes for longer than that has more.
SLOW       := impl.o llm.o $(addprefix test_,plan quant convert json llm_sample llm_cells)
OPT_TEST    = $(if $(filter $(SLOW),$(@F)),-O1,-O0)
OPT_CXX     = $(if $(filter impl.o llm.o,$(@F)),-O0,$(OPT_TEST))
OPT_ASAN    = $(if $(filter test_plan test_quant test_json test_llm_sample test_llm_cells,$(@F)),-O1,-O0)
OPT_C99     = $(if $(filter ops llm_exact llm_plain,$(@F)),-O2,$(if $(filter test_json test_llm_sample test_llm_cells,$(@F)),-O1,-O0))

# The configuration of a target, which is build/<config>/<file> or build/<config>/<folder>/<file>.
config      = $(firstword $(subst /, ,$(patsubst $(B)/%,%,$@)))

# libQnnRef.so, the reference backend: build/libQnnRef.so, and one for each configuration that needs its own.
REF_DIRS   := $(B) $(addprefix $(B)/,check asan m32 aarch64 fuzz tsan)
REF_FLAGS  := -ffp-contract=off -D_POSIX_C_SOURCE=200809L -fPIC -fvisibility=hidden
REF_OPT     = $(if $(filter check asan,$(config)),-O1)
# What computes for long; the rest is called once for a graph or a call.
REF_HOT    := $(REF_OPS) shape tensor execute
REF_BUILD   = $(or $(CC_$(config)),$(CC) -std=c99 $(if $(filter $(REF_HOT:%=%.o),$(@F)),$(OPT),$(OPT_LIGHT)) $(CPPFLAGS) $(CFLAGS)) $(REF_OPT)
$(foreach d,$(REF_DIRS),$(REF:%=$d/ref/%.o)): tools/refbackend/$$(basename $$(@F)).c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(REF_BUILD) $(WARN) $(DEPEND) $(REF_FLAGS) -c -o $@ $<
-include $(wildcard $(B)/*/ref/*.d)

$(REF_DIRS:%=%/libQnnRef.so): $(REF:%=$$(@D)/ref/%.o)
	$(call say,LD)
	$(Q)$(REF_BUILD) -shared -o $@ $^ $(LDFLAGS) -lm -pthread

.PHONY: ref
## ref: build the reference backend, build/libQnnRef.so (tools/refbackend/README.md)
ref: $(B)/libQnnRef.so

# libQnnFake.so, which tests steer.
FAKE_DIRS  := $(B)/fake $(addprefix $(B)/,check/fake m32/fake aarch64/fake fuzz/fake)
CC_fake     = $(CC_c99)
$(FAKE_DIRS:%=%/libQnnFake.so): tests/fake/fake_qnn.c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC_$(config)) $(WARN) $(TEST_CPPFLAGS) $(DEPEND) -fPIC -shared -o $@ $< $(LDFLAGS) -ldl -pthread
-include $(wildcard $(B)/*/fake/*.d)

# libcdsprpc.so as it is in phones, and as it was without rpcmem_alloc2.
$(FAKE_DIRS:%=%/libcdsprpc.so) $(FAKE_DIRS:%=%/old/libcdsprpc.so): tests/fake/fake_cdsprpc.c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC_$(config)) $(WARN) $(if $(findstring /old/,$@),-DOLD) -fPIC -shared -o $@ $< $(LDFLAGS)

# libFakeOrt.so has the table of ONNX Runtime.
$(FAKE_DIRS:%=%/libFakeOrt.so): tests/fake/fake_ort.c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC_$(config)) $(WARN) $(DEPEND) -fvisibility=hidden -fPIC -shared -o $@ $< $(LDFLAGS)

# OpenVINO's C library as tests need it.
$(FAKE_DIRS:%=%/openvino/libopenvino_c.so.9990): tests/fake/fake_openvino.c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC_$(config)) $(WARN) $(TEST_CPPFLAGS) -fPIC -shared -o $@ $< $(LDFLAGS)

$(B)/fake/libOpPackage.so: tests/fake/op_package.c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC_c99) $(WARN) -fPIC -shared -o $@ $< $(LDFLAGS)

# The implementation of the headers, once for each configuration. A test takes from libqnnrt.a what it
# does not define itself; tests/test_own.py knows which tests define something. The configuration "lib" is for
# what users get: tools, examples and libqnnrt.so are linked with it, and the tests of c99, too.
# make test lets a warning in build/lib fail (LIB_WARN=-Werror).
LIB_WARN    =
IMPL        = $(CC_$(config)) $(WARN) $(if $(filter lib,$(config)),$(LIB_WARN)) $(TEST_CPPFLAGS) $(DEPEND) $(if $(filter c++11,$(config)),,-x c) -c -o $@ $<
IN_EACH     = $(addprefix $(B)/,$(addsuffix /$(1),$(CONFIGS)))

# For tests, each plan of qnnrt_compile.h is checked.
PLAN_CHECK  = $(if $(filter lib,$(config)),,-DQNNRT_COMPILE_PLAN_CHECK=partition_check -include partition_check.h)

# header OBJECT HEADER MACROS FLAGS: how build/<config>/OBJECT is made
define header
IMPL_OBJECTS += $(1)
$$(call IN_EACH,$(1)): $(2) tools/headers $$(B)/.flags
	$$(call say,CC)
	@mkdir -p $$(@D)
	$$(Q)$$(IMPL) $(addprefix -D,$(3)) $(4)
endef
$(foreach row,$(ROWS),$(if $(filter -% +%,$(call column,3,$(row))),,$(eval $(call header,$(call object,$(row)),$(call column,1,$(row)),\
    $(call list,$(call column,4,$(row))),$(if $(filter impl,$(call column,3,$(row))),$(FRIENDS))$(if $(filter compile,$(call column,3,$(row))),$$(PLAN_CHECK))))))

$(call IN_EACH,nojson.o): qnnrt.h $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(IMPL) -DQNNRT_NO_JSON -DQNNRT_IMPLEMENTATION

TOOL_OBJECTS := $(foreach row,$(call having,7,tool),$(call object,$(row)))
$(call IN_EACH,libqnnrt.a): $$(addprefix $$(@D)/,$(IMPL_OBJECTS))
$(B)/lib/libtool.a: $(addprefix $(B)/lib/,$(TOOL_OBJECTS))
$(call IN_EACH,libqnnrt.a) $(B)/lib/libtool.a:
	@rm -f $@ && ar rc $@ $^

# Programs of the tests: a source and what is linked with it.
FAKE_OF     = $(or $(filter $(B)/$(config)/fake,$(FAKE_DIRS)),$(B)/fake)/libQnnFake.so
ARCHIVE     = $(B)/$(patsubst c99,lib,$(config))/libqnnrt.a
REF_OF      = $(or $(filter $(B)/$(config),$(REF_DIRS)),$(B))
LIB_DEFS    = -DTEST_FAKE_LIB='"$(FAKE_OF)"' -DTEST_REF_LIB='"$(REF_OF)/libQnnRef.so"' \
              -DTEST_OP_PACKAGE='"$(B)/fake/libOpPackage.so"' -DTEST_FAKE_ORT='"$(dir $(FAKE_OF))libFakeOrt.so"' -DTEST_ENGINES='"$(B)/engines"' -DTEST_QNN='"$(B)/qnn"' -DTEST_FAKE_FOLDER='"$(dir $(FAKE_OF))"'
LINK        = $(if $(filter c++11,$(config)),-x none) $(filter %.o %.a,$^) $(LDFLAGS) $(TEST_LIBS)
TEST_BUILD  = $(CC_$(config)) $(TEST_WARN) $(TEST_CPPFLAGS) $(LIB_DEFS) $(DEPEND) -o $@ $< $(LINK)

OP_TESTS   := $(filter ref_op%,$(TESTS))
$(foreach t,$(filter-out nojson $(OP_TESTS),$(TESTS)),$(call IN_EACH,test_$t)): \
        tests/$$(@F).c $$(ARCHIVE) $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(TEST_BUILD)

$(call IN_EACH,test_nojson): tests/test_nojson.c $$(@D)/nojson.o $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(TEST_BUILD)

$(foreach t,$(OP_TESTS),$(call IN_EACH,test_$t)): tests/$$(@F).c $(REF_OPS:%=$$(REF_OF)/ref/%.o) $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(TEST_BUILD)

$(foreach t,$(REAL),$(call IN_EACH,real_$t)): tests/real/$$(subst real_,,$$(@F)).c $$(ARCHIVE) $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(TEST_BUILD)

# Run by scripts.
$(foreach t,ops llm_plain llm_exact tsan lower_ops session_table engine_run engine_openvino,$(call IN_EACH,$t)): tests/$$(@F).c $$(ARCHIVE) $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(TEST_BUILD)

$(B)/json_check: tests/json_check.c $(LIB) $(B)/.flags
	$(call say,CC)
	$(Q)$(CC_c99) $(TEST_WARN) $(TEST_CPPFLAGS) $(DEPEND) -o $@ $< $(LIB) $(LDFLAGS) $(TEST_LIBS)

# tests/fuzz/fuzz_<name>.c, its inputs in tests/fuzz/corpus/<name>/, words for it in <name>.dict. test
# replays the inputs without libFuzzer; `make fuzz` runs it for real, on a work corpus of its own.
FUZZ_LINK   = $(if $(filter fuzz,$(config)),-fsanitize=fuzzer,-DFUZZ_REPLAY)
RUN_FUZZERS := $(foreach t,encodings extract files,$(call IN_EACH,fuzz_$t))
$(filter-out $(RUN_FUZZERS),$(foreach t,$(FUZZERS),$(call IN_EACH,fuzz_$t))): tests/fuzz/$$(@F).c $$(ARCHIVE) $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(TEST_BUILD) $(FUZZ_LINK)

# These call what qnnrt-run reads files with: its units, except the one with main().
define tested_units
$(B)/$(1)/units/%.o: tools/%.c $(B)/.flags
	$$(call say,CC)
	@mkdir -p $$(@D)
	$$(Q)$$(CC_$(1)) $$(WARN) $$(TEST_CPPFLAGS) $$(DEPEND) -c -o $$@ $$<
endef
$(foreach c,$(CONFIGS),$(eval $(call tested_units,$c)))
$(call IN_EACH,librun.a): $(patsubst %,$$(@D)/units/%,$(filter-out run/main.o run/headers.o,$(RUN_UNITS)))
	@rm -f $@ && ar rc $@ $^

$(RUN_FUZZERS): tests/fuzz/$$(@F).c $$(@D)/librun.a $$(ARCHIVE) $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(TEST_BUILD) $(FUZZ_LINK)

# ---- tests ----------------------------------------------------------------------------------------

# tests/oracle_<name>.py prints expected values; tests/test_<name>.c finds them through QNNRT_ORACLE.
HAVE_PYTHON = $(shell command -v $(PYTHON) 2>/dev/null)

# QNNRT_SAMPLES decides which files this one reads.
$(B)/oracle_meta.txt: FORCE $(wildcard tests/data/json/*.json)

$(B)/oracle_%.txt: tests/oracle_%.py
	@mkdir -p $(@D)
	$(Q)$(PYTHON) $< > $@

$(B)/oracle_ops.txt: tests/oracle_ops.py $(B)/c99/ops
	$(Q)$(B)/c99/ops --dump $(B)/ops_cases.txt
	$(Q)$(PYTHON) $< $(B)/ops_cases.txt > $@

# A locale with a decimal comma, made from Debian's package locales.
$(B)/locale/.made:
	@mkdir -p $(@D)
	@localedef -i de_DE -f UTF-8 $(@D)/de_DE.UTF-8 >/dev/null 2>&1 || true
	@touch $@

# tests/suite.sh builds what the tests of a list need, and runs them.
.PHONY: check test test-all oom help-tests
## check: run the unit tests of the headers in one configuration, in a minute or two (T=wire: part of a name)
check:
	@MAKE='$(MAKE)' CC='$(CC)' sh tests/suite.sh check '$(T)'

## test: run all tests, ASan and the genuine libraries included (T=part of a label for some)
test:
	@MAKE='$(MAKE)' CC='$(CC)' sh tests/suite.sh test '$(T)'

## test-all: run all tests with all five releases, and the unit tests for 32 bits and for aarch64 under qemu
test-all:
	@MAKE='$(MAKE)' CC='$(CC)' TEST_RELEASES='$(ALL_RELEASES)' sh tests/suite.sh all '$(T)'

## oom: let every allocation fail in turn, with ASan
oom:
	@MAKE='$(MAKE)' CC='$(CC)' sh tests/suite.sh oom '$(T)'

## help-tests: list which test belongs to which room or file, and what it costs
help-tests:
	@sed -n '/^# test  /,$$p' tests/index

.PHONY: android-check
## android-check: build for Android at API 21, 24, 28, 31 and run that under qemu (BIONIC=folder or ANDROID_NDK=folder)
android-check: $(TOOLS) $(B)/libQnnRef.so $(B)/examples/05_make_model $(B)/examples/llm/export
	@BIONIC='$(BIONIC)' ANDROID_NDK='$(ANDROID_NDK)' ANDROID_QNN='$(ANDROID_QNN)' LEVELS='$(LEVELS)' sh tests/android.sh

.PHONY: app-check
## app-check: the screen of the Android sample app on a desk, with Robolectric (needs a JDK and mvn, which fetches 500 MB)
app-check: $(B)/libQnnRef.so $(B)/examples/03_compose $(B)/examples/llm/export
	@CC='$(CC)' sh tests/jni/screen.sh $(B)

.PHONY: abi-check
## abi-check: compare our declarations of the vendor's interface with an SDK's headers (QNN_INCLUDE=folder)
abi-check:
	@if [ -z "$(QNN_INCLUDE)" ]; then echo "abi-check: QNN_INCLUDE=FOLDER is missing: the folder that holds QnnInterface.h"; exit 2; fi
	@CXX='$(CXX)' $(PYTHON) tests/abi_check.py '$(QNN_INCLUDE)'

.PHONY: tensorrt-check
## tensorrt-check: compile tools/engines/tensorrt.cpp (TENSORRT_INCLUDE=folder CUDA_INCLUDE='folder ...', TENSORRT_FLAGS=-DQNNRT_TENSORRT_NO_PARSER)
tensorrt-check:
	@if [ -z "$(TENSORRT_INCLUDE)" ] || [ -z "$(CUDA_INCLUDE)" ]; then \
	    echo "tensorrt-check: TENSORRT_INCLUDE=FOLDER holds NvInfer.h, CUDA_INCLUDE='FOLDER ...' cuda_runtime_api.h"; exit 2; fi
	@mkdir -p $(B)
	$(Q)$(CXX) -std=c++14 -O2 -Wall -Wextra -Wconversion -Wshadow -Wno-deprecated-declarations -Werror -I. -Itools $(TENSORRT_FLAGS) \
	    $(addprefix -isystem ,$(TENSORRT_INCLUDE) $(CUDA_INCLUDE)) -c -o $(B)/tensorrt.o tools/engines/tensorrt.cpp
	@echo "tensorrt-check: $(B)/tensorrt.o was compiled; nothing was linked or run"

.PHONY: api
## api: list what became of the public functions of 0.1
api:
	@$(PYTHON) tests/test_api.py

.PHONY: core
## core: how large qnnrt.h is, room by room: before it became small, now, and where the rest went
core:
	@CC='$(CC)' $(PYTHON) tests/test_core.py --times

.PHONY: vendor
## vendor: write the vendor's codes and names into qnnrt.h, codes and log lines into qnnrt_explain.h, from tools/vendor/vendor.txt
vendor:
	@$(PYTHON) tools/vendor/make_vendor.py

.PHONY: tsan
## tsan: run the headers and libQnnRef.so in many threads at a time, with ThreadSanitizer (ROUNDS=12)
ROUNDS ?= 12
tsan: $(B)/tsan/tsan $(B)/tsan/libQnnRef.so
	$(B)/tsan/tsan $(ROUNDS)

.PHONY: coverage mutants gates
## coverage: print lines and branches of each header that the unit tests run (needs clang and llvm-cov; FLOORS=--write)
coverage:
	@MAKE='$(MAKE)' CC='$(CC)' sh tests/coverage.sh $(FLOORS)

## mutants: change the code at N places (200), and see whether the unit tests notice (SEED, ROOMS=table,run, BASE=commit)
N    ?= 200
SEED ?= 1
MUTANTS_NEED := $(addprefix $(B)/,check/libQnnRef.so locale/.made fake/libOpPackage.so $(addprefix check/fake/,libQnnFake.so \
    libcdsprpc.so old/libcdsprpc.so libFakeOrt.so openvino/libopenvino_c.so.9990))
mutants: $(MUTANTS_NEED)
	@$(PYTHON) tests/mutants.py -n $(N) -s $(SEED) -r '$(ROOMS)' -b '$(BASE)'

## gates: coverage of each room above its floor, and 100 mutants of what changed; writes tests/gates/REPORT (BASE=commit, N)
gates: N = 100
gates: $(MUTANTS_NEED)
	@MAKE='$(MAKE)' CC='$(CC)' BASE='$(BASE)' N='$(N)' SEED='$(SEED)' sh tests/gates/gates.sh

.PHONY: silent symbols symbols-programs
## silent: compile each header alone in many ways, and fail on any warning
silent:
	@sh tests/silent.sh --all

# The implementation as a user compiles it; the tools link it, too.
SYMBOL_OBJECTS := $(addprefix $(B)/symbols/,qnnrt.o qnnrt_static.o qnnrt_hidden.o)
SYMBOLS_static := -DQNNRT_STATIC -w
SYMBOLS_hidden := -O0 -DQNNRT_API='extern __attribute__((visibility("hidden")))'
$(SYMBOL_OBJECTS): qnnrt.h qnnrt_json.h $(B)/.flags
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c99 -O2 -U_FORTIFY_SOURCE -fno-stack-protector -DQNNRT_IMPLEMENTATION \
	    $(SYMBOLS_$(patsubst qnnrt_%.o,%,$(@F))) -x c -c -o $@ $<

symbols-programs: $(SYMBOL_OBJECTS) $(B)/qnnrt-llm

## symbols: check what the implementation exports, keeps and calls
symbols: symbols-programs
	@CC='$(CC)' sh tests/symbols.sh qnnrt.h $(SYMBOL_OBJECTS) $(B)/qnnrt-llm

# The operators of libQnnRef.so beside the genuine libraries, and beside what oracle_ops.py makes of the same inputs.
OPS_CASES = $(B)/ops_cases$(if $(FULL),_full).txt
OPS_CHECK = $(if $(UPDATE),--update tests/golden/ops.txt,$(if $(FULL),,--golden tests/golden/ops.txt))
OPS_SEEDS = --seeds $(if $(FULL),6,1)
.PHONY: ops
## ops: compare each operator of libQnnRef.so with Qualcomm's libraries and Python (FULL=1: more shapes, UPDATE=1: new table)
ops: $(B)/c99/ops $(B)/libQnnRef.so
	@$(call fetch,2.47 2.51)
	@$(B)/c99/ops --dump $(OPS_CASES) $(OPS_SEEDS)
	@$(PYTHON) tests/oracle_ops.py $(OPS_CASES) > $(OPS_CASES).expected
	@$(PIN) $(B)/c99/ops $(B)/libQnnRef.so $(B)/qnn --oracle $(OPS_CASES).expected $(OPS_CHECK) $(OPS_SEEDS)

.PHONY: lower-ops
## lower-ops: what the compiler makes of each operator of PyTorch: on Ref, CPU and HTP, a table
lower-ops: $(B)/c99/lower_ops $(B)/libQnnRef.so
	@$(call fetch,2.47 2.51)
	@$(B)/c99/lower_ops $(B)/libQnnRef.so $(B)/qnn/2.47/onnxruntime_qnn/libQnnCpu.so \
	    $(B)/qnn/2.51/onnxruntime_qnn/libQnnHtp.so

# PyTorch is 500 MB to fetch and 1.4 GB installed. It runs on the CPU; stubs replace the CUDA packages.
EXPORTS      ?= $(B)/exports
EXPORTS_SIZE ?= small
EXPORT        = LD_LIBRARY_PATH=$(EXPORTS)/stubs $(EXPORTS)/venv/bin/python tests/exports
$(EXPORTS)/venv/.made: tests/exports/requirements.txt tests/exports/cuda_stubs.py
	$(PYTHON) -m venv --clear $(EXPORTS)/venv
	$(EXPORTS)/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps \
	    --only-binary=:all: --require-hashes -r $<
	CC='$(CC)' $(EXPORTS)/venv/bin/python tests/exports/cuda_stubs.py $(EXPORTS)/venv/lib/python3*/site-packages/torch $(EXPORTS)/stubs
	@touch $@

.PHONY: session-models
## session-models: export an MLP, a CNN and MiniLM as graphs and as ONNX into build/exports/session
session-models: $(EXPORTS)/venv/.made
	$(EXPORT)/export_session.py --out $(EXPORTS)/session

.PHONY: exports test-exports
## exports: export 43 public architectures, MiniLM and decoders from PyTorch (EXPORTS_SIZE=full, MODELS="resnet18 ..")
exports: $(EXPORTS)/venv/.made
	$(EXPORT)/export_models.py --size $(EXPORTS_SIZE) --out $(EXPORTS) $(MODELS)
	$(EXPORT)/export_minilm.py --out $(EXPORTS)/minilm
	@[ -f $(EXPORTS)/tinyllama/model.safetensors ] || $(EXPORT)/make_llama_ir.py tiny $(EXPORTS)/tinyllama
	@[ -f $(EXPORTS)/qwen2l_8k/model.safetensors ] || $(EXPORT)/make_llama_ir.py real $(EXPORTS)/qwen2l_8k --vocabulary 8192
	@[ $(EXPORTS_SIZE) != full ] || [ -f $(EXPORTS)/qwen2l/model.safetensors ] || \
	    $(EXPORT)/make_llama_ir.py real $(EXPORTS)/qwen2l $(if $(QWEN),--cut '$(QWEN)')

## test-exports: compile and run these models on each backend, and compare with PyTorch (BACKEND=ref, MODELS=, REPORT=FILE)
test-exports: exports $(B)/qnnrt-run $(B)/libQnnRef.so
	@$(call fetch,2.47 2.51)
	$(EXPORT)/run_models.py --exports $(EXPORTS) --build $(B) --size $(EXPORTS_SIZE) $(if $(filter command line,$(origin BACKEND)),--backend $(BACKEND)) \
	    $(if $(REPORT),--report '$(REPORT)') $(MODELS)

# onnx, onnxruntime and openvino for Python 3.11, by hash; and an old openvino, which needs an old numpy.
ENGINES_VENV = $(B)/engines/venv
$(ENGINES_VENV)/.made: tests/engines/requirements.txt
$(ENGINES_VENV)-2024/.made: tests/engines/requirements-2024.txt
$(ENGINES_VENV)/.made $(ENGINES_VENV)-2024/.made:
	@mkdir -p $(B)/engines
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps \
	    --only-binary=:all: --require-hashes -r $<
	@touch $@

.PHONY: test-engines
## test-engines: run the 140 recorded cases of the package onnx through sessions, as the engines' own Python does
test-engines: $(B)/c99/engine_run $(ENGINES_VENV)/.made $(ENGINES_VENV)-2024/.made
	@$(PYTHON) tests/engine-libs.py --dir $(B)/engines all
	@sh tests/engines/cases.sh $(B) $(ENGINES_VENV)

.PHONY: test-carriers
## test-carriers: extract contexts from files that ONNX Runtime and ExecuTorch's package write, and run them (fetches 19 MB)
test-carriers: $(B)/qnnrt-run $(ENGINES_VENV)/.made
	@$(call fetch,2.51)
	@$(ENGINES_VENV)/bin/python tests/carriers.py $(B)

# Stock llama.cpp is built once, 13 minutes of one core for both versions.
GGML_VERSIONS ?= all
.PHONY: ggml-libs
## ggml-libs: fetch stock llama.cpp and build two versions of it into build/ggml (GGML_VERSIONS=0.25.3; 13 min; python3, cmake)
ggml-libs:
	@$(PYTHON) tests/ggml-libs.py --dir $(B)/ggml $(GGML_VERSIONS)

# The test model as GGUF, written by the package gguf for Python 3.11, by hash.
GGML        := $(B)/ggml
GGML_KINDS  := f32 f16 bf16 q8_0 q4_0 bf16-f32 q8_0-f32 q4_0-f32 big-f32
$(GGML)/venv/.made: tests/ggml/requirements.txt
	@mkdir -p $(GGML)
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps \
	    --only-binary=:all: --require-hashes -r $<
	@touch $@

$(GGML)/models/.made: tests/ggml/make_gguf.py $(GGML)/venv/.made $(wildcard tests/data/llm/model/*)
	$(GGML)/venv/bin/python $< tests/data/llm/model $(@D) $(GGML_KINDS)
	@touch $@

.PHONY: ggml-models
## ggml-models: write tests/data/llm/model as GGUF in each type, build/ggml/models (fetches gguf and numpy)
ggml-models: $(GGML)/models/.made

# What is compiled for each version: the backend, by its CMakeLists.txt, and programs that use stock ggml and libllama.
GGML_TEST     := $(B)/ggml-test
GGML_TESTED   := 0.25.3 0.9.11
GGML_PROGRAMS := sched graphs nmse random model threads
GGML_OF        = $(GGML)/$(word 1,$(subst /, ,$(patsubst $(GGML_TEST)/%,%,$@)))
GGML_CXX       = $(CXX) -std=c++17 -O1 -g $(WARN) -Wno-cast-qual
$(GGML_TESTED:%=$(GGML_TEST)/%/libggml-qnnrt.so): $(wildcard tools/ggml/*) qnnrt.h $(wildcard tools/*.h) | ggml-libs
	$(call say,CMAKE)
	@mkdir -p $(@D)
	$(Q)rm -f $(@D)/cmake/CMakeCache.txt; ggml=$$(cd $(GGML_OF) && pwd) && cmake -S tools/ggml -B $(@D)/cmake -DCMAKE_BUILD_TYPE=Release \
	    -DCMAKE_CXX_COMPILER='$(CXX)' -DGGML_SOURCE="$$ggml/ggml" -DGGML_LIBRARY="$$ggml/bin/libggml-base.so" > $(@D)/cmake.log
	$(Q)cmake --build $(@D)/cmake >> $(@D)/cmake.log || { cat $(@D)/cmake.log; false; }
	$(Q)cp $(@D)/cmake/libggml-qnnrt.so $@

$(foreach v,$(GGML_TESTED),$(GGML_PROGRAMS:%=$(GGML_TEST)/$v/%)) $(GGML_TEST)/0.25.3/text: tests/ggml/$$(@F).cpp tests/ggml/compare.h $(B)/.flags | ggml-libs
	$(call say,CXX)
	@mkdir -p $(@D)
	$(Q)$(GGML_CXX) -isystem $(GGML_OF)/include -isystem $(GGML_OF)/ggml/include -o $@ $< -L$(GGML_OF)/bin -lllama -lggml \
	    -lggml-base '-Wl,-rpath,$$ORIGIN/../../ggml/$(notdir $(GGML_OF))/bin' $(LDFLAGS)

# Libraries that are preloaded into programs.
GGML_PRELOADED := libfail_alloc.so librepeatable.so
$(foreach v,$(GGML_TESTED),$(addprefix $(GGML_TEST)/$v/,$(GGML_PRELOADED))): tests/ggml/$$(patsubst lib%.so,%.cpp,$$(@F)) $(B)/.flags | ggml-libs
	$(call say,CXX)
	@mkdir -p $(@D)
	$(Q)$(GGML_CXX) -isystem $(GGML_OF)/ggml/include -shared -fPIC -o $@ $< $(LDFLAGS) -ldl

.PHONY: test-ggml
## test-ggml: load tools/ggml into stock llama.cpp: models, the crash of a cache, bad input (T=sched; ggml-libs, ggml-models)
test-ggml: ggml-models $(B)/libQnnRef.so $(foreach v,$(GGML_TESTED),$(GGML_PROGRAMS:%=$(GGML_TEST)/$v/%) \
        $(addprefix $(GGML_TEST)/$v/,libggml-qnnrt.so $(GGML_PRELOADED)))
	@$(call fetch,2.47 2.51)
	@$(PYTHON) tests/ggml/test.py --build $(B) $(T)

.PHONY: test-gguf
## test-gguf: compile GGUF models, and compare tokens and texts with stock libllama (T=qwen; ggml-libs, ggml-models)
test-gguf: ggml-models $(B)/qnnrt-run $(B)/qnnrt-llm $(B)/libQnnRef.so $(GGML_TEST)/0.25.3/text
	@$(call fetch,2.51)
	@$(GGML)/venv/bin/python tests/ggml/block_hashes.py tests/test_gguf.c
	@$(GGML)/venv/bin/python tests/ggml/gguf_texts.py --build $(B) $(T)

.PHONY: bench-ggml
## bench-ggml: tokens per second in stock libllama: tools/ggml on libQnnRef.so beside ggml's CPU backend (ggml-libs)
bench-ggml: ggml-models $(B)/libQnnRef.so $(addprefix $(GGML_TEST)/0.25.3/,model libggml-qnnrt.so)
	@$(PIN) $(PYTHON) tests/ggml/test.py --build $(B) bench

.PHONY: ops-sweep
## ops-sweep: look for random nodes that Qualcomm's libraries compute wrong (EACH=60 per family, SEED=1, ONLY=norm)
EACH ?= 60
ops-sweep: $(B)/c99/ops $(B)/libQnnRef.so
	@$(call fetch,2.47 2.51)
	@$(PIN) $(B)/c99/ops $(B)/libQnnRef.so $(B)/qnn --sweep $(EACH) --seed $(SEED) --only '$(ONLY)'

FUZZ       ?= $(FUZZERS)
TIME       ?= 600
FUZZ_LEN   ?= 8192
.PHONY: fuzz
## fuzz: feed hostile input for TIME seconds (default 600) each, or FUZZ=json alone: needs clang with libFuzzer
fuzz: $(FUZZ:%=$(B)/fuzz/fuzz_%) $(B)/fuzz/fake/libQnnFake.so $(B)/fuzz/libQnnRef.so
	@for name in $(FUZZ); do sh tests/fuzz/fuzz.sh $(B)/fuzz $$name $(TIME) $(FUZZ_LEN) || exit 1; done

# ---- benches --------------------------------------------------------------------------------------

# One core: the vendor's emulator spins for its second thread.
PIN := $(shell taskset -c 0 true 2>/dev/null && echo taskset -c 0)

BENCH_BUILD = $(CC) -std=c99 -O2 $(WARN) $(TEST_CPPFLAGS) $(BENCH_PEER) $(DEPEND) $(CPPFLAGS) $(CFLAGS) -o $@ $<
$(B)/bench/%: tests/bench/%.c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(BENCH_BUILD) $(LDFLAGS) $(TEST_LIBS) $(BENCH_LIBS)

# XNNPACK's converters, where Debian's libxnnpack-dev and libpthreadpool-dev are installed.
ifneq ($(and $(wildcard /usr/include/xnnpack.h),$(wildcard /usr/include/pthreadpool.h)),)
$(B)/bench/bench_convert: BENCH_PEER := -DBENCH_XNNPACK
$(B)/bench/bench_convert: BENCH_LIBS := -lXNNPACK
endif

$(B)/bench/libempty_qnn.so $(B)/bench/libllm_proxy.so: $(B)/bench/lib%.so: tests/bench/%.c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(BENCH_BUILD) -fPIC -shared $(LDFLAGS)

.PHONY: bench
## bench: time qnnrt_exec beside the vendor's graphExecute, conversions beside XNNPACK's, graphs on the host; then bench-json
bench: $(BENCHES:%=$(B)/bench/%) $(B)/bench/libempty_qnn.so
	@$(call fetch,2.47 2.51) || true
	@set -e; for program in $(BENCHES:%=$(B)/bench/%); do \
	    $(PIN) $$program $(B)/bench/libempty_qnn.so $(B)/qnn tests/data; done
	@$(MAKE) bench-json

$(B)/bench/bench_session: tests/bench/bench_session.c $(B)/libqnnrt.so $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(BENCH_BUILD) -Itools/engines $(B)/libqnnrt.so -Wl,-rpath,'$$ORIGIN/..' $(LDFLAGS) $(TEST_LIBS)

.PHONY: bench-session
## bench-session: time bound runs of sessions beside the engines' own calls (ORT=libonnxruntime.so; default: the fetched one)
ORT = $(firstword $(wildcard $(B)/engines/onnxruntime-1.31.1/libonnxruntime.so.1.31.1))
bench-session: $(B)/bench/bench_session $(B)/libQnnRef.so
	@mkdir -p $(B)/bench/session
	@$(PIN) $(B)/bench/bench_session $(B)/bench/session $(B)/libQnnRef.so $(ORT)

# Peers: yyjson by tests/bench-peers.py, the other two where their Debian packages are installed. simdjson is
# meant to be built for the machine it runs on; yyjson is fastest with these flags, so ours has them too.
PEERS       := $(B)/peers
YYJSON      := $(if $(wildcard $(PEERS)/yyjson/yyjson.c),1)
SIMDJSON    := $(if $(wildcard /usr/include/simdjson.h),1)
CJSON       := $(if $(wildcard /usr/include/cjson/cJSON.h),1)
PEER_FLAGS   = $(if $(YYJSON),-DBENCH_YYJSON -I$(PEERS)/yyjson) $(if $(SIMDJSON),-DBENCH_SIMDJSON) \
               $(if $(CJSON),-DBENCH_CJSON)
PEER_OBJECTS = $(if $(YYJSON),$(B)/bench/yyjson.o) $(if $(SIMDJSON),$(B)/bench/simdjson.o)
PEER_LIBS    = $(if $(SIMDJSON),-lsimdjson -lstdc++) $(if $(CJSON),-lcjson)

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

$(B)/bench/bench_json: tests/bench/bench_json.c $(PEER_OBJECTS) $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c99 -O3 -falign-functions=64 $(WARN) $(TEST_CPPFLAGS) $(PEER_FLAGS) $(DEPEND) $(CPPFLAGS) $(CFLAGS) \
	    -o $@ $< $(PEER_OBJECTS) $(LDFLAGS) -Wl,-z,now $(TEST_LIBS) $(PEER_LIBS)

bench-json-run: $(B)/bench/bench_json
	@if [ -d "$(QNNRT_SAMPLES)/json" ]; then $(PIN) $(B)/bench/bench_json "$(QNNRT_SAMPLES)/json"; \
	else echo "bench-json: QNNRT_SAMPLES is not set: dumps of our own tool"; \
	    $(PIN) $(B)/bench/bench_json tests/data/llm/json; fi

## bench-json: time JSON metadata beside yyjson, simdjson and cJSON (QNNRT_SAMPLES=folder with json/)
bench-json: bench-json-peers
	@$(MAKE) bench-json-run

.PHONY: bench-ab
## bench-ab: ask qnnrt-run bench A B RUNS=20 times about equal folders, and about one that computes 5 percent longer
RUNS ?= 20
bench-ab: $(B)/qnnrt-run $(B)/examples/llm/export $(B)/libQnnRef.so
	@sh tests/bench/ab.sh $(B) $(RUNS)

.PHONY: bench-ops
## bench-ops: time libQnnRef.so beside libQnnCpu.so and ONNX Runtime: MatMul, Conv2d, a decoder layer
bench-ops: $(B)/bench/bench_ops $(B)/libQnnRef.so
	@$(call fetch,2.47) || true
	@$(PYTHON) tests/bench-peers.py --dir $(PEERS) onnxruntime || echo "bench-ops: without ONNX Runtime"
	@there() { if [ -f "$$1" ]; then echo "$$1"; else echo -; fi; }; \
	$(PIN) $(B)/bench/bench_ops $(B)/libQnnRef.so "$$(there $(B)/qnn/2.47/onnxruntime_qnn/libQnnCpu.so)" \
	    "$$(there $(PEERS)/onnxruntime/libonnxruntime.so)"

# The genuine graph needs weights to be found, not their values: a file of 3.5 GB that takes no room on the disk.
COMPILE_IR    = $(or $(wildcard $(QNNRT_SAMPLES)/ir/qwen2_prefill_ir.json),tests/data/ir/tiny_prefill.json)
.PHONY: bench-compile
## bench-compile: time what qnnrt-run compile does to Qwen2.5-1.5B, beside torch.export (QNNRT_SAMPLES=folder with ir/)
bench-compile: $(B)/bench/bench_compile $(B)/libQnnRef.so
	@$(call fetch,2.47 2.51) || true
	@$(PYTHON) tests/make_weights.py $(B)/bench/compile.safetensors $(COMPILE_IR) --empty
	$(PIN) $(B)/bench/bench_compile $(COMPILE_IR) $(B)/bench/compile.safetensors $(B)/libQnnRef.so \
	    $(wildcard $(B)/qnn/2.47/onnxruntime_qnn/libQnnCpu.so $(QNN51)/libQnnHtp.so)
	@if [ -f $(EXPORTS)/venv/.made ]; then $(PIN) env LD_LIBRARY_PATH=$(EXPORTS)/stubs \
	    $(EXPORTS)/venv/bin/python tests/bench/bench_export.py; \
	else echo "bench-compile: without torch.export: make exports installs it"; fi

# Real widths, two layers: width 1536 with make_llama_ir.py, which needs numpy; else the graphs of the tests.
SMALL_REAL   ?= $(B)/bench/small
.PHONY: bench-small
## bench-small: bytes, SNR, time and memory of weights of 16, 8 and 4 bits on HTP (SMALL_PYTHON=python with numpy)
bench-small: $(B)/bench/bench_small
	@$(call fetch,2.51)
	@mkdir -p $(SMALL_REAL)
	@python='$(or $(SMALL_PYTHON),$(PYTHON))'; if [ -f $(SMALL_REAL)/model.safetensors ]; then :; \
	elif $$python -c 'import numpy' 2>/dev/null; then $$python tests/exports/make_llama_ir.py real $(SMALL_REAL) --vocabulary 8192; \
	else echo "bench-small: without width 1536: $$python has no numpy (SMALL_PYTHON=python with numpy)"; fi
	@$(PYTHON) tests/make_weights.py $(SMALL_REAL)/llama.safetensors tests/data/ir/tiny_prefill.json
	@real=; if [ -f $(SMALL_REAL)/model.safetensors ]; then real='$(SMALL_REAL)/prefill/model.json $(SMALL_REAL)/model.safetensors'; fi; \
	$(PIN) $(B)/bench/bench_small $(QNN51)/libQnnHtp.so tests/data/ir/tiny_prefill.json $(SMALL_REAL)/llama.safetensors $$real

# Genie and a bare loop run the same file as we do, each through a library that records when it computes.
LLM_PEERS := $(B)/bench/llm_genie $(B)/bench/llm_raw $(B)/bench/llm_ours $(B)/bench/libllm_proxy.so

.PHONY: bench-llm
## bench-llm: time a token's work on the host: ours beside Qualcomm's Genie and a bare loop; then large models' shapes
bench-llm: $(LLM_PEERS) $(B)/bench/bench_llm_shapes $(B)/libQnnRef.so
	@$(call fetch,2.51) || true
	@status=0; \
	if [ -f $(QNN51)/libGenie.so ]; then $(PYTHON) tests/bench-llm.py $(B)/bench $(B)/qnn tests/data/llm || status=1; \
	else echo "bench-llm: without Genie: $(QNN51)/libGenie.so is missing"; fi; \
	$(PIN) $(B)/bench/bench_llm_shapes $(B)/libQnnRef.so || status=1; exit $$status

# Our session beside ONNX Runtime's own Python, with the same library.
SESSION_PYTHON := $(B)/bench/python
.PHONY: bench-session-python
## bench-session-python: time runs of a session in Python beside ONNX Runtime's own Python (fetches it)
bench-session-python: wheel $(ENGINES_VENV)/.made
	@$(PYTHON) tests/engine-libs.py --dir $(B)/engines onnxruntime-1.31.1
	@rm -rf $(SESSION_PYTHON) && mkdir -p $(SESSION_PYTHON) && $(PYTHON) -m zipfile -e $(B)/wheel/qnnrt-$(VERSION)-*.whl $(SESSION_PYTHON)
	@cd tests/python && $(PYTHON) -B -c 'import sys, onnx_file; sys.stdout.buffer.write(onnx_file.layer())' > $(abspath $(SESSION_PYTHON))/layer.onnx
	@PYTHONPATH=$(SESSION_PYTHON) $(PIN) $(ENGINES_VENV)/bin/python tests/bench/bench_session.py $(SESSION_PYTHON)/layer.onnx \
	    $(B)/engines/onnxruntime-1.31.1/libonnxruntime.so.1.31.1

# The package with all that it works with: numpy, pytest, ONNX Runtime's Python and matplotlib, for Python 3.11, by hash.
PYTHON_VENV = $(B)/python-venv
$(PYTHON_VENV)/.made: tests/python/requirements.txt
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps \
	    --only-binary=:all: --require-hashes -r $<
	@touch $@

.PHONY: test-python
## test-python: run tests/python with pytest, numpy, ONNX Runtime's Python and matplotlib; then the bench (fetches them)
test-python: wheel $(PYTHON_VENV)/.made $(B)/examples/03_compose $(B)/examples/llm/export
	@$(PYTHON) tests/engine-libs.py --dir $(B)/engines onnxruntime-1.31.1
	@sh tests/python/all.sh $(B) $(PYTHON_VENV)

# ---- the shared library ---------------------------------------------------------------------------

# Calls between its functions stay inside, whatever the program defines; it exports what the headers declare.
# VERSION is read once.
VERSION    = $(eval VERSION := $$(shell sed -n '1s/.* v\([0-9][0-9.]*\) .*/\1/p' qnnrt.h))$(VERSION)
SOVERSION  = $(firstword $(subst ., ,$(VERSION)))
LIB_FLAGS := -fPIC -fvisibility=hidden -fno-semantic-interposition -DQNNRT_API='extern __attribute__((visibility("default")))'
$(B)/libqnnrt.so: $(addprefix $(B)/lib/,$(IMPL_OBJECTS))
	$(call say,LD)
	$(Q)$(CC) $(OPT) $(CFLAGS) -shared -Wl,--no-undefined -Wl,-Bsymbolic-functions \
	    -Wl,-soname,libqnnrt.so.$(SOVERSION) -o $@ $(filter %.o,$^) $(LDFLAGS) -lm -ldl
	@ln -sf libqnnrt.so $@.$(SOVERSION)

.PHONY: lib
## lib: build build/libqnnrt.so, a shared library with the functions of all headers
lib: $(B)/libqnnrt.so

.PHONY: wheel python-abi
## wheel: build the Python package with the library, build/wheel/qnnrt-<version>-py3-none-linux_x86_64.whl
wheel: $(B)/libqnnrt.so $(B)/libQnnRef.so $(TOOLS)
	@$(PYTHON) tools/python/build_wheel.py $(B) $(B)/wheel

## python-abi: write the declarations of the Python package anew, from the headers
python-abi:
	@CC='$(CC)' $(PYTHON) tools/python/make_abi.py

# ---- install --------------------------------------------------------------------------------------

INSTALL ?= install
INSTALL_HEADERS := $(foreach row,$(ROWS),$(call column,1,$(row))) tools/qnnrt.hpp
INSTALL_CMAKE   := qnnrtConfig.cmake qnnrtConfigVersion.cmake
# Examples include the headers as they are installed. llm/export.c is left out: it is written with tools/cli/.
INSTALL_EXAMPLES = $(filter-out examples/llm/export.c,$(sort $(wildcard examples/*.[ch] examples/*/*.[ch] examples/*/*.py)))
# Where the shells look: name of the shell, folder, and name of the file with % for the program.
COMPLETIONS     := bash:share/bash-completion/completions:% zsh:share/zsh/site-functions:_% fish:share/fish/vendor_completions.d:%.fish
COMPLETION_FILES = $(foreach tool,$(notdir $(TOOLS)),$(foreach row,$(COMPLETIONS),$(word 2,$(subst :, ,$(row)))/$(subst %,$(tool),$(word 3,$(subst :, ,$(row))))))
INSTALL_TO       = $(DESTDIR)$(PREFIX)
LIB_NAMES        = libqnnrt.so.$(VERSION) libqnnrt.so.$(SOVERSION) libqnnrt.so

# pc NAME TEXT FLAGS LIBS: a file for pkg-config; qnnrt has the headers alone, libqnnrt the shared library, too
pc = { echo 'prefix=$(PREFIX)'; echo 'includedir=$${prefix}/include'; echo 'libdir=$${prefix}/lib'; echo; echo 'Name: $(1)'; \
       echo 'Description: Run compiled Qualcomm QNN models from C99, $(2)'; echo 'Version: $(VERSION)'; \
       echo 'Cflags: -I"$${includedir}"'; echo 'Libs: $(3)'; } > $(B)/$(1).pc

.PHONY: install
## install: install headers, libqnnrt.so, tools with man pages and completions, libQnnRef.so, examples (PREFIX, DESTDIR)
install: $(TOOLS) $(B)/libqnnrt.so $(B)/libQnnRef.so
	@$(call pc,qnnrt,one header,-ldl)
	@$(call pc,libqnnrt,as a shared library,-L"$${libdir}" -lqnnrt)
	@for file in $(INSTALL_CMAKE); do \
	    sed 's/@VERSION@/$(VERSION)/; s/@SOVERSION@/$(SOVERSION)/' tools/lib/$$file > $(B)/$$file || exit 1; done
	$(INSTALL) -d '$(INSTALL_TO)/include' '$(INSTALL_TO)/bin' '$(INSTALL_TO)/lib/pkgconfig' '$(INSTALL_TO)/lib/cmake/qnnrt' \
	    '$(INSTALL_TO)/share/doc/qnnrt'
	$(INSTALL) -m 644 LICENSE '$(INSTALL_TO)/share/doc/qnnrt'
	$(INSTALL) -m 644 $(INSTALL_HEADERS) '$(INSTALL_TO)/include'
	$(INSTALL) -m 755 $(TOOLS) '$(INSTALL_TO)/bin'
	$(INSTALL) -m 755 $(B)/libqnnrt.so '$(INSTALL_TO)/lib/$(word 1,$(LIB_NAMES))'
	ln -sf $(word 1,$(LIB_NAMES)) '$(INSTALL_TO)/lib/$(word 2,$(LIB_NAMES))'
	ln -sf $(word 2,$(LIB_NAMES)) '$(INSTALL_TO)/lib/$(word 3,$(LIB_NAMES))'
	$(INSTALL) -m 644 $(B)/qnnrt.pc $(B)/libqnnrt.pc '$(INSTALL_TO)/lib/pkgconfig'
	$(INSTALL) -m 644 $(INSTALL_CMAKE:%=$(B)/%) '$(INSTALL_TO)/lib/cmake/qnnrt'
	$(INSTALL) -m 755 $(B)/libQnnRef.so '$(INSTALL_TO)/lib'
	$(INSTALL) -d '$(INSTALL_TO)/share/man/man1' $(foreach row,$(COMPLETIONS),'$(INSTALL_TO)/$(word 2,$(subst :, ,$(row)))')
	@set -e; for tool in $(notdir $(TOOLS)); do \
	    $(B)/$$tool --man > $(B)/$$tool.1; $(INSTALL) -m 644 $(B)/$$tool.1 '$(INSTALL_TO)/share/man/man1'; \
	    for row in $(COMPLETIONS); do \
	        shell=$${row%%:*} rest=$${row#*:}; name=$${rest#*:}; file=$${name%%\%*}$$tool$${name##*\%}; \
	        $(B)/$$tool --completion $$shell > $(B)/$$tool.$$shell; \
	        $(INSTALL) -m 644 $(B)/$$tool.$$shell '$(INSTALL_TO)'/$${rest%%:*}/$$file; done; done
	@for file in $(INSTALL_EXAMPLES); do \
	    $(INSTALL) -d "$(INSTALL_TO)/share/qnnrt/$$(dirname $$file)" && \
	    sed 's|^#include "tools/\(engines/\)*|#include "|' $$file > $(B)/example && \
	    $(INSTALL) -m 644 $(B)/example "$(INSTALL_TO)/share/qnnrt/$$file" || exit 1; done; rm -f $(B)/example

.PHONY: uninstall
## uninstall: remove what install put there
uninstall:
	rm -f $(patsubst %,'$(INSTALL_TO)/include/%',$(notdir $(INSTALL_HEADERS))) \
	    $(patsubst %,'$(INSTALL_TO)/bin/%',$(notdir $(TOOLS))) $(LIB_NAMES:%='$(INSTALL_TO)/lib/%') \
	    '$(INSTALL_TO)/lib/pkgconfig/qnnrt.pc' '$(INSTALL_TO)/lib/pkgconfig/libqnnrt.pc' \
	    $(INSTALL_CMAKE:%='$(INSTALL_TO)/lib/cmake/qnnrt/%') '$(INSTALL_TO)/lib/libQnnRef.so' \
	    '$(INSTALL_TO)/share/doc/qnnrt/LICENSE' $(patsubst %,'$(INSTALL_TO)/share/man/man1/%.1',$(notdir $(TOOLS))) $(COMPLETION_FILES:%='$(INSTALL_TO)/%') \
	    $(INSTALL_EXAMPLES:%='$(INSTALL_TO)/share/qnnrt/%')
	@rmdir '$(INSTALL_TO)/lib/cmake/qnnrt' '$(INSTALL_TO)/share/doc/qnnrt' 2>/dev/null || true
	@find '$(INSTALL_TO)/share/qnnrt' -depth -type d -exec rmdir {} + 2>/dev/null || true

.PHONY: clean
## clean: remove what was built, but not the fetched libraries
clean:
	@if [ -d $(B) ]; then find $(B) -mindepth 1 -maxdepth 1 ! -name qnn -exec rm -rf {} +; fi

.PHONY: distclean
## distclean: remove build/ with the fetched libraries
distclean:
	rm -rf $(B)

.PHONY: help
## help: print this list
help:
	@sed -n 's/^## \([a-z-]*\): \(.*\)/\1|\2/p' Makefile | awk -F '|' '{ printf "  make %-12s %s\n", $$1, $$2 }'
