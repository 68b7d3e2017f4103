# The Python package with all that it works with.

# numpy, pytest, ONNX Runtime's Python and matplotlib, for Python 3.11, by hash.
PYTHON_VENV = $(B)/python-venv
$(PYTHON_VENV)/.made: tests/python/requirements.txt
	$(venv)
	@touch $@

.PHONY: test-python
## test-python: run tests/python with pytest, numpy, ONNX Runtime's Python and matplotlib; then the bench (fetches them)
test-python: wheel $(PYTHON_VENV)/.made $(B)/examples/03_compose $(B)/examples/llm/export
	@$(PYTHON) tools/fetch/engine-libs.py --dir $(B)/engines onnxruntime-1.31.1
	@sh tests/python/all.sh $(B) $(PYTHON_VENV)

# Our session beside ONNX Runtime's own Python, with the same library.
SESSION_PYTHON := $(B)/bench/python
.PHONY: bench-session-python
## bench-session-python: time runs of a session in Python beside ONNX Runtime's own Python (fetches it)
bench-session-python: wheel $(ENGINES_VENV)/.made
	@$(PYTHON) tools/fetch/engine-libs.py --dir $(B)/engines onnxruntime-1.31.1
	@rm -rf $(SESSION_PYTHON) && mkdir -p $(SESSION_PYTHON) && $(PYTHON) -m zipfile -e $(B)/wheel/qnnrt-$(VERSION)-*.whl $(SESSION_PYTHON)
	@cd tests/python && $(PYTHON) -B -c 'import sys, onnx_file; sys.stdout.buffer.write(onnx_file.layer())' > $(abspath $(SESSION_PYTHON))/layer.onnx
	@PYTHONPATH=$(SESSION_PYTHON) $(PIN) $(ENGINES_VENV)/bin/python tests/bench/bench_session.py $(SESSION_PYTHON)/layer.onnx \
	    $(B)/engines/onnxruntime-1.31.1/libonnxruntime.so.1.31.1
