# Beside Qualcomm's libraries and plain computations: operators, tables, expected values of tests.

.PHONY: llm-table
## llm-table: compile the sample model in float and with quantized weights; print bytes, errors, texts (10 min; python3)
llm-table: $(B)/qnnrt-run $(B)/qnnrt-llm $(B)/libQnnRef.so $(B)/bench/llm_genie
	@$(call fetch,2.51)
	$(PYTHON) tests/exports/llm_table.py $(B)/llm-table --tools $(B) --htp $(QNN51) --genie $(B)/bench/llm_genie

# Expected values for the tests of language models, computed by numpy: tokens of the trained model and of random ones, and ranges.
DEEP := $(B)/llm/deep
TIED := $(B)/llm/tied
.PHONY: golden-llm
## golden-llm: write tests/golden/llm_tokens.txt and ranges.json anew (needs python3 with numpy)
golden-llm: $(B)/examples/llm/random_model
	@mkdir -p $(DEEP) $(TIED)
	$(B)/examples/llm/random_model $(DEEP) 16 7
	$(B)/examples/llm/random_model $(TIED) 3 5 1 tied
	$(PYTHON) tests/llm/make_ranges.py > $(DEEP)/new && mv $(DEEP)/new tests/data/llm/model/ranges.json
	$(PYTHON) tests/llm/make_ranges.py $(DEEP) > $(DEEP)/new && mv $(DEEP)/new tests/data/llm/deep_ranges.json
	$(PYTHON) tests/llm/reference_llm.py --golden tests/data/llm/model $(DEEP) $(TIED) > $(DEEP)/new
	mv $(DEEP)/new tests/golden/llm_tokens.txt
	$(PYTHON) tests/llm/reference_llm.py --argmax tests/data/llm/model > $(DEEP)/new
	mv $(DEEP)/new tests/golden/llm_argmax.txt
	$(PYTHON) tests/llm/reference_llm.py --hidden tests/data/llm/model > $(DEEP)/new
	mv $(DEEP)/new tests/golden/llm_hidden.txt

# The operators of libQnnRef.so beside the genuine libraries, and beside what oracle_ops.py makes of the same inputs.
OPS_CASES = $(B)/ops_cases$(if $(FULL),_full).txt
OPS_CHECK = $(if $(UPDATE),--update tests/golden/ops.txt,$(if $(FULL),,--golden tests/golden/ops.txt))
OPS_SEEDS = --seeds $(if $(FULL),6,1)
OPS_EXPECTED = $(B)/c99/ops --dump $(OPS_CASES) $(OPS_SEEDS) && $(PYTHON) tests/ref/oracle_ops.py $(OPS_CASES) > $(OPS_CASES).expected
.PHONY: ops
## ops: compare each operator of libQnnRef.so with Qualcomm's libraries and Python (FULL=1: more shapes, UPDATE=1: new table)
ops: $(B)/c99/ops $(B)/libQnnRef.so
	@$(call fetch,2.47 2.51)
	@$(OPS_EXPECTED)
	@$(PIN) $(B)/c99/ops $(B)/libQnnRef.so $(B)/qnn --oracle $(OPS_CASES).expected $(OPS_CHECK) $(OPS_SEEDS)

# With ASan, beside Python alone.
.PHONY: ops-asan
ops-asan: OPS_CASES = $(B)/ops_cases_asan.txt
ops-asan: $(B)/asan/ops $(B)/c99/ops $(B)/asan/libQnnRef.so
	@$(OPS_EXPECTED)
	@UBSAN_OPTIONS=print_stacktrace=1 $(B)/asan/ops $(B)/asan/libQnnRef.so - --oracle $(OPS_CASES).expected

.PHONY: lower-ops
## lower-ops: what the compiler makes of each operator of PyTorch: on Ref, CPU and HTP, a table
lower-ops: $(B)/c99/lower_ops $(B)/libQnnRef.so
	@$(call fetch,2.47 2.51)
	@$(B)/c99/lower_ops $(B)/libQnnRef.so $(B)/qnn/2.47/onnxruntime_qnn/libQnnCpu.so \
	    $(B)/qnn/2.51/onnxruntime_qnn/libQnnHtp.so

.PHONY: ops-broadcast
## ops-broadcast: each operator of two operands in each way of broadcasting, alone and behind Reshapes (RANK=3, ONLY=Multiply)
RANK ?= 3
ops-broadcast: $(B)/c99/ops $(B)/libQnnRef.so
	@$(call fetch,2.47 2.51)
	@$(PIN) $(B)/c99/ops $(B)/libQnnRef.so $(B)/qnn --broadcast $(RANK) --only '$(ONLY)'

.PHONY: ops-sweep
## ops-sweep: look for random nodes that Qualcomm's libraries compute wrong (EACH=60 per family, SEED=1, ONLY=norm)
EACH ?= 60
ops-sweep: $(B)/c99/ops $(B)/libQnnRef.so
	@$(call fetch,2.47 2.51)
	@$(PIN) $(B)/c99/ops $(B)/libQnnRef.so $(B)/qnn --sweep $(EACH) --seed $(SEED) --only '$(ONLY)'
