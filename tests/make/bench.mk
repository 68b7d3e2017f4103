# Benches: times, which no test judges.

# Those of `make bench`.
BENCHES := bench_convert bench_exec bench_ir bench_weight_only

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
bench: $(BENCHES:%=$(B)/bench/%) $(B)/data/.made $(B)/bench/libempty_qnn.so
	@$(call fetch,2.47 2.51) || true
	@set -e; for program in $(BENCHES:%=$(B)/bench/%); do \
	    $(PIN) $$program $(B)/bench/libempty_qnn.so $(B)/qnn $(B)/data; done
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

# Peers: yyjson by tools/fetch/engine-libs.py, the other two where their Debian packages are installed. simdjson is
# meant to be built for the machine it runs on; yyjson is fastest with these flags, so ours has them too.
YYJSON_DIR  := $(B)/engines/yyjson-0.10.0
YYJSON      := $(if $(wildcard $(YYJSON_DIR)/yyjson.c),1)
SIMDJSON    := $(if $(wildcard /usr/include/simdjson.h),1)
CJSON       := $(if $(wildcard /usr/include/cjson/cJSON.h),1)
PEER_FLAGS   = $(if $(YYJSON),-DBENCH_YYJSON -I$(YYJSON_DIR)) $(if $(SIMDJSON),-DBENCH_SIMDJSON) \
               $(if $(CJSON),-DBENCH_CJSON)
PEER_OBJECTS = $(if $(YYJSON),$(B)/bench/yyjson.o) $(if $(SIMDJSON),$(B)/bench/simdjson.o)
PEER_LIBS    = $(if $(SIMDJSON),-lsimdjson -lstdc++) $(if $(CJSON),-lcjson)

$(B)/bench/yyjson.o: $(YYJSON_DIR)/yyjson.c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c99 -O3 -falign-functions=64 -c -o $@ $<

$(B)/bench/simdjson.o: tests/bench/bench_simdjson.cpp tests/bench/bench_json.h $(B)/.flags
	$(call say,CXX)
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -O2 -march=native -Wall -Wextra -Wno-mismatched-new-delete -Itests/bench -c -o $@ $<

.PHONY: bench-json bench-json-peers bench-json-run
bench-json-peers:
	@$(PYTHON) tools/fetch/engine-libs.py --dir $(B)/engines yyjson-0.10.0 || echo "bench-json: without yyjson"

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
	@$(PYTHON) tools/fetch/engine-libs.py --dir $(B)/engines onnxruntime-1.31.1 || echo "bench-ops: without ONNX Runtime"
	@there() { if [ -f "$$1" ]; then echo "$$1"; else echo -; fi; }; \
	$(PIN) $(B)/bench/bench_ops $(B)/libQnnRef.so "$$(there $(B)/qnn/2.47/onnxruntime_qnn/libQnnCpu.so)" \
	    "$$(there $(B)/engines/onnxruntime-1.31.1/libonnxruntime.so.1.31.1)"

# The genuine graph needs weights to be found, not their values: a file of 3.5 GB that takes no room on the disk.
COMPILE_IR    = $(or $(wildcard $(QNNRT_SAMPLES)/ir/qwen2_prefill_ir.json),tests/data/ir/tiny_prefill.json)
.PHONY: bench-compile
## bench-compile: time what qnnrt-run compile does to Qwen2.5-1.5B, beside torch.export (QNNRT_SAMPLES=folder with ir/)
bench-compile: $(B)/bench/bench_compile $(B)/libQnnRef.so
	@$(call fetch,2.47 2.51) || true
	@$(PYTHON) tests/harness/make_weights.py $(B)/bench/compile.safetensors $(COMPILE_IR) --empty
	$(PIN) $(B)/bench/bench_compile $(COMPILE_IR) $(B)/bench/compile.safetensors $(B)/libQnnRef.so \
	    $(wildcard $(B)/qnn/2.47/onnxruntime_qnn/libQnnCpu.so $(QNN51)/libQnnHtp.so)
	@if [ -f $(EXPORTS)/venv/.made ]; then $(PIN) env LD_LIBRARY_PATH=$(EXPORTS)/stubs \
	    $(EXPORTS)/venv/bin/python tests/bench/bench_export.py; \
	else echo "bench-compile: without torch.export: make exports installs it"; fi

# Real widths, two layers: width 1536 with make_llama_ir.py, which needs numpy; else the graphs of the tests.
WEIGHT_ONLY_REAL   ?= $(B)/bench/weight_only
.PHONY: bench-weight-only
## bench-weight-only: bytes, SNR, time and memory of weights of 16, 8 and 4 bits on HTP (WEIGHT_ONLY_PYTHON=python with numpy)
bench-weight-only: $(B)/bench/bench_weight_only
	@$(call fetch,2.51)
	@mkdir -p $(WEIGHT_ONLY_REAL)
	@python='$(or $(WEIGHT_ONLY_PYTHON),$(PYTHON))'; if [ -f $(WEIGHT_ONLY_REAL)/model.safetensors ]; then :; \
	elif $$python -c 'import numpy' 2>/dev/null; then $$python tests/exports/make_llama_ir.py real $(WEIGHT_ONLY_REAL) --vocabulary 8192; \
	else echo "bench-weight-only: without width 1536: $$python has no numpy (WEIGHT_ONLY_PYTHON=python with numpy)"; fi
	@$(PYTHON) tests/harness/make_weights.py $(WEIGHT_ONLY_REAL)/llama.safetensors tests/data/ir/tiny_prefill.json
	@real=; if [ -f $(WEIGHT_ONLY_REAL)/model.safetensors ]; then real='$(WEIGHT_ONLY_REAL)/prefill/model.json $(WEIGHT_ONLY_REAL)/model.safetensors'; fi; \
	$(PIN) $(B)/bench/bench_weight_only $(QNN51)/libQnnHtp.so tests/data/ir/tiny_prefill.json $(WEIGHT_ONLY_REAL)/llama.safetensors $$real

# Genie and a bare loop run the same file as we do, each through a library that records when it computes.
LLM_PEERS := $(B)/bench/llm_genie $(B)/bench/llm_raw $(B)/bench/llm_ours $(B)/bench/libllm_proxy.so

.PHONY: bench-llm
## bench-llm: time a token's work on the host: ours beside Qualcomm's Genie and a bare loop; then large models' shapes
bench-llm: $(LLM_PEERS) $(B)/data/.made $(B)/bench/bench_llm_shapes $(B)/libQnnRef.so
	@$(call fetch,2.51) || true
	@status=0; \
	if [ -f $(QNN51)/libGenie.so ]; then $(PYTHON) tests/bench/bench-llm.py $(B)/bench $(B)/qnn $(B)/data/llm || status=1; \
	else echo "bench-llm: without Genie: $(QNN51)/libGenie.so is missing"; fi; \
	$(PIN) $(B)/bench/bench_llm_shapes $(B)/libQnnRef.so || status=1; exit $$status

# Benches run nowhere else: they must compile.
.PHONY: benches
benches:
	@for file in $(wildcard tests/bench/*.c); do \
	    $(CC) -std=c99 -fsyntax-only -Wall -Wextra -Werror $(TEST_CPPFLAGS) -Itools/engines $$file || exit 1; done
