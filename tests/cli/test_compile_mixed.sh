#!/bin/sh
# qnnrt-run compile --backends: graphs over several backends, and what it says about bad input.
#     sh tests/cli/test_compile_mixed.sh [BUILD_DIR [RELEASE_DIR]]
# The genuine libraries are RELEASE_DIR/libQnnHtp.so, and libQnnCpu.so of the release 2.47 beside it.
suite=test_compile_mixed
. "$(dirname "$0")/../harness/tool.sh"
ir=$data/ir
ref=$build/libQnnRef.so
htp=$release/libQnnHtp.so
cpu=$build/qnn/2.47/onnxruntime_qnn/libQnnCpu.so
out=$tmp/o

# mixed NAME STATUS TEXT ARGUMENT ...: compile ends with STATUS, prints TEXT, and leaves no folder if it fails
mixed() {
    name=$1 wanted=$2 text=$3
    shift 3
    rm -rf "$out"
    run compile "$@" --output_dir "$out"
    if [ $status -ne "$wanted" ]; then bad "$name" "status $status, not $wanted: $(cat "$tmp/out" "$tmp/err")"
    elif ! cat "$tmp/out" "$tmp/err" | grep -qF -- "$text"; then bad "$name" "no '$text' in: $(cat "$tmp/out" "$tmp/err")"
    elif [ "$wanted" -ne 0 ] && [ -e "$out" ]; then bad "$name" "left $(ls -R "$out")"
    else good; fi
}

if ! python3 "$tests/harness/make_weights.py" "$tmp/cnn.safetensors" "$ir/torch_cnn.npz"; then
    skip weights "python3 makes the weights"
    finish
    exit
fi
python3 "$tests/harness/make_weights.py" "$tmp/llama.safetensors" "$ir/torch_llama.npz"
python3 "$tests/harness/make_weights.py" "$tmp/decode.safetensors" "$ir/tiny_decode.json"
# What PyTorch was given, and what it computed.
arrays "$ir/torch_cnn.npz" in/0 "$tmp/x.raw" out/0 "$tmp/y.raw"
arrays "$ir/torch_llama.npz" in/0 "$tmp/ids.raw" in/1 "$tmp/mask.raw" in/2 "$tmp/pos.raw" out/0 "$tmp/logits.raw"
cnn="$ir/torch_cnn.json --weights $tmp/cnn.safetensors"
llama="$ir/torch_llama.json --weights $tmp/llama.safetensors"
decode="$ir/tiny_decode.json --weights $tmp/decode.safetensors --rope_base 1000000 --rope_plain"
middle="--pin conv2d=npu --pin linear=npu"

# steps NAME NPU CPU ROLE MOST: torch_cnn as npu -> ROLE -> npu, compared with PyTorch; the folder opens again
steps() {
    # shellcheck disable=SC2086  # several words
    mixed "$1" 0 'verify    graph "torch_cnn"' $cnn --backends npu,cpu,host --backend_so "npu=$2" --backend_so "cpu=$3" \
        $middle --pin "relu_=$4" --verify 2 --explain_plan
    says "$1_three" out ' nodes in 3 steps, '
    says "$1_first" out '  step 0   npu '
    says "$1_middle" out "  step 1   $4 "
    says "$1_last" out '  step 2   npu '
    check "$1_pin" "$(grep relu_ "$tmp/out")" grep -qE "^  relu_ .* $4 +of .*pinned" "$tmp/out"
    set -- "$@" "--backend_so npu=$2"
    if [ "$4" = cpu ]; then set -- "$1" "$2" "$3" "$4" "$5" "$6 --backend_so cpu=$3"; fi
    rm -rf "$tmp/y"
    # shellcheck disable=SC2086
    run --ctx_dir "$out" $6 --input "x=$tmp/x.raw" --output_dir "$tmp/y"
    is "$1_runs" 0
    equal "$1_pytorch" "$tmp/y/torch_cnn/softmax.raw" "$tmp/y.raw" "$5"
    if [ "$2" = "$ref" ]; then system=$ref; else system=$release/libQnnSystem.so; fi
    run inspect "$out" --system_so "$system" --svg "$tmp/mixed.svg"
    is "$1_inspect" 0
    hashed "$1_sha256" "$(ls "$out"/*.bin | wc -l)" "$out/qnnrt.json"
    check "$1_svg" "not XML" python3 -c 'import sys, xml.dom.minidom
xml.dom.minidom.parse(sys.argv[1])' "$tmp/mixed.svg"
    check "$1_svg_steps" "no step in the picture" grep -q 'torch_cnn' "$tmp/mixed.svg"
}

