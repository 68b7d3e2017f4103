#!/bin/sh
# qnnrt-run compile with graphs in ATen IR: what it writes, and what it says about bad input.
#     sh tests/cli/test_compile_ir.sh [BUILD_DIR [RELEASE_DIR]]
suite=test_compile_ir
. "$(dirname "$0")/../harness/tool.sh"
ir=$data/ir
ref=$build/libQnnRef.so
out=$tmp/o

# ends NAME STATUS TEXT ARGUMENT ...: compile ends with STATUS, prints TEXT, and leaves no folder if it fails
ends() {
    name=$1 wanted=$2 text=$3
    shift 3
    run compile "$@"
    if [ $status -ne "$wanted" ]; then bad "$name" "status $status, not $wanted: $(cat "$tmp/out" "$tmp/err")"
    elif ! cat "$tmp/out" "$tmp/err" | grep -qF -- "$text"; then bad "$name" "no '$text' in: $(cat "$tmp/out" "$tmp/err")"
    elif [ "$wanted" -ne 0 ] && [ -e "$out" ]; then bad "$name" "left $(ls -R "$out")"
    else good; fi
}

# compile NAME STATUS TEXT GRAPH ...: the same for graphs on libQnnRef.so
compile() {
    name=$1 wanted=$2 text=$3
    shift 3
    ends "$name" "$wanted" "$text" "$@" --backend_so "$ref" --output_dir "$out"
}

if ! python3 "$tests/harness/make_weights.py" "$tmp/cnn.safetensors" "$ir/torch_cnn.npz"; then
    skip weights "python3 makes the weights"
    finish
    exit
fi
cnn="$ir/torch_cnn.json --weights $tmp/cnn.safetensors"

