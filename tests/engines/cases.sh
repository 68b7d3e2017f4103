#!/bin/sh
# Run the recorded cases of the package onnx through sessions, beside the engines' own Python: make test-engines.
#
#   tests/engines/cases.sh BUILD PYTHON
set -u
build=${1:?usage: tests/engines/cases.sh BUILD PYTHON} python=${2:?}
data=$build/engines/onnx-1.23.2/onnx/backend/test/data
cases=$(dirname "$0")/cases.py
status=0
run() {
    echo "$*"
    "$python" "$cases" "$build/c99/engine_run" "$data" "$@" || status=1
}
# The release of the Python package: verdicts and bytes. Others: verdicts.
run onnxrt --library "$build/engines/onnxruntime-1.31.1"
run onnxrt --library "$build/engines/onnxruntime-1.31.1" --bound
for version in 1.17.3 1.20.1 1.24.4 1.32.0; do
    run onnxrt --library "$build/engines/onnxruntime-$version" --verdicts-only
done
run openvino --library "$build/engines/openvino-2026.4.1/libopenvino_c.so.2641"
run openvino --library "$build/engines/openvino-2026.4.1/libopenvino_c.so.2641" --bound
exit $status