# ---- libQnnRef.so in both roles ----
steps ref_cpu "$ref" "$ref" cpu 1e-5
steps ref_host "$ref" "$ref" host 1e-5
check host_json "no host.json" test -s "$out/host.json"
# shellcheck disable=SC2086
mixed one_role 0 'verify    graph "torch_cnn"' $cnn --backends npu,cpu,host --backend_so "npu=$ref" --backend_so "cpu=$ref" \
    --pin softmax=cpu --speed npu=1 --verify 1
says one_step out '12 nodes in 1 step,'
says one_step_costs out 'costs     a transfer 2 us and 0.001 us for a byte; work counts 4 times where a preferred backend can do it'
says one_step_npu out '  npu     1 operations and 10000 bytes in a us, 1 us for a node, 10 us for a step'
says one_step_host out '  host    4000 operations and 1200 bytes in a us, 1 us for a node, 10 us for a step'
says one_step_why out 'why       cpu computes 12 nodes (1 pinned to it, 11 by cost). The plan is estimated at '
# A node that is pinned elsewhere takes along the four after it, whose step on the NPU would cost more, and not all.
# shellcheck disable=SC2086
mixed one_pin 0 'verify    graph "torch_cnn"' $cnn --backends npu,cpu --backend_so "npu=$ref" --backend_so "cpu=$ref" \
    --pin relu_1=cpu --speed npu=1000000,40000,2,50 --verify 1
says one_pin_why out 'why       npu computes 7 nodes (7 by cost), cpu computes 5 nodes (1 pinned to it, 4 by cost). '
# shellcheck disable=SC2086
mixed speed_twice 2 '--speed takes a role and one to four positive numbers, not "npu=1,,2"' $cnn --backends npu,host \
    --backend_so "npu=$ref" --speed npu=1,,2
# shellcheck disable=SC2086
mixed speed_five 2 '--speed takes a role and one to four positive numbers, not "npu=1,2,3,4,5"' $cnn --backends npu,host \
    --backend_so "npu=$ref" --speed npu=1,2,3,4,5

# ---- a library that fails in finalize: a search finds the node ----
# The whole context and the whole graph alone fail, 6 of 12 nodes compile, 9 and 7 fail: it is the seventh, add.
QNNREF_FAULTS='fail=graphFinalize:1:0x3ea; fail=graphFinalize:2:0x3ea; fail=graphFinalize:4:0x3ea; fail=graphFinalize:5:0x3ea'
export QNNREF_FAULTS
# shellcheck disable=SC2086
mixed searched 0 'moved     graph "torch_cnn": node "add" (add.Tensor) moves away from "npu": ' $cnn --backends npu,host \
    --backend_so "npu=$ref" --pin conv2d_2=npu --pin relu_1=npu --verify 2
says searched_host out '  step 1   host   1 nodes, "add" to "add"'
QNNREF_FAULTS='fail=graphFinalize:0x3ea'
# shellcheck disable=SC2086
mixed never 0 'moved     graph "torch_cnn": node ' $cnn --backends npu,host --backend_so "npu=$ref"
unset QNNREF_FAULTS

# ---- caches ----
refs="--backends npu,host --backend_so npu=$ref"
# shellcheck disable=SC2086
mixed state_error 1 'state "past_kv_flat_0": no backend supports all 2 nodes that touch it' $decode $refs \
    --pin index_copy=host --state_policy error
hinted state_error_hint '--state_policy host'
says state_error_node err '"index_copy" (index_copy.default) is pinned to host'
# shellcheck disable=SC2086
mixed state_host 0 'verify    graph "tiny_decode"' $decode $refs --pin index_copy=host --state_policy host --verify 2
says state_owner out '  state    host: past_kv_flat_0: '
says state_others out '  state    npu: past_kv_flat_1: '

