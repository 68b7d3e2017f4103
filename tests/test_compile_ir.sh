#!/bin/sh
# qnnrt-run compile with graphs in ATen IR: what it writes, and what it says about bad input.
#     sh tests/test_compile_ir.sh [BUILD_DIR [RELEASE_DIR]]
suite=test_compile_ir
. "$(dirname "$0")/tool.sh"
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

if ! python3 "$tests/make_weights.py" "$tmp/cnn.safetensors" "$ir/torch_cnn.npz"; then
    skip weights "python3 makes the weights"
    finish
    exit
fi
cnn="$ir/torch_cnn.json --weights $tmp/cnn.safetensors"

# ---- what it writes ----
# shellcheck disable=SC2086  # several words
compile makes 0 "wrote     $out/torch_cnn.bin" $cnn
says note out "no graph reads 2 of the 17 weights"
says graph out 'graph "torch_cnn", 1 input, 1 output'
check metadata "no metadata" grep -q '"graphName": "torch_cnn"' "$out/torch_cnn_json.json"
check nothing_else "$(ls "$out")" test "$(ls "$out" | wc -l)" -eq 2
run --ctx_dir "$out" --backend_so "$ref"
is runs 0
rm -rf "$out"
# shellcheck disable=SC2086
compile names 0 'graph "a", 1 input' $cnn "$ir/torch_cnn.json" --graph_name a,b --binary_file both.json
says both out 'graph "b", 1 input'
check binary_file "$(ls "$out")" test -s "$out/both.bin"
rm -rf "$out"

# shellcheck disable=SC2086
compile contexts 0 "wrote     $out/torch_cnn_2_of_3.bin" $cnn --contexts 3 --verify 2 --verify_nodes all
says differences out "softmax                  largest value "
says nodes out "nodes compared, 0 differ"
says node out "equal   conv2d_2 "
check three "$(ls "$out")" test "$(ls "$out" | wc -l)" -eq 6
# shellcheck disable=SC2086
run compile $cnn --backend_so "$ref" --output_dir "$out" --verify 1 --verify_tolerance 1e-12 --verify_nodes first
is differs 1
says tolerance err 'output "softmax" differs by'
hinted nodes_hint "--verify_nodes first"
says first out "  differs "
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
python3 "$tests/make_weights.py" "$tmp/small.safetensors" "$tmp/small.json"
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
# shellcheck disable=SC2086
compile equal_names 2 "--graph_name N1,N2" $cnn "$ir/torch_cnn.json"
# shellcheck disable=SC2086
compile three_weights 2 "1 graph and 3 --weights" $cnn --weights a --weights b

# ---- bad input ----
compile no_weights 1 "hint: Name the checkpoint with --weights PATH." "$ir/torch_cnn.json"
compile no_file 1 "no_such.json: No such file" "$tmp/no_such.json"
mkdir "$tmp/folder.json"
compile folder 1 "folder.json: Is a directory" "$tmp/folder.json"
echo '{"nodes": [' >"$tmp/half.json"
compile half 1 "half.json" "$tmp/half.json"

finish
