#!/bin/sh
# A decoder block as QNN backends of mobile frameworks run it: operators on the CPU between modules on the NPU.
#     sh tests/cli/test_mobile.sh [BUILD_DIR [RELEASE_DIR]]
# The genuine libraries are RELEASE_DIR/libQnnHtp.so, and libQnnCpu.so of the release 2.47 beside it.
suite=test_mobile
. "$(dirname "$0")/../harness/tool.sh"
npz=$data/ir/torch_mobile.npz
out=$tmp/o

if ! python3 "$tests/harness/make_weights.py" "$tmp/mobile.safetensors" "$npz"; then
    skip weights "python3 makes the weights"
    finish
    exit
fi
arrays "$npz" in/0 "$tmp/ids.raw" in/1 "$tmp/keep.raw" in/2 "$tmp/pos.raw" out/0 "$tmp/logits.raw"

# The embedding, rotary positions and attention are the host's; each module has a node that is the NPU's.
pins='embedding cos sin slice_1 slice_2 slice_3 slice_4 neg neg_1 cat_2 cat_3 mul_4 mul_6 matmul_1'
modules='mul_1 linear linear_1 linear_2 mul_2 mul_10'

# at STEP ROLE NODE ...: these nodes are computed there
at() {
    step=$1 role=$2
    shift 2
    for node in "$@"; do
        check "$label $node is in step $step on $role" "$(grep "^  $node " "$tmp/out")" \
            grep -qE "^  $node +[a-z0-9_.A-Z]+ +step $step +$role " "$tmp/out"
    done
}

# block NAME LIBRARY CONVERSIONS MOST OPTION ...: compiled with it, the block has four steps, and computes what PyTorch does
block() {
    label=$1 library=$2 conversions=$3 most=$4
    shift 4
    rm -rf "$out"
    for node in $pins; do set -- "$@" --pin "$node=host"; done
    for node in $modules; do set -- "$@" --pin "$node=npu"; done
    run compile "$data/ir/torch_mobile.json" --weights "$tmp/mobile.safetensors" --backends npu,host \
        --backend_so "npu=$library" --speed npu=20000,10000,1,60 --explain_plan --verify 2 --output_dir "$out" "$@"
    is "$label compiles" 0
    cp "$tmp/out" "$tmp/$label.plan"
    says "$label has four steps" out ' nodes in 4 steps, '
    at 0 host embedding cos sin                                                # op tasks
    at 1 npu mul_1 linear linear_1 linear_2 view view_1 transpose to mul_2     # a module task: RMSNorm, Linear, View, Transpose, Cast, Mul
    at 2 host mul_4 neg cat_2 add_1 matmul_1                                   # op tasks
    at 3 npu linear_3 add_3 mul_10 linear_4 silu linear_5 mul_11 linear_6 add_5 linear_7     # a module task
    # X2X: tensors that move between the backends, and change their type where the backends' types differ.
    edges=$(grep '{"from": ' "$out/qnnrt.json")
    check "$label moves eight tensors" "$edges" test "$(grep -c '{"from": ' "$out/qnnrt.json")" = 8
    check "$label converts $conversions tensors" "$edges" \
        test "$(grep -c '"convert": "values"' "$out/qnnrt.json")" = "$conversions"
    # The folder runs without the graph and its weights.
    run --ctx_dir "$out" --backend_so "npu=$library" --input "ids=$tmp/ids.raw" --input "keep=$tmp/keep.raw" \
        --input "pos=$tmp/pos.raw" --output_dir "$tmp/$label"
    is "$label runs" 0
    equal "$label computes what PyTorch does" "$tmp/$label/torch_mobile/linear_7.raw" "$tmp/logits.raw" "$most"
}

# ---- what examples/MOBILE.md says: each test that it names is there, each function, and each option ----
python3 - "$tests" "$tool" >"$tmp/out" <<'PYTHON'
import glob, os, re, subprocess, sys
tests = sys.argv[1]
top = os.path.dirname(os.path.realpath(tests))
read = lambda path: open(path, encoding="utf-8").read()
headers = "".join(map(read, glob.glob(top + "/*.h") + glob.glob(top + "/tools/*.h")))
text = read(top + "/examples/MOBILE.md")
count = 0
for line in text.split("\n"):
    if not line.startswith("| ") or line.startswith("| topic") or line.startswith("| |"): continue
    last = re.split(r"(?<!\\)\|", line)[-2]
    names = re.findall(r"`([^`]+)`", last)
    count += len(names)
    if not names: print("no test:", line)
    source = ""
    for name in names:
        path = name if name.endswith(".sh") else "../" + name + ".c" if name.startswith("real/") else "test_" + name + ".c"
        path = glob.glob(tests + "/*/" + path)
        if path: source = read(path[0])
        elif not re.search(r"^(TEST\(|compile |refused )%s\b" % re.escape(name), source, re.M):
            print("no test", name, "of:", line)
for name in re.findall(r"`(qnnrt_\w+)", text):
    if not re.search(r"\b%s\b" % name, headers): print("no", name)
for name in re.findall(r"`(QNNRT_[A-Z_]+)`", text):
    if name not in headers: print("no", name)
usage = subprocess.run([sys.argv[2], "compile", "--help"], stdout=subprocess.PIPE).stdout.decode()
for name in re.findall(r"`(--\w+)", text):
    if name not in usage: print("no", name)
if count < 60: print("only", count, "tests")
PYTHON
silent mobile_md out

# ---- graphs of a file ----
# Alone on a backend, each operator becomes those of its pattern.
run compile "$data/ir/torch_mobile.json" --weights "$tmp/mobile.safetensors" --backend_so "$build/libQnnRef.so" \
    --output_dir "$tmp/one" --report "$tmp/report"
is one_backend 0
# becomes NODE TEXT: the report says so of a node
becomes() { check "becomes $1" "$(grep "^    $1 = " "$tmp/report")" grep -qE "^    $1 = .*$2" "$tmp/report"; }
becomes embedding 'embedding\.Gather'
becomes mul_1 'q\.rms_norm, .*; mul_1\.RmsNorm\.[0-9]+$'
becomes linear ': linear\.FullyConnected\.[0-9]+$'
becomes view 'no operator'
becomes transpose 'no operator'                # its readers take the axes in this order
becomes to 'to\.Cast\.[0-9]+$'
becomes silu 'silu\.Sigmoid\.[0-9]+, silu\.ElementWiseMultiply\.[0-9]+$'
becomes mul_11 ': mul_11\.ElementWiseMultiply\.[0-9]+$'
becomes add_5 ': add_5\.ElementWiseAdd\.[0-9]+$'

block ref "$build/libQnnRef.so" 0 1e-5
says ref_rms_norm ref.plan 'q.rms_norm'
run --ctx_dir "$out" --backend_so "npu=$build/libQnnRef.so" --backend_so "cpu=$build/libQnnRef.so"
is unused_role 0
says unused_role_note out "note      --backend_so cpu=$build/libQnnRef.so is not used: the model has no such role"
if [ -f "$release/libQnnHtp.so" ]; then
    block htp "$release/libQnnHtp.so" 6 1e-2
    says htp_rms_norm htp.plan 'q.rms_norm'
    says htp_silu htp.plan 'q.silu'
    block htp_w8 "$release/libQnnHtp.so" 6 1e-2 --weight_bits 8
    cpu=$build/qnn/2.47/onnxruntime_qnn/libQnnCpu.so
    if [ -f "$cpu" ]; then block cpu "$cpu" 0 1e-5
    else skip cpu "$cpu is missing"; fi
else
    skip genuine "$release/libQnnHtp.so is missing"
fi

finish