# ---- quantized weights: one backend has them, the host does not ----
refs="--backends npu,cpu,host --backend_so npu=$ref --backend_so cpu=$ref"
# shellcheck disable=SC2086
mixed weight_only 0 'quantized 1 of 1 weights on npu: 1,024 bytes became 640, SNR 4' $llama $refs --fp16 --pin linear=host --pin linear_1=npu \
    --weight_bits 8 --verify 2 --report "$tmp/report"
says weight_only_host out 'note      1 weight of host steps on host stays in floating point: the host computes with floats'
check weight_only_report "$(cat "$tmp/report")" grep -qE '^ +1024 +1024 +- +- +- q.weight \[16,16\] of host steps: the host computes' "$tmp/report"
check weight_only_steps "$(cat "$tmp/report")" grep -qE '^  linear_1 .*linear.default .*step . +npu .*pinned to npu' "$tmp/report"
# ---- --report: what each node became, and on which backend ----
# shellcheck disable=SC2086
mixed report 0 "wrote     $tmp/report" $cnn $refs $middle --pin relu_=host --report "$tmp/report"
for line in 'graph "torch_cnn" from ' '  step 0 on npu' '  step 2 on npu' '  output      batch_norm_1 float32 [1,32,4,4] as batch_norm_1 float32' \
    '    conv2d = conv2d.default: fused into batch_norm' '    relu = relu.default: npu: relu.Relu.' 'was relu_.default; host' \
    '    linear = linear.default: npu: linear.FullyConnected.' '        1 FullyConnected' '            5120 p_fc_weight.'; do
    check report_nodes "no '$line' in: $(cat "$tmp/report")" grep -qF -- "$line" "$tmp/report"
done
rm -f "$tmp/report"
# shellcheck disable=SC2086
mixed weight_only_none 1 'no weight can have 8 bits: on "npu" "q.weight" of FullyConnected stays in floating point: libraries take quantized' \
    $llama $refs --weight_bits 8
# shellcheck disable=SC2086
mixed weight_only_emulated 0 'have rounded values, but their size as before' $llama $refs --weight_bits 8 --weight_emulate --verify 1
# shellcheck disable=SC2086
mixed weight_only_pattern 1 '--keep_weight q.wei is the name of no weight' $llama $refs --fp16 --weight_bits 8 --keep_weight q.wei
hinted weight_only_pattern_hint 'Use --keep_weight q.weight.'

# ---- quantized activations: libraries have them, the host computes with floats ----
echo "$tmp/x.raw" >"$tmp/x.list"
# shellcheck disable=SC2086
mixed quantized 0 'calibrated graph "torch_cnn.2": 1 samples' $cnn $refs $middle --pin relu_=host --calibrate "$tmp/x.list" --verify 2
says codes_tolerance out 'tolerance 0.02'
rm -rf "$tmp/y"
run --ctx_dir "$out" --backend_so "npu=$ref" --input "x=$tmp/x.raw" --output_dir "$tmp/y"
is codes_runs 0
equal codes_pytorch "$tmp/y/torch_cnn/softmax.raw" "$tmp/y.raw" 5e-3
check codes_round "the result is as exact as in floats" python3 -c 'import array, sys
a, b = (array.array("f", open(path, "rb").read()) for path in sys.argv[1:3])
sys.exit(max(abs(x - y) for x, y in zip(a, b)) < 1e-6)' "$tmp/y/torch_cnn/softmax.raw" "$tmp/y.raw"
# A scale for the input of the first step and for the border that the second step reads in floats; samples give the others.
echo '{"activation_encodings": {"x": [{"bitwidth": 16, "scale": 0.0005, "offset": -32768}], "relu_": [{"bitwidth": 8,
    "scale": 0.02, "offset": 0}]}, "param_encodings": {}}' >"$tmp/some.json"
# shellcheck disable=SC2086
mixed encodings 0 'encodings of 2 tensors' $cnn $refs $middle --pin relu_=host --calibrate "$tmp/x.list" --encodings "$tmp/some.json" --verify 1
# shellcheck disable=SC2086
mixed encodings_alone 1 'tensor "batch_norm" has no range and no encoding' $cnn $refs $middle --pin relu_=host --encodings "$tmp/some.json"
sed 's/"relu_"/"relu_9"/' "$tmp/some.json" >"$tmp/none.json"
# shellcheck disable=SC2086
mixed encodings_none 1 'an encoding is of the tensor "relu_9", which no graph has' $cnn $refs --encodings "$tmp/none.json"
# shellcheck disable=SC2086
mixed codes_so 0 'calibrated graph "torch_cnn.2": 1 samples' $cnn $refs $middle --pin relu_=host --calibrate "$tmp/x.list" --calibrate_so "$ref" \
    --write_encodings "$tmp/made.json" --verify 1
