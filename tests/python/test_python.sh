#!/bin/sh
# The Python package: its wheel, installed in a clean venv without network, compiler or numpy; then tests/python there.
#     sh tests/python/test_python.sh [BUILD_DIR]
# The tests are unittest's, so that nothing has to be fetched; pytest runs them, too: make wheel, pip install it, pytest tests/python.
suite=test_python
. "$(dirname "$0")/../harness/tool.sh"
LC_ALL=C.UTF-8 python=${PYTHON:-python3}

# ---- the wheel --------------------------------------------------------------------------------------------

wheel=$("$python" tools/python/build_wheel.py "$build" "$tmp/wheel")
if [ -f "$wheel" ]; then good; else bad wheel "no wheel was built"; fi
again=$("$python" tools/python/build_wheel.py "$build" "$tmp/again")
step wheel_is_deterministic cmp "$wheel" "$again"
case $wheel in */qnnrt-[0-9]*-py3-none-linux_x86_64.whl) good ;; *) bad wheel_name "$wheel" ;; esac
step record_is_right "$python" - "$wheel" <<'EOF'
import base64, csv, hashlib, io, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    names = wheel.namelist()
    record = next(n for n in names if n.endswith("/RECORD"))
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(wheel.read(record).decode()))}
    assert set(rows) == set(names) and len(names) == len(set(names)), set(rows) ^ set(names)
    for name in names:
        data = wheel.read(name)
        if name == record:
            assert rows[name] == ["", ""]
        else:
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert rows[name] == ["sha256=" + digest, str(len(data))], name
    for name in ("qnnrt/libqnnrt.so", "qnnrt/libQnnRef.so", "qnnrt/qnnrt-run", "qnnrt/qnnrt-llm", "qnnrt/py.typed", "qnnrt/_abi.py"):
        assert name in names, name
EOF
mkdir "$tmp/empty"
if "$python" tools/python/build_wheel.py "$tmp/empty" "$tmp/none" >"$tmp/log" 2>&1; then bad wheel_without_library "status 0"; else good; fi
logged wheel_without_library "libqnnrt.so is missing"

# ---- a clean venv: no network, no compiler, no numpy -------------------------------------------------------

step venv "$python" -m venv "$tmp/venv"
there="$tmp/venv/bin/python"
# The environment has nothing but the venv; an index that cannot be reached would be an error.
clean() { env -i HOME="$tmp" PATH="$tmp/venv/bin" LC_ALL=C.UTF-8 PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 "$@"; }
step pip_installs clean "$there" -m pip install "$wheel"
step no_numpy clean "$there" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("numpy") is not None)'
step pip_checks clean "$there" -m pip check
step console_run clean qnnrt-run --version
logged console_run "$(sed -n '1s/.* v\([0-9.]*\) .*/\1/p' qnnrt.h)"
step console_llm clean qnnrt-llm --help
step console_explains clean qnnrt-run explain 0x1388

# ---- the tests --------------------------------------------------------------------------------------------

models=$tmp/models
mkdir -p "$models/layer" "$models/llm"
step model_layer "$build/examples/03_compose" "$build/libQnnRef.so" "$models/layer/layer.bin"
step model_llm "$build/examples/llm/export" tests/data/llm/model "$models/llm" --type w8a16 --backend_so "$build/libQnnRef.so"
step model_weights "$python" tests/harness/make_weights.py "$models/cnn.safetensors" tests/data/ir/torch_cnn.npz
# Tests of the structs need a compiler.
if env CC="${CC:-cc}" QNNRT_BUILD="$build" QNNRT_TEST_MODELS="$models" PYTHONDONTWRITEBYTECODE=1 "$there" -X dev -W error -m unittest discover -v -s tests/python >"$tmp/log" 2>&1
then good; else bad unittest "$(grep -v ' ok$' "$tmp/log" | tail -n 60)"; fi
count=$(sed -n 's/^Ran \([0-9]*\) tests.*/\1/p' "$tmp/log")
if [ "${count:-0}" -ge 30 ]; then passed=$((passed + count)); else bad unittest "only ${count:-0} tests ran"; fi
# Those that need numpy run in make test-python; those that need an engine are skipped without it.
awk '/ \.\.\. skipped/ && !/(numpy|Python|PyTorch) is not installed|engines are not fetched/ { print; bad = 1 } END { exit bad }' "$tmp/log" || bad skipped "tests were skipped"
if grep -q 'skipped.*engines are not fetched' "$tmp/log"; then
    if [ "${QNNRT_REQUIRE_ALL-}" = 1 ]; then bad engines "build/engines is missing: say 'make engine-libs'"; else skipped=1; fi
