# Models that are made, run and compiled: run, llm, server, run-compile.

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
	@sh tests/project/check_run.sh $(RUN_DIR) $(BACKEND)
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
	@text=$$(sed -n 's/.*"prompt": "$(PROMPT) ", "text": "\([^"]*\)".*/\1/p' tests/data/llm/expected.json); \
	if [ -n "$$text" ] && grep -qF "$$text" $(LLM_OUT)/text; then \
	    echo "OK: the text is the one that Qualcomm's language-model runtime writes with this model"; \
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

.PHONY: server server-ref server-htp
## server: run a small server on qnnrt_llm.h: its own checks, then requests (BACKEND=htp: on Qualcomm's libQnnHtp.so)
server: server-$(BACKEND)

# The draft model is the first three layers of the model.
SERVER_OUT := $(B)/server-run
SERVER_ASKS := 'ask first write=12 drafts=4 : And the LORD said \nask second temperature=0.8 seed=1 stop=the : In the beginning of \n'
server-ref: $(B)/examples/server/server $(B)/examples/llm/export $(B)/libQnnRef.so
	@rm -rf $(SERVER_OUT) && mkdir -p $(SERVER_OUT)/model $(SERVER_OUT)/three $(SERVER_OUT)/draft
	@cp tests/data/llm/model/model.safetensors $(SERVER_OUT)/three
	@sed 's/"num_hidden_layers": 4/"num_hidden_layers": 3/' tests/data/llm/model/config.json \
	    > $(SERVER_OUT)/three/config.json
	$(B)/examples/llm/export tests/data/llm/model $(SERVER_OUT)/model --type w8a16 --backend_so $(RUN_LIB)
	$(B)/examples/llm/export $(SERVER_OUT)/three $(SERVER_OUT)/draft --type f32 --backend_so $(RUN_LIB)
	$(B)/examples/server/server --check --shift $(SERVER_OUT)/model $(RUN_LIB) $(SERVER_OUT)/draft
	printf $(SERVER_ASKS) | $(B)/examples/server/server $(SERVER_OUT)/model $(RUN_LIB) $(SERVER_OUT)/draft

server-htp: $(B)/examples/server/server $(B)/data/.made
	@$(call fetch,2.51)
	$(B)/examples/server/server --check $(B)/data/llm/w8a16_one $(RUN_LIB)
	printf $(SERVER_ASKS) | $(B)/examples/server/server $(B)/data/llm/w8a16_one $(RUN_LIB)

server-%:
	@echo "server: there is no backend '$*' for this: BACKEND is ref or htp"; exit 2

# Graphs of PyTorch with made-up weights, compiled, compared with what qnnrt computes on the host, and run.
COMPILE_OUT := $(B)/compile-run
.PHONY: run-compile
## run-compile: compile graphs of PyTorch in ATen IR, compare them with the host, run them (BACKEND=htp: on Qualcomm's libQnnHtp.so)
run-compile: $(B)/qnnrt-run $(B)/libQnnRef.so
	@$(if $(filter htp,$(BACKEND)),$(call fetch,2.51))
	@rm -rf $(COMPILE_OUT) && mkdir -p $(COMPILE_OUT)
	$(PYTHON) tests/harness/make_weights.py $(COMPILE_OUT)/cnn.safetensors tests/data/ir/torch_cnn.npz
	$(PYTHON) tests/harness/make_weights.py $(COMPILE_OUT)/llm.safetensors tests/data/ir/tiny_prefill.json tests/data/ir/tiny_decode.json
	$(RUN) $(B)/qnnrt-run compile tests/data/ir/torch_cnn.json --weights $(COMPILE_OUT)/cnn.safetensors \
	    --backend_so $(RUN_LIB) --output_dir $(COMPILE_OUT)/cnn --verify 3 --report $(COMPILE_OUT)/cnn.txt
	$(RUN) $(B)/qnnrt-run compile tests/data/ir/tiny_prefill.json tests/data/ir/tiny_decode.json --graph_name prefill,decode \
	    --weights $(COMPILE_OUT)/llm.safetensors --rope_base 1000000 --rope_plain --backend_so $(RUN_LIB) --output_dir $(COMPILE_OUT)/llm \
	    --binary_file llm --verify 3 --report $(COMPILE_OUT)/llm.txt
	$(RUN) $(B)/qnnrt-run --ctx_dir $(COMPILE_OUT)/cnn --backend_so $(RUN_LIB) --num_inferences 5
	$(RUN) $(B)/qnnrt-run --ctx_dir $(COMPILE_OUT)/llm --backend_so $(RUN_LIB) --num_inferences 5
