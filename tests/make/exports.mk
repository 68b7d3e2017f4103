# Models of PyTorch, exported, compiled and compared.

# PyTorch is 500 MB to fetch and 1.4 GB installed. It runs on the CPU; stubs replace the CUDA packages. torchaudio lies
# apart: transformers would import it, and it refuses a torch of another version of CUDA.
EXPORTS      ?= $(B)/exports
EXPORT        = LD_LIBRARY_PATH=$(abspath $(EXPORTS))/stubs $(EXPORTS)/venv/bin/python tests/exports
EXPORT_LIST   = $(EXPORT)/run_list.py --build $(B) $(if $(filter command line,$(origin BACKEND)),--backend $(BACKEND))
EXPORTS_NEED  = tests/exports/requirements.txt tests/exports/requirements-audio.txt tests/exports/cuda_stubs.py
# Made again when these files have another content, not when they are newer: checkouts share what is installed.
EXPORTS_SUM  := $(shell cat $(EXPORTS_NEED) | cksum)
ifneq ($(EXPORTS_SUM),$(shell cat $(EXPORTS)/venv/.made 2>/dev/null))
.PHONY: $(EXPORTS)/venv/.made
endif
$(EXPORTS)/venv/.made:
	@mkdir -p $(EXPORTS)
	@echo "exports: installing PyTorch"
	@$(call venv_of,tests/exports/requirements.txt)
	@$(EXPORTS)/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --only-binary=:all: --require-hashes \
	    --upgrade --target $(EXPORTS)/audio -r tests/exports/requirements-audio.txt
	@CC='$(CC)' $(EXPORTS)/venv/bin/python tests/exports/cuda_stubs.py $(EXPORTS)/venv/lib/python3*/site-packages/torch $(EXPORTS)/stubs
	@echo '$(EXPORTS_SUM)' > $@

.PHONY: exports test-exports test-export test-decoders config-keys ops-random
## exports: export 250 models from PyTorch, compile and run them, and write LIST.md and REFUSED.md to build/exports/list (MODELS="bert ..", BACKEND=ref)
exports: $(EXPORTS)/venv/.made $(B)/qnnrt-run $(B)/libQnnRef.so $(B)/libqnnrt.so
	@$(call fetch,2.47 2.51)
	$(EXPORT_LIST) --out $(EXPORTS)/list --table $(EXPORTS)/list/LIST.md --refused $(EXPORTS)/list/REFUSED.md $(MODELS)

## test-exports: 300 random programs on libQnnRef.so and the host, and ten of the models on each backend, in three minutes
test-exports: $(EXPORTS)/venv/.made $(B)/qnnrt-run $(B)/libQnnRef.so $(B)/libqnnrt.so
	@$(call fetch,2.47 2.51)
	@$(EXPORT)/random_programs.py --build $(B) --out $(EXPORTS)/short-random --runs 300 --short --backend host,ref
	$(EXPORT_LIST) --out $(EXPORTS)/short --short --again

## ops-random: random programs of all operators against torch, and a report (RUNS=20000, SEED=1, BACKEND=host,ref,cpu,htp); it goes on where it was stopped
ops-random: $(EXPORTS)/venv/.made $(B)/qnnrt-run $(B)/libQnnRef.so $(B)/libqnnrt.so
	@$(call fetch,2.47 2.51)
	$(EXPORT)/random_programs.py --build $(B) --out $(EXPORTS)/random --runs $(or $(RUNS),2000) --seed $(or $(SEED),1) \
	    $(if $(filter command line,$(origin BACKEND)),--backend $(BACKEND)) --report $(EXPORTS)/random/RANDOM.md

## test-export: tests of qnnrt.export() itself, which need PyTorch
test-export: $(EXPORTS)/venv/.made $(B)/qnnrt-run $(B)/libQnnRef.so $(B)/libqnnrt.so
	@QNNRT_BUILD=$(abspath $(B)) QNNRT_PROGRAMS=$(abspath $(B)) QNNRT_LIBRARY=$(abspath $(B))/libqnnrt.so PYTHONPATH=tools/python:tests/python \
	    LD_LIBRARY_PATH=$(abspath $(EXPORTS))/stubs $(EXPORTS)/venv/bin/python -W ignore tests/python/test_export.py

## bench-eval: what the host takes for recurrent layers, grid_sample, einsum, conv3d and FFT, beside torch with one thread (CASES="lstm fft", BAR=5)
bench-eval: $(EXPORTS)/venv/.made $(B)/libqnnrt.so
	@QNNRT_LIBRARY=$(abspath $(B))/libqnnrt.so LD_LIBRARY_PATH=$(abspath $(EXPORTS))/stubs BAR=$(or $(BAR),inf) \
	    $(EXPORTS)/venv/bin/python -W ignore tests/bench/bench_eval.py $(B)/libqnnrt.so $(CASES)

.PHONY: exports-silent
## exports-silent: seven kinds of models that once differed from torch without a word: what they were then, and are now
exports-silent: $(EXPORTS)/venv/.made $(B)/qnnrt-run $(B)/qnnrt-llm $(B)/libQnnRef.so $(B)/libqnnrt.so
	@$(call fetch,2.47 2.51)
	@$(EXPORT)/silent.py --build $(B)

.PHONY: ops-values
## ops-values: functions over all of float16 and forms of layers on the genuine libraries, beside torch (STEP=8)
ops-values: $(EXPORTS)/venv/.made $(B)/qnnrt-run $(B)/libqnnrt.so
	@$(call fetch,2.47 2.51)
	$(EXPORT)/sweep.py --build $(B) --step $(or $(STEP),8)

## config-keys: unusual keys of config.json, with transformers' logits as the measure, for each architecture (SEED=1, RANDOM=20)
config-keys: $(EXPORTS)/venv/.made $(B)/qnnrt-run $(B)/qnnrt-llm $(B)/libQnnRef.so
	$(EXPORT)/config_keys.py $(EXPORTS)/config_keys --tools $(B) --backend $(B)/libQnnRef.so --random $(or $(RANDOM),20) --seed $(or $(SEED),1)

## test-decoders: MiniLM with its real weights and decoders in several graphs on each backend (EXPORTS_SIZE=full, REPORT=FILE)
test-decoders: $(EXPORTS)/venv/.made $(B)/qnnrt-run $(B)/libQnnRef.so
	@$(call fetch,2.47 2.51)
	$(EXPORT)/export_minilm.py --out $(EXPORTS)/minilm
	@[ -f $(EXPORTS)/tinyllama/model.safetensors ] || $(EXPORT)/make_llama_ir.py tiny $(EXPORTS)/tinyllama
	@[ -f $(EXPORTS)/qwen2l_8k/model.safetensors ] || $(EXPORT)/make_llama_ir.py real $(EXPORTS)/qwen2l_8k --vocabulary 8192
	@[ '$(EXPORTS_SIZE)' != full ] || [ -f $(EXPORTS)/qwen2l/model.safetensors ] || \
	    $(EXPORT)/make_llama_ir.py real $(EXPORTS)/qwen2l $(if $(QWEN),--cut '$(QWEN)')
	$(EXPORT)/run_models.py --exports $(EXPORTS) --build $(B) $(if $(filter command line,$(origin BACKEND)),--backend $(BACKEND)) \
	    $(if $(REPORT),--report '$(REPORT)') $(MODELS)
