# Rules about the project: the interface, names, sizes, warnings, symbols; coverage and mutants.

.PHONY: abi-check
## abi-check: compare our declarations of the vendor's interface with an SDK's headers (QNN_INCLUDE=folder)
abi-check:
	@if [ -z "$(QNN_INCLUDE)" ]; then echo "abi-check: QNN_INCLUDE=FOLDER is missing: the folder that holds QnnInterface.h"; exit 2; fi
	@CXX='$(CXX)' $(PYTHON) tests/project/abi_check.py '$(QNN_INCLUDE)'

.PHONY: api
## api: list what became of the public functions of 0.1
api:
	@$(PYTHON) tests/project/test_api.py

.PHONY: core
## core: how large qnnrt.h is, room by room: before it became small, now, and where the rest went
core:
	@CC='$(CC)' $(PYTHON) tests/project/test_core.py --times

.PHONY: lines
## lines: lines of code that are shipped, before the core became small and now
lines:
	@$(PYTHON) tests/project/lines.py

.PHONY: times
## times: seconds of CPU of qnnrt-run, make check and make check T=wire, cold and after a change
times:
	@sh tests/project/times.sh

.PHONY: layers
## layers: draw which header, folder, unit and room uses which, floor by floor; an arrow upwards or a circle is an error (L=word)
layers:
	@$(PYTHON) tests/project/test_layers.py $(L)

.PHONY: vendor
## vendor: write the vendor's codes and names into qnnrt.h, codes and log lines into qnnrt_explain.h, from tools/vendor/vendor.txt
vendor:
	@$(PYTHON) tools/vendor/make_vendor.py

.PHONY: coverage mutants gates
## coverage: print lines and branches of each header that the unit tests run (needs clang and llvm-cov; FLOORS=--write)
coverage:
	@MAKE='$(MAKE)' CC='$(CC)' sh tests/project/coverage.sh $(FLOORS)

## mutants: change the code at N places (200), and see whether the unit tests notice (SEED, ROOMS=table,run, BASE=commit)
N    ?= 200
SEED ?= 1
MUTANTS_NEED := $(addprefix $(B)/,check/libQnnRef.so locale/.made fake/libOpPackage.so $(addprefix check/fake/,libQnnFake.so \
    libcdsprpc.so old/libcdsprpc.so libFakeOrt.so openvino/libopenvino_c.so.9990))
mutants: $(MUTANTS_NEED)
	@$(PYTHON) tests/project/mutants.py -n $(N) -s $(SEED) -r '$(ROOMS)' -b '$(BASE)'

## gates: coverage of each room above its floor, and 100 mutants of what changed; writes tests/gates/REPORT (BASE=commit, N)
gates: N = 100
gates: $(MUTANTS_NEED)
	@MAKE='$(MAKE)' CC='$(CC)' BASE='$(BASE)' N='$(N)' SEED='$(SEED)' sh tests/gates/gates.sh

.PHONY: silent symbols symbols-programs
## silent: compile each header alone in many ways, and fail on any warning (SILENT=some: fewer)
SILENT ?= all
silent:
	@sh tests/project/silent.sh $(if $(filter all,$(SILENT)),--all)

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
	@CC='$(CC)' sh tests/project/symbols.sh qnnrt.h $(SYMBOL_OBJECTS) $(B)/qnnrt-llm

.PHONY: sample
## sample: print 300 random comments, error texts and hints with their places, to be read aloud (SEED=1)
sample:
	@$(PYTHON) tests/project/sample_words.py $(SEED)