# ---- weights that are normalized: they are computed while compiling, and the layers remain ----
npz=$ir/torch_weight_norm.npz
python3 "$tests/harness/make_weights.py" "$tmp/norm.safetensors" "$npz"
arrays "$npz" in/0 "$tmp/x.raw" out/0 "$tmp/y.raw"
compile weight_norm 0 '9 nodes, 6 after the passes' "$ir/torch_weight_norm.json" --weights "$tmp/norm.safetensors" --verify 1
run --ctx_dir "$out" --backend_so "$ref" --input "x=$tmp/x.raw" --output_dir "$tmp/weight_norm"
is weight_norm_runs 0
equal weight_norm_is_that_of_torch "$tmp/weight_norm/torch_weight_norm/linear.raw" "$tmp/y.raw" 1e-5
python3 -c 'import json, struct, sys
data = open(sys.argv[1], "rb").read()
size, = struct.unpack("<Q", data[:8])
head = json.loads(data[8:8 + size])
for weight in head.values(): weight["dtype"], weight["data_offsets"] = "F16", [n // 2 for n in weight["data_offsets"]]
text = json.dumps(head).encode()
values = struct.unpack("<%df" % ((len(data) - 8 - size) // 4), data[8 + size:])
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + struct.pack("<%de" % len(values), *values))' \
    "$tmp/norm.safetensors" "$tmp/half.safetensors"
compile weight_norm_of_half 0 '9 nodes, 6 after the passes' "$ir/torch_weight_norm.json" --weights "$tmp/half.safetensors" --verify 1
run --ctx_dir "$out" --backend_so "$ref" --input "x=$tmp/x.raw" --output_dir "$tmp/half"
equal weight_norm_of_half_is_near "$tmp/half/torch_weight_norm/linear.raw" "$tmp/y.raw" 5e-3
rm -rf "$out"

# ---- what it writes ----
# shellcheck disable=SC2086  # several words
compile makes 0 "wrote     $out/torch_cnn.bin" $cnn
says note out "no graph reads 2 of the 17 weights"
says graph out 'graph "torch_cnn", 1 input, 1 output'
check metadata "no metadata" grep -q '"graphName": "torch_cnn"' "$out/torch_cnn_json.json"
check nothing_else "$(ls "$out")" test "$(ls "$out" | wc -l)" -eq 3
run --ctx_dir "$out" --backend_so "$ref"
is runs 0
rm -rf "$out"
# What PyTorch computed lies in the .npz file.
python3 -c 'import sys, zipfile
for name, path in ("in/0.npy", sys.argv[2]), ("out/0.npy", sys.argv[3]):
    data = zipfile.ZipFile(sys.argv[1]).read(name)
    open(path, "wb").write(data[10 + data[8] + 256 * data[9]:])' "$ir/torch_cnn.npz" "$tmp/x.raw" "$tmp/y.raw"
# shellcheck disable=SC2086
compile again 0 'lowered   graph "torch_cnn": 14 nodes, ' $cnn
run --ctx_dir "$out" --backend_so "$ref" --input "x=$tmp/x.raw" --output_dir "$tmp/y"
check pytorch "not what PyTorch computed" python3 -c 'import array, sys
a, b = (array.array("f", open(path, "rb").read()) for path in sys.argv[1:])
sys.exit(len(a) != 10 or len(b) != 10 or max(abs(x - y) for x, y in zip(a, b)) > 1e-6)' "$tmp/y.raw" "$tmp/y/torch_cnn/softmax.raw"
rm -rf "$out"
# shellcheck disable=SC2086
compile names 0 'graph "a", 1 input' $cnn "$ir/torch_cnn.json" --graph_name a,b --binary_file both.json
says both out 'graph "b", 1 input'
check binary_file "$(ls "$out")" test -s "$out/both.bin"
rm -rf "$out"

# shellcheck disable=SC2086
compile contexts 0 "wrote     $out/torch_cnn_2_of_3.bin" $cnn --shards 3 --verify 2 --verify_nodes all
says differences out "softmax                  largest value "
says nodes out "nodes compared, 0 differ"
says node out "equal   conv2d_2 "
check three "$(ls "$out")" test "$(ls "$out" | wc -l)" -eq 7
# ---- quantized weights ----
rm -rf "$out"
# shellcheck disable=SC2086
compile weight_only 0 "quantized 4 of 4 weights: 13,216 bytes became 6,968, SNR 4" $cnn --fp16 --weight_bits 8 --verify 2 --report "$tmp/small"
says weight_only_verify out "tolerance 0.02 with rounded weights on the host"
says weight_only_snr out "and from the weights as they were:"
check weight_only_end "$(cat "$tmp/small")" sh -c '[ "$(grep -c "^  softmax .* relative .*, SNR [0-9.]* dB, top-1 equal in 2 of 2$" "$1")" -eq 2 ]' - "$tmp/small"
check weight_only_report "$(cat "$tmp/small")" grep -q '^ *2560 *1320 *8 .* fc.weight .10,128. of FullyConnected$' "$tmp/small"
rm -rf "$out"
# shellcheck disable=SC2086
compile weight_only_kept 0 "quantized 3 of 4 weights: 10,656 bytes became 2,984" $cnn --fp16 --weight_bits 4 --weight_block 16 --keep_weight 'f*.weight'
says weight_only_stays out "note      1 weight of FullyConnected stays in floating point: it is kept"
rm -rf "$out"
# shellcheck disable=SC2086
compile weight_only_blocks 0 "1 weight of DepthWiseConv2d has one scale per channel" $cnn --fp16 --weight_bits 4 --weight_block 16 --verify 1
rm -rf "$out"
# shellcheck disable=SC2086
compile weight_only_float32 1 "no weight can have 8 bits: libraries take quantized weights beside float16" $cnn --weight_bits 8
# shellcheck disable=SC2086
compile weight_only_emulated 0 "weights of Conv2d have rounded values, but their size as before" $cnn --weight_bits 8 --weight_emulate --verify 1
says emulated_verify out "tolerance 0.0001 with rounded weights on the host"
rm -rf "$out"
# shellcheck disable=SC2086
compile weight_only_pattern 1 "--keep_weight conv9* is the name of no weight" $cnn --fp16 --weight_bits 8 --keep_weight 'conv9*'
# shellcheck disable=SC2086
compile weight_only_five 2 "--weight_bits is 5" $cnn --weight_bits 5
# shellcheck disable=SC2086
compile weight_only_block_8 2 "--weight_block needs weights of 4 bits" $cnn --weight_bits 8 --weight_block 16
# shellcheck disable=SC2086
compile weight_only_keep_alone 2 "--keep_weight needs quantized weights" $cnn --keep_weight fc.weight

# shellcheck disable=SC2086
run compile $cnn --backend_so "$ref" --output_dir "$out" --verify 1 --verify_tolerance 1e-12 --verify_nodes first
is differs 1
says tolerance err 'output "softmax" differs by'
hinted nodes_hint "--verify_nodes first"
says first out "  differs "
rm -rf "$out"

# ---- the program, and the ids that it accepts ----
python3 "$tests/harness/make_weights.py" "$tmp/llm.safetensors" "$ir/tiny_prefill.json" "$ir/tiny_decode.json"
llm="$ir/tiny_prefill.json $ir/tiny_decode.json --graph_name prefill,decode --weights $tmp/llm.safetensors --rope_base 1000000 --rope_plain"
# shellcheck disable=SC2086
compile no_body 1 "the file does not have what this block under torch.no_grad() computes; blocks of this kind: 1" ${llm% --rope_plain}
says no_body_hint err "Export the model with qnnrt.export(), which writes what such blocks compute."
for contexts in 1 2; do
    # shellcheck disable=SC2086
    compile program_$contexts 0 "wrote     $out/qnnrt.json" $llm --shards $contexts
    check program_${contexts}_ids "$(cat "$out/qnnrt.json")" \
        test "$(grep -c '{"step": 0, "input": "input_ids", "low": 0, "high": 127}' "$out/qnnrt.json")" -eq 2
    check program_${contexts}_places "$(cat "$out/qnnrt.json")" \
        test "$(grep -c '"input": "cache_position", "low": 0, "high": 31}' "$out/qnnrt.json")" -eq 1
    run inspect "$out" --system_so "$ref"
    says program_${contexts}_inspect out '"cache_position" takes values from 0 to 31'
    run inspect "$out" --system_so "$ref" --manifest
    cp "$tmp/out" "$tmp/written.json"
    check program_${contexts}_manifest "$(cat "$tmp/written.json")" test "$(grep -c '"low": 0, "high"' "$tmp/written.json")" -eq 5
    cp "$tmp/written.json" "$out/qnnrt.json"
    run inspect "$out" --system_so "$ref" --manifest
    check program_${contexts}_again "$(diff "$tmp/written.json" "$tmp/out")" cmp -s "$tmp/written.json" "$tmp/out"
    # -1, 0, 127, 128 and 2^31 - 1 as int32, and 127 and 128 as float32
    printf '\377\377\377\377' >"$tmp/-1" && printf '\0\0\0\0' >"$tmp/0" && printf '\177\0\0\0' >"$tmp/127"
    printf '\200\0\0\0' >"$tmp/128" && printf '\377\377\377\177' >"$tmp/2147483647"
    for id in 0 127; do
        run --ctx_dir "$out" --backend_so "$ref" --graph decode --input "input_ids=$tmp/$id"
        is program_${contexts}_$id 0
    done
    for id in -1 128 2147483647; do
        run --ctx_dir "$out" --backend_so "$ref" --graph decode --input "input_ids=$tmp/$id"
        is program_${contexts}_$id 1
        says program_${contexts}_why_$id err "$tmp/$id: pipeline \"decode\": input \"input_ids\" element 0 is $id; expected 0 to 127"
    done
    printf '\0\0\376\102' >"$tmp/f127" && printf '\0\0\0\103' >"$tmp/f128"
    run --ctx_dir "$out" --backend_so "$ref" --graph decode --input_data_type float --input "input_ids=$tmp/f127"
    is program_${contexts}_float 0
    run --ctx_dir "$out" --backend_so "$ref" --graph decode --input_data_type float --input "input_ids=$tmp/f128"
    is program_${contexts}_float_128 1
    says program_${contexts}_float_why err 'element 0 is 128; expected 0 to 127'
    run --ctx_dir "$out" --backend_so "$ref" --graph decode --json
    check program_${contexts}_json "$(cat "$tmp/out")" grep -q '"range": \[0, 31\]' "$tmp/out"
done
# It is written anew, but not over what is more than a program.
# shellcheck disable=SC2086
compile program_anew 0 "wrote     $out/qnnrt.json" $cnn
check program_of_cnn "$(cat "$out/qnnrt.json")" grep -q '"name": "torch_cnn"' "$out/qnnrt.json"
hashed program_sha256 1 "$out/qnnrt.json"
for text in '{"program": {}, "llm": {"window": 4}}' '{"program": ' '[]'; do
    echo "$text" >"$out/qnnrt.json"
    # shellcheck disable=SC2086
    run compile $cnn --backend_so "$ref" --output_dir "$out"
    is program_of_others 1
    says program_of_others_why err "$out/qnnrt.json"
    check program_of_others_stays "$(cat "$out/qnnrt.json")" test "$(cat "$out/qnnrt.json")" = "$text"
done
rm -rf "$out"

# ---- the report ----
cat >"$tmp/small.json" <<'END'
{"model_name": "small", "pytorch_version": "2.9", "weights": [{"name": "w", "shape": [4], "dtype": "float32"}],
 "weight_name_mapping": {"p_w": "w"},
 "graph_inputs": [{"name": "x", "shape": [2, 4], "dtype": "float32"}, {"name": "unread", "shape": [1], "dtype": "int64"}],
 "graph_outputs": [{"name": "relu", "shape": [2, 4], "dtype": "float32"}],
 "nodes": [
  {"name": "add", "op_type": "aten.add.Tensor", "attrs": {}, "inputs": [{"name": "x", "shape": [2, 4], "dtype": "float32"},
   {"name": "p_w", "shape": [4], "dtype": "float32"}], "outputs": [{"name": "add", "shape": [2, 4], "dtype": "float32"}]},
  {"name": "drop", "op_type": "aten.detach.default", "attrs": {}, "inputs": [{"name": "add", "shape": [2, 4], "dtype": "float32"}],
   "outputs": [{"name": "drop", "shape": [2, 4], "dtype": "float32"}]},
  {"name": "relu", "op_type": "aten.relu.default", "attrs": {}, "inputs": [{"name": "drop", "shape": [2, 4], "dtype": "float32"}],
   "outputs": [{"name": "relu", "shape": [2, 4], "dtype": "float32"}]}]}
END
python3 "$tests/harness/make_weights.py" "$tmp/small.safetensors" "$tmp/small.json"
compile report 0 'from '"$tmp/small.json" "$tmp/small.json" --weights "$tmp/small.safetensors" --report -
lacks only out "backend  "
says unread out "input       unread int64 [1]: nothing reads it, it is left out"
says used out "input       x float32 [2,4] as x float32 [2,4]"
says lowered out "add = add.Tensor: add.ElementWiseAdd.0"
says removed out "drop = detach.default: "
says static out "          16 p_w."
says file out "small.bin"
sed '/^times/,$d' "$tmp/out" >"$tmp/first"
compile report_again 0 "wrote     $tmp/report" "$tmp/small.json" --weights "$tmp/small.safetensors" --report "$tmp/report" --progress
sed '/^times/,$d' "$tmp/report" >"$tmp/second"
check stable "two reports differ" cmp "$tmp/first" "$tmp/second"
says progress err 'graph "small": the library compiles it'
says nodes_done err ' of 2 nodes, '
says unread_note out 'note      nothing reads input "unread" of graph "small": it is left out'
run compile "$tmp/small.json" --weights "$tmp/small.safetensors" --backend_so "$ref" --output_dir "$out" --report /dev/full
is report_full 1
says no_room err "cannot write /dev/full: No space left"
rm -rf "$out"

# ---- values that are no numbers ----
# A weight with NaN is refused where passes fold it, where it is read, and where it becomes small; so is an infinite one.
# One that is 0 or -infinity everywhere is a mask.
python3 -c 'import json, struct, sys
tmp = sys.argv[1]
def spoil(name, out, *values):
    data = bytearray(open(tmp + "/cnn.safetensors", "rb").read())
    size = struct.unpack("<Q", data[:8])[0]
    begin = 8 + size + json.loads(data[8:8 + size])[name]["data_offsets"][0]
    for at, value in values: struct.pack_into("<f", data, begin + 4 * at, float(value))
    open(tmp + "/" + out + ".safetensors", "wb").write(data)
spoil("fc.weight", "nan", (3, "nan"), (5, "inf"), (9, "-nan"))
spoil("fc.bias", "inf", (2, "-inf"))
spoil("b1.running_var", "folded", (1, "nan"))
t = lambda name, **k: dict({"name": name, "shape": [1, 4], "dtype": "float32"}, **k)
node = lambda name, op, *inputs, **attrs: {"name": name, "op_type": "aten." + op, "inputs": list(inputs), "outputs": [t(name)], "attrs": attrs}
of = lambda name: t(name, producer_node=name, producer_output_idx=0)
def graph(name, *nodes):
    json.dump({"graph_inputs": [t("x")], "graph_outputs": [t(nodes[-1]["name"])], "weights": [t("mask")], "weight_name_mapping": {"p_mask": "mask"},
               "nodes": nodes}, open(tmp + "/" + name + ".json", "w"))
graph("masked", node("add", "add.Tensor", of("x"), t("p_mask")), node("soft", "softmax.int", of("add"), dim=-1))
graph("log", node("add", "add.Tensor", of("x"), t("p_mask")), node("log", "log.default", of("add")), node("neg", "neg.default", of("log")))
for name, last in (("mask", "-inf"), ("half", "1"), ("plain", "0")):
    head = json.dumps({"mask": {"dtype": "F32", "shape": [1, 4], "data_offsets": [0, 16]}}).encode()
    open(tmp + "/" + name + ".safetensors", "wb").write(struct.pack("<Q", len(head)) + head + struct.pack("<4f", 0, float("-inf") if name != "plain" else 0, 0, float(last)))
' "$tmp"
python3 - "$tmp" <<'PY'
import json, sys
t = lambda name: {"name": name, "shape": [1, 4], "dtype": "float32"}
def graph(name, *nodes):
    nodes = [{"name": out, "op_type": "aten." + op, "inputs": [t(x)], "outputs": [t(out)], "attrs": attrs} for out, op, x, attrs in nodes]
    json.dump({"graph_inputs": [t("x")], "graph_outputs": [nodes[-1]["outputs"][0]], "weights": [], "weight_name_mapping": {}, "nodes": nodes},
              open("%s/%s.json" % (sys.argv[1], name), "w"))
big, pow, back = ("big", "mul.Tensor", "x", {"other": 1e5}), ("pow", "pow.Tensor_Scalar", "big", {"exponent": 2}), ("back", "mul.Tensor", "pow", {"other": 1e-10})
graph("inner", big, pow, back)
graph("outer", big)
graph("harmless", big, ("tanh", "tanh.default", "big", {}))
PY
# Values beyond float16: the first node is named, with a way out.
for name in inner outer harmless; do
    compile "float32_$name" 0 'wrote     ' "$tmp/$name.json" --verify 2
    lacks "float32_$name" out '  float16   '
done
rm -rf "$out"
run compile "$tmp/inner.json" --backend_so "$ref" --output_dir "$out" --fp16 --verify 2 --report "$tmp/beyond"
is overflow_inner 1
says overflow_inner_text err 'output "back" '
says overflow_inner_node out '  float16     2 nodes with values beyond 65504, its largest; "big" (mul.Tensor) has up to '
says overflow_inner_report beyond '"big" (mul.Tensor) has up to '
hinted overflow_inner_hint "--backends npu,cpu,host --pin big=cpu --pin pow=cpu --pin back=cpu, or scale"
run compile "$tmp/outer.json" --backend_so "$ref" --output_dir "$out" --fp16 --verify 2
is overflow_outer 1
says overflow_outer_text err 'values beyond 65504, the largest number of float16, in 2 runs'
compile overflow_harmless 0 '  float16     1 node with values beyond 65504' "$tmp/harmless.json" --fp16 --verify 2
compile overflow_mask 0 'wrote     ' "$tmp/masked.json" --weights "$tmp/mask.safetensors" --fp16 --verify 3
lacks overflow_mask out '  float16     '
rm -rf "$out"
what='values that are NaN and'
compile nan_weight 1 "weight \"fc.weight\" has 2 $what 1 that are infinite, of 1280; the first is number 3" "$ir/torch_cnn.json" --weights "$tmp/nan.safetensors"
compile nan_weight_only 1 'weight "fc.weight" has 3 values that are infinite or not a number' "$ir/torch_cnn.json" --weights "$tmp/nan.safetensors" --fp16 --weight_bits 8
compile infinite_weight 1 "weight \"fc.bias\" has 0 $what 1 that are infinite, of 10; the first is number 2" "$ir/torch_cnn.json" --weights "$tmp/inf.safetensors" --fp16
compile nan_folded 1 "weight \"b1.running_var\" has 1 $what 0" "$ir/torch_cnn.json" --weights "$tmp/folded.safetensors"
compile nan_host 1 "weight \"fc.weight\" has 2 $what 1" "$ir/torch_cnn.json" --weights "$tmp/nan.safetensors" --backends npu,host --backend_so "npu=$ref" --pin linear=host
compile mask 0 'wrote     ' "$tmp/masked.json" --weights "$tmp/mask.safetensors" --verify 3
compile mask_half 0 '2 values of constants are too large for float16' "$tmp/masked.json" --weights "$tmp/mask.safetensors" --fp16 --verify 3
rm -rf "$out"
compile mask_not 1 "weight \"mask\" has 0 $what 1 that are infinite" "$tmp/masked.json" --weights "$tmp/half.safetensors"
# NaN that a graph computes: the host and the backend agree, and it is an error all the same.
run compile "$tmp/log.json" --weights "$tmp/plain.safetensors" --backend_so "$ref" --output_dir "$out" --verify 5 --verify_nodes first
check nan_verify "status $status" test "$status" -eq 1
says nan_verify_counted err 'values of output "neg" are NaN on the host, in 5 runs'
says nan_verify_first out '  NaN      log  '
says nan_verify_nodes out '3 of 3 nodes compared, 0 differ, 2 have NaN'
rm -rf "$out"

# ---- pictures ----
# shellcheck disable=SC2086
compile pictures 0 "wrote     $tmp/cnn.svg" $cnn --svg "$tmp/cnn.svg" --dot "$tmp/cnn.dot"
rm -rf "$out"
check svg "not XML" python3 -c 'import sys, xml.dom.minidom
for path in sys.argv[1:]: xml.dom.minidom.parse(path)' "$tmp/cnn.svg" "$tmp/cnn.before.svg"
check svg_before "14 nodes and 2 ends in cnn.before.svg" test "$(grep -c '<g class="card">' "$tmp/cnn.before.svg")" -eq 16
check svg_edges "16 edges in cnn.before.svg" test "$(grep -c 'class="wire"' "$tmp/cnn.before.svg")" -eq 16
check svg_fused "no fused node" grep -q 'class="edge"' "$tmp/cnn.before.svg"
check svg_ops "no operator" grep -q '>Transpose Conv2d<' "$tmp/cnn.svg"
check dot "no node" grep -qF 'label="Transpose Conv2d\nbatch_norm"' "$tmp/cnn.dot"
check dot_before "no node" grep -qF 'label="conv2d\nconv2d"' "$tmp/cnn.before.dot"
# shellcheck disable=SC2086
compile one_document 2 "both write to standard output" $cnn --svg - --report -

# ---- the genuine libraries ----
# libQnnCpu.so 2.47 writes a context with DepthWiseConv2d, and crashes when it reads it.
if [ -f "$release/libQnnCpu.so" ]; then
    # shellcheck disable=SC2086
    ends cpu_depthwise 0 "wrote     $out/torch_cnn.bin" $cnn --backend_so "$release/libQnnCpu.so" --output_dir "$out"
    run --ctx_dir "$out" --backend_so "$release/libQnnCpu.so"
    is cpu_depthwise_runs 0
    rm -rf "$out"
elif [ ! -f "$release/libQnnSystem.so" ]; then
    skip cpu "$release/libQnnCpu.so is missing"
fi

# ---- wrong usage ----
printf 'PK\003\004' >"$tmp/a.dlc"
# shellcheck disable=SC2086
compile mixed 2 "not both at once" $cnn "$tmp/a.dlc"
compile dlc_weights 2 "--weights is for .json graphs" "$tmp/a.dlc" --weights "$tmp/cnn.safetensors"
hinted dlc_weights_hint "Leave it out."
compile other_graph 2 "a.txt is not one" "$tmp/a.txt" --weights "$tmp/cnn.safetensors"
hinted other_graph_hint "qnnrt.export()"
for tail in pt pth PT2 tflite; do
    compile "$tail" 2 "or a .gguf file, and $tmp/a.$tail is none of them" "$tmp/a.$tail" --weights "$tmp/cnn.safetensors"
    hinted "${tail}_hint" "qnnrt.export()"
done
compile weights_alone 2 "$tmp/cnn.safetensors has weights alone" "$tmp/cnn.safetensors"
hinted weights_alone_hint "Name a .json graph and --weights"
# shellcheck disable=SC2086
compile equal_names 2 "--graph_name N1,N2" $cnn "$ir/torch_cnn.json"
# shellcheck disable=SC2086
compile three_weights 2 "1 graph and 3 --weights" $cnn --weights a --weights b

# ---- bad graphs: everything that is wrong is listed, and nothing is written ----
small="--weights $tmp/small.safetensors"
# changed NAME SED: $tmp/NAME.json is small.json, changed by sed
changed() { sed "$2" "$tmp/small.json" >"$tmp/$1.json"; }
# wrong_graph NAME TEXT: compile $tmp/NAME.json
wrong_graph() {
    # shellcheck disable=SC2086
    compile "$1" 1 "$2" "$tmp/$1.json" $small
}
compile no_file 1 "no_such.json: No such file" "$tmp/no_such.json"
mkdir "$tmp/folder.json"
wrong_graph folder "folder.json: Is a directory"
printf '{"nodes": [' >"$tmp/half.json"
wrong_graph half "not JSON"
: >"$tmp/empty.json"
wrong_graph empty "not JSON"
echo '{"ir_version": 8, "graph": {}}' >"$tmp/schema.json"
wrong_graph schema 'not an exported graph: "nodes" is missing'
hinted schema_hint "qnnrt.export()"
cp "$data/llm/model/config.json" "$tmp/config.json"
wrong_graph config 'not an exported graph: "nodes" is missing'
hinted config_hint "Name the folder of the language model"
changed dynamic 's/"shape": \[2, 4\]/"shape": ["s0", 4]/'
wrong_graph dynamic 'graph input "x": a dimension is not a number'
says dynamic_node err 'node "relu" (relu.default)'
changed unknown 's/aten.add.Tensor/aten.frobnicate.default/; s/aten.relu.default/my.own/'
wrong_graph unknown '(frobnicate.default): the operator is unknown'
says unknown_too err '(my.own): the operator is unknown'
says unknown_count err 'unknown.json has 2 faults:'
hinted unknown_hint "Export the model with qnnrt.export(), which writes such operators in other ones."
changed shape '/"name": "p_w"/s/"add", "shape": \[2, 4\]/"add", "shape": [2, 5]/'
wrong_graph shape 'output "add" is [2, 5] float32, expected [2, 4] float32'
changed dtype '/"outputs": \[{"name": "relu"/s/float32/float16/'
wrong_graph dtype 'output "relu" is [2, 4] float16, expected [2, 4] float32'
changed cycle '/aten.add.Tensor/s/"name": "x"/"name": "relu"/'
wrong_graph cycle 'is on a cycle'
changed twice 's/"drop"/"add"/'
wrong_graph twice 'has a node of the same name'
changed two 's/"drop"/"relu"/; s/aten.add.Tensor/aten.frobnicate.default/'
# shellcheck disable=SC2086
compile all_graphs 1 "two.json has " "$tmp/unknown.json" "$tmp/two.json" $small
says all_of_them err "unknown.json has 2 faults:"

# ---- bad weights ----
compile no_weights 1 '"fc.weight" [10,128] is missing' "$ir/torch_cnn.json"
hinted no_weights_hint "Name the checkpoint with --weights PATH."
says no_weights_too err '"c1.weight" [16,3,3,3] is missing'
# shellcheck disable=SC2086
compile other_weights 1 "torch_cnn.json: 15 weights are missing" "$ir/torch_cnn.json" $small
changed weight_shape 's/\[4\]/[1, 4]/'
wrong_graph weight_shape '"w" [1,4] is [4] in '
changed frequencies 's/"w"/"rotary.inv_freq"/'
wrong_graph frequencies '"rotary.inv_freq" [4] is missing'
hinted frequencies_hint "Export the model with qnnrt.export(), which stores every buffer; or, if config.json has no rope_scaling, add --rope_base X"
compile frequencies_made 0 "wrote" "$tmp/frequencies.json" --rope_base 10000
rm -rf "$out"
# bad_weights NAME TEXT: small.json with $tmp/NAME
bad_weights() { compile "$1" 1 "$2" "$tmp/small.json" --weights "$tmp/$1"; }
bad_weights none "none: No such file"
head -c 70 "$tmp/small.safetensors" >"$tmp/cut.safetensors"
bad_weights cut.safetensors "cut short"
printf '\377\377\377\377\377\377\377\177{}' >"$tmp/long.safetensors"
bad_weights long.safetensors "its header needs 9223372036854775807 bytes"
printf 'X\0\0\0\0\0\0\0%-88s' '{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}' >"$tmp/overlap"
sed 's/^X/h/' "$tmp/overlap" >"$tmp/overlap.safetensors"
printf '1234' >>"$tmp/overlap.safetensors"
bad_weights overlap.safetensors "overlap"
printf 'PK\003\004 a zip' >"$tmp/model.pt"
bad_weights model.pt "found a zip archive"
hinted zip_hint "safetensors"
printf '\200\002}q\000.' >"$tmp/pytorch_model.bin"
bad_weights pytorch_model.bin "found a PyTorch pickle"
hinted pickle_hint "save_file"

# ---- where it cannot write ----
# shellcheck disable=SC2086
ends file_as_folder 1 "cannot make the folder $tmp/a.dlc: Not a directory" $cnn --backend_so "$ref" --output_dir "$tmp/a.dlc"
# shellcheck disable=SC2086
ends no_folder 1 "cannot make the folder /proc/self/none" $cnn --backend_so "$ref" --output_dir /proc/self/none
if [ "$(id -u)" -ne 0 ]; then
    mkdir "$tmp/shut" && chmod a-w "$tmp/shut"
    # shellcheck disable=SC2086
    ends shut 1 "cannot write into the folder $tmp/shut: Permission denied" $cnn --backend_so "$ref" --output_dir "$tmp/shut"
fi
# A disk without room, as the tool sees it: a write fails after 4 KB.
(
    trap '' XFSZ
    ulimit -f 8
    # shellcheck disable=SC2086
    "$tool" compile $cnn --backend_so "$ref" --output_dir "$out/a/b" >"$tmp/out" 2>"$tmp/err"
    echo $? >"$tmp/status"
) 2>/dev/null
status=$(cat "$tmp/status")
is no_room 1
says no_room_why err "File too large"
check no_room_left "$(ls -R "$out" 2>/dev/null)" test ! -e "$out"
mkdir "$out" && echo old >"$out/torch_cnn.bin"
(
    trap '' XFSZ
    ulimit -f 8
    # shellcheck disable=SC2086
    "$tool" compile $cnn --backend_so "$ref" --output_dir "$out" >"$tmp/out" 2>"$tmp/err"
)
check old_file_stays "$(cat "$out/torch_cnn.bin")" grep -q '^old$' "$out/torch_cnn.bin"
check only_the_old_file "$(ls "$out")" test "$(ls "$out" | wc -l)" -eq 1
rm -rf "$out"

mkdir -p "$out/torch_cnn_3_of_3.bin"
# shellcheck disable=SC2086
run compile $cnn --shards 3 --backend_so "$ref" --output_dir "$out"
is third_file 1
says third_file_why err "torch_cnn_3_of_3.bin"
check none_of_three "$(ls "$out")" test "$(ls "$out")" = torch_cnn_3_of_3.bin
rm -rf "$out"

# ---- a signal while it reads: nothing is left ----
mkfifo "$tmp/slow.json"
exec 9<>"$tmp/slow.json"
# shellcheck disable=SC2086
"$tool" compile "$tmp/slow.json" $small --backend_so "$ref" --output_dir "$out" >"$tmp/out" 2>"$tmp/err" 9>&- &
reader=$!
until ls -l "/proc/$reader/fd" 2>/dev/null | grep -q 'slow.json$' || ! kill -0 $reader 2>/dev/null; do :; done
kill -TERM $reader
wait $reader 2>/dev/null
status=$?
exec 9>&-
is signal 143
check signal_leaves "$(ls -R "$out" 2>/dev/null)" test ! -e "$out"

# ---- a node that the library refuses ----
if [ -f "$release/libQnnHtp.so" ]; then
    changed rank 's/\[2, 4\]/[1, 1, 1, 1, 1, 2, 4]/g'
    # shellcheck disable=SC2086
    ends refused 1 'the library refuses operators of' "$tmp/rank.json" $small --backend_so "$release/libQnnHtp.so" --output_dir "$out"
    says refused_node err '"relu"'
else
    skip refused "no libQnnHtp.so in $release: make qnn-libs"
fi

finish
