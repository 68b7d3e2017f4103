#!/bin/sh
# Run the recorded cases of the package onnx through sessions, beside the engines' own Python: make test-engines.
#
#   tests/engines/cases.sh BUILD VENV
#
# VENV has the newest releases of the engines' Python, VENV-2024 openvino 2024.6. Some cases of strings need the locale
# en_US.UTF-8, in Python and in ours: it is made in BUILD/locale with localedef, from Debian's package locales.
set -u
build=${1:?usage: tests/engines/cases.sh BUILD VENV} venv=${2:?}
data=$build/engines/onnx-1.23.2/onnx/backend/test/data
cases=$(dirname "$0")/cases.py
passed=0 failed=0
mkdir -p "$build/locale"
[ -d "$build/locale/en_US.UTF-8" ] || localedef -i en_US -f UTF-8 "$build/locale/en_US.UTF-8" >/dev/null 2>&1
LOCPATH=$build/locale
export LOCPATH

# run PYTHON ENGINE RELEASE ARGUMENTS
run() {
    python=$1 engine=$2 folder=$build/engines/$3
    shift 3
    echo "$engine, ${folder##*/} $*"
    "$python" "$cases" "$build/c99/engine_run" "$data" "$engine" --library "$folder" "$@" >"$build/cases.txt" 2>&1
    cat "$build/cases.txt"
    line=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$build/cases.txt" | tail -n 1)
    if [ -z "$line" ]; then line='0 1'; fi
    passed=$((passed + ${line% *})) failed=$((failed + ${line#* }))
}

# The releases that Python has: verdicts, and outputs byte by byte. Others: verdicts.
run "$venv/bin/python" onnxrt onnxruntime-1.31.1
run "$venv/bin/python" onnxrt onnxruntime-1.31.1 --bound
for version in 1.17.3 1.20.1 1.24.4 1.32.0; do
    run "$venv/bin/python" onnxrt onnxruntime-$version --verdicts-only
done
run "$venv/bin/python" openvino openvino-2026.4.1
run "$venv/bin/python" openvino openvino-2026.4.1 --bound
run "$venv-2024/bin/python" openvino openvino-2024.6.0
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