fi

# ---- packages of engines, installed beside ours ---------------------------------------------------------------

# Folders as the wheels of ONNX Runtime and OpenVINO have them, with their libraries. Importing one would fail. The
# current folder is a model's, with a package of the same name that must not be looked at.
site=$(clean "$there" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
mkdir -p "$tmp/model/onnxruntime/capi" "$tmp/model/openvino/libs"
(cd tests/python && "$there" -B -c 'import sys, onnx_file; sys.stdout.buffer.write(onnx_file.layer())') >"$tmp/model/net.onnx"
for file in onnxruntime/__init__.py openvino/__init__.py; do echo 'raise RuntimeError("imported")' >"$tmp/model/$file"; done
for file in onnxruntime/capi/libonnxruntime.so.9.9.9 openvino/libs/libopenvino_c.so.9990; do echo hostile >"$tmp/model/$file"; done
cat >"$tmp/model/found.py" <<'EOF'
import sys
import qnnrt
try:
    with qnnrt.InferenceSession("net.onnx", device="cpu", engine=sys.argv[1]) as session:
        print(session.engine_name, session.run(None, {"x": [[1, 2, 3, 4]]})[0].tolist(), session.library)
except qnnrt.Error as error:
    print(error)
    assert error.hint and str(error) == error.text + "\n" + error.hint, error.hint
assert "onnxruntime" not in sys.modules and "openvino" not in sys.modules
EOF
# found NAME ENGINE TEXT: in the model's folder, a session prints the text
found() {
    step "$1" sh -c 'cd "$1/model" && shift && "$@"' sh "$tmp" env -i HOME="$tmp" LC_ALL=C.UTF-8 "$there" -B found.py "$2"
    logged "$1" "$3"
    if grep -q 9\.9 "$tmp/log"; then bad "$1" "a library in the model's folder: $(cat "$tmp/log")"; fi
}
found no_engine_is_installed onnxrt 'library_path'
for row in onnxrt:onnxruntime-1.31.1:onnxruntime/capi openvino:openvino-2026.4.1:openvino/libs; do
    engine=${row%%:*} row=${row#*:}
    from=$(pwd)/$build/engines/${row%%:*}
    case $build in /*) from=$build/engines/${row%%:*} ;; esac
    if [ ! -d "$from" ]; then skipped=1; continue; fi
    mkdir -p "$site/${row##*:}"
    cp "$tmp/model/${row#*:}/../__init__.py" "$site/${row##*:}/.."
    ln -s "$from"/lib* "$site/${row##*:}"
    found "installed_$engine" "$engine" "$engine [[30.5, 0.0]] "
    logged "installed_$engine" " $site/${row##*:}/"
    found "installed_$engine" auto " [[30.5, 0.0]] "
done
# Context binaries of the npu, with onnxruntime-qnn.
case $build in /*) from=$build ;; *) from=$(pwd)/$build ;; esac
if [ -d "$from/qnn/2.51/onnxruntime_qnn" ]; then
    ln -s "$from/qnn/2.51/onnxruntime_qnn" "$from/qnn/2.51/onnxruntime_qnn.libs" "$site"
    step installed_qnn clean "$there" -c 'import qnnrt; s = qnnrt.InferenceSession("tests/data/ctx/qairt2.51/mlp_u8"); print(s.device, s.library)'
    logged installed_qnn "npu $site/onnxruntime_qnn/libQnnHtp.so"
else skipped=1; fi

# ---- what remains of it ------------------------------------------------------------------------------------

step pip_uninstalls clean "$there" -m pip uninstall -y qnnrt
if clean "$there" -c 'import qnnrt' 2>/dev/null; then bad uninstall "qnnrt can still be imported"; else good; fi

finish
