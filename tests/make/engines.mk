# Sessions on the engines of others.

# onnx, onnxruntime and openvino for Python 3.11, by hash; and an old openvino, which needs an old numpy.
ENGINES_VENV = $(B)/engines/venv
$(ENGINES_VENV)/.made: tests/engines/requirements.txt
$(ENGINES_VENV)-2024/.made: tests/engines/requirements-2024.txt
$(ENGINES_VENV)/.made $(ENGINES_VENV)-2024/.made:
	@mkdir -p $(B)/engines
	$(venv)
	@touch $@

.PHONY: test-engines
## test-engines: run the 140 recorded cases of the package onnx through sessions, as the engines' own Python does
test-engines: $(B)/c99/engine_run $(ENGINES_VENV)/.made $(ENGINES_VENV)-2024/.made
	@$(PYTHON) tools/fetch/engine-libs.py --dir $(B)/engines all
	@sh tests/engines/cases.sh $(B) $(ENGINES_VENV)

.PHONY: test-onnx
## test-onnx: compare what qnnrt_onnx.h reads of 143 files with what the package onnx reads (SUITE=FOLDER: its files, too), and the suite with its table
test-onnx: $(B)/c99/onnx_dump $(B)/c99/suite_run $(B)/onnx/cases.txt $(B)/libQnnRef.so
	@$(PYTHON) tools/fetch/engine-libs.py --dir $(B)/engines onnx-1.23.2
	@$(ENGINES_VENV)/bin/python tests/onnx/compare.py $(B)/c99/onnx_dump $(B)/engines/onnx-1.23.2/onnx/backend/test/data/*/* $(SUITE)
	@$(B)/c99/suite_run --frozen --table $(B)/onnx/host.txt $(B)/onnx host >/dev/null || true
	@$(B)/c99/suite_run --frozen --table $(B)/onnx/ref.txt $(B)/onnx $(B)/libQnnRef.so >/dev/null || true
	@rm -f $(B)/onnx/cpu.txt $(B)/onnx/htp.txt
	@$(PYTHON) tests/onnx/table.py $(B)/onnx --check tests/onnx/table.txt

.PHONY: test-containers
## test-containers: extract contexts from files that ONNX Runtime and ExecuTorch's package write, and run them (fetches 19 MB)
test-containers: $(B)/qnnrt-run $(ENGINES_VENV)/.made
	@$(call fetch,2.51)
	@$(ENGINES_VENV)/bin/python tests/cli/containers.py $(B)

.PHONY: tensorrt-check
## tensorrt-check: compile tools/engines/tensorrt.cpp (TENSORRT_INCLUDE=folder CUDA_INCLUDE='folder ...', TENSORRT_FLAGS=-DQNNRT_TENSORRT_NO_PARSER)
tensorrt-check:
	@if [ -z "$(TENSORRT_INCLUDE)" ] || [ -z "$(CUDA_INCLUDE)" ]; then \
	    echo "tensorrt-check: TENSORRT_INCLUDE=FOLDER holds NvInfer.h, CUDA_INCLUDE='FOLDER ...' cuda_runtime_api.h"; exit 2; fi
	@mkdir -p $(B)
	$(Q)$(CXX) -std=c++14 -O2 -Wall -Wextra -Wconversion -Wshadow -Wno-deprecated-declarations -Werror -I. -Itools $(TENSORRT_FLAGS) \
	    $(addprefix -isystem ,$(TENSORRT_INCLUDE) $(CUDA_INCLUDE)) -c -o $(B)/tensorrt.o tools/engines/tensorrt.cpp
	@echo "tensorrt-check: $(B)/tensorrt.o was compiled; nothing was linked or run"

.PHONY: session-table
## session-table: run an MLP, a CNN and MiniLM through each engine; print differences and times (5 min; python3, session-models)
session-table: session-models $(B)/c99/session_table $(B)/qnnrt-run $(B)/libQnnRef.so
	@$(call fetch,2.47 2.51)
	@$(PYTHON) tools/fetch/engine-libs.py --dir $(B)/engines
	$(PYTHON) tests/session/session_table.py --exports $(EXPORTS)/session --build $(B) $(if $(REPORT),--report '$(REPORT)') $(MODELS)

.PHONY: session-models
## session-models: export an MLP, a CNN and MiniLM as graphs and as ONNX into build/exports/session
session-models: $(EXPORTS)/venv/.made
	$(EXPORT)/export_session.py --out $(EXPORTS)/session

# The conformance suite of the package onnx, written once by its generator.
$(B)/onnx/cases.txt: tests/onnx/suite.py $(ENGINES_VENV)/.made
	@$(ENGINES_VENV)/bin/python tests/onnx/suite.py $(@D)

.PHONY: suite-onnx
## suite-onnx: convert, lower and run the cases of the package onnx (BACKEND=host,ref,cpu,htp; ALL=1: also those out of scope; TABLE=1: write the table)
suite-onnx: $(B)/c99/suite_run $(B)/onnx/cases.txt $(B)/libQnnRef.so
	@s=0; for b in $(subst $(comma), ,$(BACKEND)); do case $$b in \
	    host) l=host;; ref) l=$(B)/libQnnRef.so;; cpu) l=$(B)/qnn/2.47/onnxruntime_qnn/libQnnCpu.so;; *) l=$(QNN51)/libQnnHtp.so;; esac; \
	    $(B)/c99/suite_run --frozen $(if $(ALL),--all) --table $(B)/onnx/$$b.txt $(B)/onnx $$l || s=1; done; \
	    $(if $(TABLE),$(PYTHON) tests/onnx/table.py $(B)/onnx > tests/onnx/table.txt;) exit $$s
