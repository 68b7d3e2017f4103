#!/bin/sh
# A decoder block as QNN backends of mobile frameworks run it: operators on the CPU between modules on the NPU.
#     sh tests/test_mobile.sh [BUILD_DIR [RELEASE_DIR]]
# The genuine libraries are RELEASE_DIR/libQnnHtp.so, and libQnnCpu.so of the release 2.47 beside it.
suite=test_mobile
. "$(dirname "$0")/tool.sh"
npz=$data/ir/torch_mobile.npz
out=$tmp/o

if ! python3 "$tests/make_weights.py" "$tmp/mobile.safetensors" "$npz"; then
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
        --backend_so "npu=$library" --explain_plan --verify 2 --output_dir "$out" "$@"
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

# ---- graphs of a file ----
block ref "$build/libQnnRef.so" 0 1e-5
says ref_rms_norm ref.plan 'q.rms_norm'
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
