# Models of PyTorch, exported, compiled and compared.

# PyTorch is 500 MB to fetch and 1.4 GB installed. It runs on the CPU; stubs replace the CUDA packages.
EXPORTS      ?= $(B)/exports
EXPORTS_SIZE ?= small
EXPORT        = LD_LIBRARY_PATH=$(EXPORTS)/stubs $(EXPORTS)/venv/bin/python tests/exports
$(EXPORTS)/venv/.made: tests/exports/requirements.txt tests/exports/cuda_stubs.py
	$(venv)
	CC='$(CC)' $(EXPORTS)/venv/bin/python tests/exports/cuda_stubs.py $(EXPORTS)/venv/lib/python3*/site-packages/torch $(EXPORTS)/stubs
	@touch $@

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
