# The programs of the table tests/index: how they are built, and what they need.

# Rows with | between the columns: file, kind, seconds, needs.
INDEX   := $(shell sed '/^#/d; /^$$/d; s/  */|/; s/  */|/; s/  */|/; s/  .*//; s/ .*//' tests/index)
of_kind  = $(foreach row,$(INDEX),$(if $(filter $(1),$(call column,2,$(row))),$(row)))
# The program of a row: real/json.c and fuzz/fuzz_json.c have names of their own beside json/test_json.c.
program  = $(if $(filter real,$(call column,2,$(1))),real_)$(basename $(notdir $(call column,1,$(1))))
PROGRAMS := $(call of_kind,unit real fuzz program)
FUZZERS  := $(patsubst fuzz_%,%,$(foreach row,$(call of_kind,fuzz),$(call program,$(row))))
define facts
SOURCE_$(1) := tests/$(call column,1,$(2))
KIND_$(1)   := $(call column,2,$(2))
NEEDS_$(1)  := $(call list,$(call column,4,$(2)))
endef
$(foreach row,$(PROGRAMS),$(eval $(call facts,$(call program,$(row)),$(row))))

# What qnnrt-run reads files with: its units, except the one with main().
define tested_units
$(B)/$(1)/units/%.o: tools/%.c $(B)/.flags
	$$(call say,CC)
	@mkdir -p $$(@D)
	$$(Q)$$(CC_$(1)) $$(WARN) $$(TEST_CPPFLAGS) $$(LINKED) $$(DEPEND) -c -o $$@ $$<
endef
$(foreach c,$(CONFIGS),$(eval $(call tested_units,$c)))
$(call IN_EACH,librun.a): $(patsubst %,$$(@D)/units/%,$(filter-out run/main.o run/headers.o,$(RUN_UNITS)))
	@rm -f $@ && ar rc $@ $^

# A program: its source, and what it is linked with.
FAKE_OF     = $(or $(filter $(B)/$(config)/fake,$(FAKE_DIRS)),$(B)/fake)/libQnnFake.so
ARCHIVE     = $(B)/$(patsubst c99,lib,$(config))/libqnnrt.a
REF_OF      = $(or $(filter $(B)/$(config),$(REF_DIRS)),$(B))
LIB_DEFS    = -DTEST_FAKE_LIB='"$(FAKE_OF)"' -DTEST_REF_LIB='"$(REF_OF)/libQnnRef.so"' \
              -DTEST_OP_PACKAGE='"$(B)/fake/libOpPackage.so"' -DTEST_FAKE_ORT='"$(dir $(FAKE_OF))libFakeOrt.so"' \
              -DTEST_ENGINES='"$(B)/engines"' -DTEST_QNN='"$(B)/qnn"' -DTEST_FAKE_FOLDER='"$(dir $(FAKE_OF))"'
LINK        = $(if $(filter c++11,$(config)),-x none) $(filter %.o %.a,$^) $(LDFLAGS) $(TEST_LIBS)
# Where the source does not compile qnnrt.h itself, the compiler reads it once, however many headers include it.
READ_ONCE   = $(if $(shell grep -s QNNRT_IMPLEMENTATION $<),,-DQNNRT__IMPL_ONCE)
TEST_BUILD  = $(CC_$(config)) $(TEST_WARN) $(TEST_CPPFLAGS) $(READ_ONCE) $(LIB_DEFS) $(DEPEND) -o $@ $< $(LINK)
needing     = $(filter $(1),$(NEEDS_$(@F)))
LINKED_WITH = $(if $(call needing,refops),$(REF_OPS:%=$(REF_OF)/ref/%.o),$(if $(call needing,nojson),$(@D)/nojson.o, \
              $(if $(call needing,tools),$(@D)/librun.a) $(ARCHIVE)))
# A fuzz target replays its inputs without libFuzzer; `make fuzz` runs it for real, on a work corpus of its own.
FUZZ_LINK   = $(if $(filter fuzz,$(KIND_$(@F))),$(if $(filter fuzz,$(config)),-fsanitize=fuzzer,-DFUZZ_REPLAY))
$(foreach row,$(PROGRAMS),$(call IN_EACH,$(call program,$(row)))): $$(SOURCE_$$(@F)) $$(LINKED_WITH) $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(TEST_BUILD) $(FUZZ_LINK)

# An oracle prints expected values, in large pieces; its test finds them through QNNRT_ORACLE.
$(foreach row,$(INDEX),$(foreach need,$(filter %.py,$(call list,$(call column,4,$(row)))),$(eval \
    $(B)/oracle/$(notdir $(need:.py=.txt)): tests/$(need))))
# QNNRT_SAMPLES decides which files this one reads.
$(B)/oracle/oracle_meta.txt: FORCE $(wildcard tests/data/json/*.json)
$(B)/oracle/%.txt:
	@mkdir -p $(@D)
	$(Q)PYTHONUNBUFFERED= $(PYTHON) $< > $@.$$$$ && mv $@.$$$$ $@

# A locale with a decimal comma, made from Debian's package locales.
$(B)/locale/.made:
	@mkdir -p $(@D)
	@localedef -i de_DE -f UTF-8 $(@D)/de_DE.UTF-8 >/dev/null 2>&1 || true
	@touch $@

FUZZ       ?= $(FUZZERS)
TIME       ?= 600
FUZZ_LEN   ?= 8192
.PHONY: fuzz
## fuzz: feed hostile input for TIME seconds (default 600) each, or FUZZ=json alone: needs clang with libFuzzer
fuzz: $(FUZZ:%=$(B)/fuzz/fuzz_%) $(B)/fuzz/fake/libQnnFake.so $(B)/fuzz/libQnnRef.so
	@for name in $(FUZZ); do sh tests/fuzz/fuzz.sh $(B)/fuzz $$name $(TIME) $(FUZZ_LEN) || exit 1; done

.PHONY: tsan
## tsan: run the headers and libQnnRef.so in many threads at a time, with ThreadSanitizer (ROUNDS=12)
ROUNDS ?= 12
tsan: $(B)/tsan/tsan $(B)/tsan/libQnnRef.so
	$(B)/tsan/tsan $(ROUNDS)