cp -r "$out" "$tmp/made"
check codes_written "$(cat "$tmp/made.json")" python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
names = [e["name"] for e in d["activation_encodings"]]
sys.exit(not {"x", "relu", "conv2d_2", "softmax"} <= set(names) or len(names) != len(set(names)) or
         "fc.weight" not in [e["name"] for e in d["param_encodings"]])' "$tmp/made.json"
# What was written gives the same binaries, without samples.
# shellcheck disable=SC2086
mixed codes_again 0 'encodings of ' $cnn $refs $middle --pin relu_=host --encodings "$tmp/made.json"
check codes_same "$(diff -r "$out" "$tmp/made")" diff -r "$out" "$tmp/made"
# shellcheck disable=SC2086
mixed codes_so_none 1 'libQnnNone.so' $cnn $refs --calibrate "$tmp/x.list" --calibrate_so "$tmp/libQnnNone.so"
# shellcheck disable=SC2086
mixed codes_list 1 'binary data' $cnn $refs --calibrate "$tmp/x.raw"

# ---- shards, nodes and pictures ----
# shellcheck disable=SC2086
mixed shards 0 'verify    graph "torch_cnn", 2 runs' $cnn $refs $middle --pin relu_=cpu --shards 4 --verify 2 --verify_nodes all \
    --svg "$tmp/plan.svg" --dot "$tmp/plan.dot"
says shards_nodes out 'verify    nodes of graph "torch_cnn" with what the host computes, tolerance 0.0001'
for node in batch_norm relu_ conv2d_2 softmax; do says "shards_$node" out "  equal   $node "; done
says shards_differ out ' nodes compared, 0 differ, 0 have NaN'
check shards_files "$(ls "$out")" test "$(ls "$out"/torch_cnn_npu_*.bin | wc -l)" -gt 2
hashed shards_sha256 "$(ls "$out"/*.bin | wc -l)" "$out/qnnrt.json"
rm -rf "$tmp/y"
# shellcheck disable=SC2086
run --ctx_dir "$out" --backend_so "npu=$ref" --backend_so "cpu=$ref" --input "x=$tmp/x.raw" --output_dir "$tmp/y"
is shards_runs 0
equal shards_pytorch "$tmp/y/torch_cnn/softmax.raw" "$tmp/y.raw" 1e-5
for file in plan.svg plan.before.svg; do
    check "picture_$file" "not XML" python3 -c 'import sys, xml.dom.minidom
xml.dom.minidom.parse(sys.argv[1])' "$tmp/$file"
done
check picture_roles "$(cat "$tmp/plan.dot")" sh -c 'grep -q "npu: Transpose" "$1" && grep -q "cpu: .*Relu" "$1"' - "$tmp/plan.dot"
# A cache has no plan: what shows it compiles again.
for hit in first second; do
    # shellcheck disable=SC2086
    mixed "plan_$hit" 0 "cache     not read: --dot needs the plan" $cnn $refs --cache "$tmp/cache" --dot "$tmp/plan.dot"
done

