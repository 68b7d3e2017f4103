#!/bin/sh
# Run tests/python with everything that the package works with: make test-python.
#
#   tests/python/all.sh BUILD VENV
#
# VENV has tests/python/requirements.txt. No test may be skipped. Then the example draws, and the bench runs.
set -eu
LC_ALL=C.UTF-8
export LC_ALL
build=$(cd "${1:?usage: tests/python/all.sh BUILD VENV}" && pwd) python=$(cd "${2:?}" && pwd)/bin/python
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
set -- "$build"/wheel/qnnrt-*-py3-none-linux_x86_64.whl
"$python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall "$1"

models=$tmp/models
mkdir -p "$models/layer" "$models/llm"
"$build/examples/03_compose" "$build/libQnnRef.so" "$models/layer/layer.bin" >"$tmp/log"
"$build/examples/llm/export" tests/data/llm/model "$models/llm" --type w8a16 --backend_so "$build/libQnnRef.so" >"$tmp/log"
"$python" tests/harness/make_weights.py "$models/cnn.safetensors" tests/data/ir/torch_cnn.npz
QNNRT_BUILD=$build QNNRT_TEST_MODELS=$models PYTHONDONTWRITEBYTECODE=1
export QNNRT_BUILD QNNRT_TEST_MODELS PYTHONDONTWRITEBYTECODE
status=0
"$python" -X dev -m pytest -W error -p no:cacheprovider -q -rs --ignore=tests/python/test_export.py tests/python 2>&1 | tee "$tmp/log" || status=1
if ! tail -n 1 "$tmp/log" | grep -q '^[0-9]* passed' || grep -q '[0-9] skipped' "$tmp/log"; then status=1; fi

for model in layer llm; do
    MPLCONFIGDIR=$tmp "$python" -W error examples/python/plan_and_profile.py "$models/$model" "$build/libQnnRef.so" "$tmp/$model.png" >"$tmp/log" 2>&1 ||
        { tail -n 5 "$tmp/log"; status=1; }
    "$python" -c 'import sys
from PIL import Image
image = Image.open(sys.argv[1]).convert("RGB")
assert image.size[0] > 1000 and len(image.getcolors(1 << 24)) > 20, image' "$tmp/$model.png" || status=1
done

(cd tests/python && "$python" -c 'import sys, onnx_file; sys.stdout.buffer.write(onnx_file.layer())') >"$tmp/layer.onnx"
"$python" tests/bench/bench_session.py "$tmp/layer.onnx" "$(echo "$build"/engines/onnxruntime-1.31.1/libonnxruntime.so.1.*)" 3 || status=1
if [ $status = 0 ]; then echo "test-python: passed"; else echo "test-python: FAILED"; fi
exit $status
