# tools/ggml in stock llama.cpp, and compiled GGUF files beside libllama.

# Stock llama.cpp is built once, 13 minutes of one core for both versions.
GGML_VERSIONS ?= all
.PHONY: ggml-libs
## ggml-libs: fetch stock llama.cpp and build two versions of it into build/ggml (GGML_VERSIONS=0.25.3; 13 min; python3, cmake)
ggml-libs:
	@$(PYTHON) tools/fetch/ggml-libs.py --dir $(B)/ggml $(GGML_VERSIONS)

# The test model as GGUF, written by the package gguf for Python 3.11, by hash.
GGML        := $(B)/ggml
GGML_KINDS  := f32 f16 bf16 q8_0 q4_0 bf16-f32 q8_0-f32 q4_0-f32 big-f32
$(GGML)/venv/.made: tests/ggml/requirements.txt
	@mkdir -p $(GGML)
	$(venv)
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
	@$(GGML)/venv/bin/python tests/ggml/block_hashes.py tests/weights/test_gguf.c
	@$(GGML)/venv/bin/python tests/ggml/gguf_texts.py --build $(B) $(T)

.PHONY: bench-ggml
## bench-ggml: tokens per second in stock libllama: tools/ggml on libQnnRef.so beside ggml's CPU backend (ggml-libs)
bench-ggml: ggml-models $(B)/libQnnRef.so $(addprefix $(GGML_TEST)/0.25.3/,model libggml-qnnrt.so)
	@$(PIN) $(PYTHON) tests/ggml/test.py --build $(B) bench