# ---- the genuine libraries ----
if [ -f "$htp" ] && [ -f "$cpu" ]; then
    # shellcheck disable=SC2086
    mixed genuine_options 0 'verify    graph "torch_cnn"' $cnn --backends npu,cpu,host --backend_so "npu=$htp" --backend_so "cpu=$cpu" \
        $middle --pin relu_=cpu --shards 2 --calibrate "$tmp/x.list" --calibrate_so "$ref" --write_encodings "$tmp/made.json" --verify 1 \
        --verify_nodes first --svg "$tmp/plan.svg"
    says genuine_nodes out ' nodes compared, 0 differ, 0 have NaN'
    says genuine_encodings out "wrote     $tmp/made.json: encodings of "
    says genuine_picture out "wrote     $tmp/plan.svg"
    steps htp_cpu "$htp" "$cpu" cpu 1e-2
    steps htp_host "$htp" "$cpu" host 1e-2
    both_so="--backend_so npu=$htp --backend_so cpu=$cpu"
    both="--backends npu,cpu,host $both_so"
    # shellcheck disable=SC2086
    mixed soc_85 0 'verify    graph "torch_cnn", 2 runs, tolerance 0.0001' $cnn $both --soc_model 85 --verify 2
    says soc_85_cpu out '  step 0   cpu    12 nodes'
    run --ctx_dir "$out" --backend_so "cpu=$cpu" --input "x=$tmp/x.raw" --output_dir "$tmp/y85"
    is soc_85_runs 0
    equal soc_85_pytorch "$tmp/y85/torch_cnn/softmax.raw" "$tmp/y.raw" 1e-5
    # shellcheck disable=SC2086
    mixed not_asked 0 '(conv2d.default) moves away from "npu": ' $cnn $both --soc_model 85 --no_ask --verify 2
    says not_asked_why out "The SocModel doesn't support FP16"
    for role in cpu host; do
        # shellcheck disable=SC2086
        mixed llama_$role 0 'verify    graph "torch_llama"' $llama $both --pin linear=npu --pin softmax=$role --pin linear_1=npu --verify 2
        says llama_${role}_step out "  step 1   $role "
        roles="--backend_so npu=$htp"
        if [ $role = cpu ]; then roles="$roles --backend_so cpu=$cpu"; fi
        # shellcheck disable=SC2086
        run --ctx_dir "$out" $roles --input "ids=$tmp/ids.raw" --input "mask=$tmp/mask.raw" --input "pos=$tmp/pos.raw" \
            --output_dir "$tmp/llama_$role"
        is llama_${role}_runs 0
        equal llama_${role}_pytorch "$tmp/llama_$role/torch_llama/linear_1.raw" "$tmp/logits.raw" 1e-2
    done
    # shellcheck disable=SC2086
    mixed htp_codes 0 'calibrated graph "torch_cnn.0": 1 samples' $cnn $both $middle --pin relu_=cpu --calibrate "$tmp/x.list" --verify 2
    says htp_codes_cpu out '  step 1   cpu '
    # shellcheck disable=SC2086
    mixed cpu_quantized 1 'none of the --backends computes with quantized activations' $cnn --backends cpu,host --backend_so "cpu=$cpu" \
        --calibrate "$tmp/x.list"
    # shellcheck disable=SC2086
    mixed htp_weight_only 0 'quantized 1 of 1 weights on npu: 1,024 bytes became 640, SNR 4' $llama $both --pin linear=cpu --pin linear_1=npu \
        --weight_bits 8 --verify 2
    says htp_weight_only_cpu out 'on cpu stays in floating point: libraries take quantized weights beside float16, not beside float32'
    # shellcheck disable=SC2086
    run --ctx_dir "$out" $both_so --input "ids=$tmp/ids.raw" --input "mask=$tmp/mask.raw" --input "pos=$tmp/pos.raw" \
        --output_dir "$tmp/llama_small"
    is htp_weight_only_runs 0
    equal htp_weight_only_pytorch "$tmp/llama_small/torch_llama/linear_1.raw" "$tmp/logits.raw" 2e-2
    # shellcheck disable=SC2086
    mixed decode_host 0 'verify    graph "tiny_decode"' $decode $both --pin softmax=host --verify 2
    # shellcheck disable=SC2086
    mixed decode_state 0 'verify    graph "tiny_decode"' $decode $both --pin index_copy=host --state_policy host --verify 2
elif [ ! -f "$release/libQnnSystem.so" ]; then
    skip genuine "$htp or $cpu is missing"
fi

# ---- bad input ----
refs="--backends npu,cpu,host --backend_so npu=$ref --backend_so cpu=$ref"
# wrong NAME STATUS TEXT ARGUMENT ...: torch_cnn on libQnnRef.so in two roles
wrong() {
    name=$1 wanted=$2 text=$3
    shift 3
    # shellcheck disable=SC2086
    mixed "$name" "$wanted" "$text" $cnn $refs "$@"
}
wrong pin_of_none 1 'no graph has a node "nowhere", which is pinned to "cpu"' --pin nowhere=cpu
hinted pin_of_none_hint '--explain_plan without --pin lists them'
wrong pin_misspelt 1 'no graph has a node "max_pol2d"' --pin max_pol2d=cpu
hinted pin_misspelt_hint 'Name the node max_pool2d.'
wrong pin_no_role 2 '--pin relu=gpu: no backend has this role' --pin relu=gpu
wrong pin_alone 2 '--pin takes NODE=ROLE, not "relu"' --pin relu
wrong pin_twice 1 'node "relu" is pinned to "cpu" and to "npu"' --pin relu=cpu --pin relu=npu
wrong pin_fused 0 'pinned to cpu' --pin conv2d=cpu --pin relu=npu --explain_plan
says pin_resolved out '  step 0   cpu    1 nodes, "batch_norm" to "batch_norm"'
wrong speed_words 2 '--speed takes a role and one to four positive numbers, not "npu=fast"' --speed npu=fast
wrong speed_zero 2 'not "npu=0"' --speed npu=0
wrong speed_nan 2 'not "npu=nan"' --speed npu=nan
wrong speed_role 2 '--speed gpu=: no backend has this role' --speed gpu=1
wrong shards_none 2 '--shards takes' --shards 0
printf 'PK\003\004' >"$tmp/a.dlc"
# shellcheck disable=SC2086
mixed with_dlc 2 '--backends is for .json graphs and folders of language models, and' "$tmp/a.dlc" $refs
# shellcheck disable=SC2086
mixed role_twice 2 '--backends has the role "npu" twice' $cnn --backends npu,npu --backend_so "npu=$ref"
# shellcheck disable=SC2086
mixed no_library 2 'the role "cpu", which has no library' $cnn --backends npu,cpu --backend_so "npu=$ref"
# shellcheck disable=SC2086
mixed host_alone 2 '--backend_so names a library, and --backends the host alone' $cnn --backends host --backend_so "$ref"
# shellcheck disable=SC2086
mixed host_first 2 '--backends has a role after host' $cnn --backends npu,host,cpu --backend_so "npu=$ref" --backend_so "cpu=$ref"
# shellcheck disable=SC2086
mixed role_too_many 2 '--backend_so names a library for "cpu", which is not one of the --backends' $cnn --backends npu \
    --backend_so "npu=$ref" --backend_so "cpu=$ref"
# shellcheck disable=SC2086
mixed pins_alone 2 '--pin needs --backends' $cnn --backend_so "$ref" --pin relu=cpu
sed 's/aten.relu.default/aten.frobnicate.default/' "$ir/torch_cnn.json" >"$tmp/unknown.json"
# shellcheck disable=SC2086
mixed unknown_op 1 'frobnicate' "$tmp/unknown.json" --weights "$tmp/cnn.safetensors" $refs
if [ "$(id -u)" -ne 0 ]; then
    mkdir "$tmp/shut" && chmod a-w "$tmp/shut"
    # shellcheck disable=SC2086
    run compile $cnn $refs --output_dir "$tmp/shut"
    is shut 1
    check shut_empty "$(ls "$tmp/shut")" test -z "$(ls "$tmp/shut")"
fi
# A disk without room: all files of the folder are removed again.
(
    trap '' XFSZ
    ulimit -f 8
    # shellcheck disable=SC2086
    "$tool" compile $cnn $refs $middle --pin relu_=cpu --output_dir "$out/a" >"$tmp/out" 2>"$tmp/err"
    echo $? >"$tmp/status"
) 2>/dev/null
status=$(cat "$tmp/status")
is no_room 1
check no_room_left "$(ls -R "$out" 2>/dev/null)" test ! -e "$out/a"

# ---- a signal in the library's finalize: nothing is left ----
rm -rf "$out"
# shellcheck disable=SC2086
QNNREF_FAULTS='delay=graphFinalize:60000ms' "$tool" compile $cnn $refs --output_dir "$out" --progress >"$tmp/out" 2>"$tmp/err" &
child=$!
until grep -q 'the library compiles' "$tmp/err" || ! kill -0 $child 2>/dev/null; do sleep 0.05; done
kill -TERM $child
wait $child 2>/dev/null
status=$?
is signal 143
check signal_leaves "$(ls -R "$out" 2>/dev/null)" test ! -e "$out"

finish
