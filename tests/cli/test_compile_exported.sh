#!/bin/sh
# qnnrt-run compile FOLDER: what qnnrt.export() writes, compared with torch's results.
#     sh tests/cli/test_compile_exported.sh [BUILD_DIR]
suite=test_compile_exported
. "$(dirname "$0")/../harness/tool.sh"
ref=$build/libQnnRef.so
from=$data/exported
out=$tmp/o
e=$tmp/blocks

# compile NAME STATUS TEXT ARGUMENT ...: as compiled, with libQnnRef.so
compile() { compiled "$@" --backend_so "$ref"; }
# fresh: $e is the folder as it was exported
fresh() { rm -rf "$e" && cp -r "$from/blocks" "$e"; }
# edit FILE FROM TO: the same number of bytes in a file of $e
edit() {
    check "edit_$1" "no '$2'" python3 -c 'import sys
path, old, new = sys.argv[1], sys.argv[2].encode(), sys.argv[3].encode()
data = open(path, "rb").read()
open(path, "wb").write(data.replace(old, new))
sys.exit(old not in data or len(old) != len(new))' "$e/$1" "$2" "$3"
}

# ---- blocks under torch.no_grad(): what they compute is in the folder, and is not in a file of pytorch-ir ----
fresh
compile folder 0 "verify    graph \"blocks\", 2 samples, torch's results in float64, tolerance 0.0001" "$e" --verify 4
says scores out "scores                   largest value 0.8395"
says best out "best                     largest value 11, difference 0"
check files "$(ls "$out")" test -s "$out/blocks.bin"
compile slash 0 "wrote     $out/blocks.bin" "$e/" --verify 1
compile names 0 'graph "a", 2 inputs' "$e" --graph_name a --binary_file b
check binary_file "$(ls "$out")" test -s "$out/b.bin"
compile nodes 0 "equal   add_1 " "$e" --verify_nodes all
says nodes out "nodes compared, 0 differ"
compile several 0 'graph "two", 2 inputs' "$e" "$e" --graph_name one,two --verify 1
compile backends 0 "torch's results in float64" "$e" --backends cpu,host --backend_so "cpu=$ref" --verify 2
for rope in "" --rope_base=100; do
    # shellcheck disable=SC2086
    compile no_body 1 "the file does not have what this block under torch.no_grad() computes; blocks of this kind: 1" "$from/blocks_pytorch_ir.json" --weights "$e/weights.safetensors" ${rope:+--rope_base 100}
    hinted no_body_hint "Export the model with qnnrt.export()"
    check no_body "left $out" test ! -e "$out"
done

# ---- other results than torch's are found, though the host computes the same as the backend ----
edit graph.json '"aten.neg.default"' '"aten.abs.default"'
compile differs 1 'output "scores" differs by' "$e" --verify 2
compile differs_at 0 "  differs neg " "$e" --verify_nodes first
fresh
mv "$e/samples.safetensors" "$tmp/samples"
compile without 0 "compared with what the host computes from the graph: it has no results of torch" "$e" --verify 1
check without "speaks of torch's results" sh -c '! grep -q "results in float" "$1"' - "$tmp/out"
: >"$e/samples.safetensors"
compile empty 1 "samples.safetensors" "$e" --verify 1
compile unread 0 "wrote" "$e"
cp "$tmp/samples" "$e/samples.safetensors"
edit samples.safetensors '"1/input/ids"' '"1/input/idx"'
compile no_input 1 'sample 1 has no input "ids"' "$e" --verify 2
fresh
edit samples.safetensors '"0/output/best"' '"0/output/bust"'
compile no_output 1 'sample 0 has no output "best"' "$e" --verify 1
fresh
edit samples.safetensors '"shape":[1,8],"data_offsets":[0,64]' '"shape":[8,1],"data_offsets":[0,64]'
compile other_shape 1 'has another shape than in the graph' "$e" --verify 1
fresh
rm "$e/weights.safetensors"
compile no_weights 1 "weights.safetensors: No such file" "$e"
# ---- outputs that are constants or inputs keep their names, and an input that is given back is no state ----
cat >"$tmp/names.json" <<'JSON'
{"model_name": "names", "graph_inputs": [{"name": "x", "shape": [4], "dtype": "float32"}], "weights": [], "weight_name_mapping": {},
 "graph_outputs": [{"name": "y", "shape": [4], "dtype": "float32"}, {"name": "same", "shape": [4], "dtype": "float32"}, {"name": "fixed", "shape": [4], "dtype": "int64"}],
 "nodes": [{"name": "tanh", "op_type": "aten.tanh.default", "inputs": [{"name": "x", "shape": [4], "dtype": "float32"}],
            "outputs": [{"name": "y", "shape": [4], "dtype": "float32"}], "attrs": {}},
           {"name": "alias", "op_type": "aten.alias.default", "inputs": [{"name": "x", "shape": [4], "dtype": "float32"}],
            "outputs": [{"name": "same", "shape": [4], "dtype": "float32"}], "attrs": {}},
           {"name": "arange", "op_type": "aten.arange.default", "inputs": [], "outputs": [{"name": "fixed", "shape": [4], "dtype": "int64"}], "attrs": {"end": 4}}]}
JSON
for way in "" "--backends cpu,host --backend_so cpu=$ref" "--backends cpu,host --backend_so cpu=$ref --pin tanh=host"; do
    # shellcheck disable=SC2086
    compile names_whole 0 'largest value 3, difference 0' "$tmp/names.json" --verify 1 $way
    check names_fixed "$(cat "$tmp/out")" grep -q '^  fixed  *largest value 3' "$tmp/out"
    check names_state "$(cat "$tmp/out")" sh -c '! grep -q "^  state " "$1"' - "$tmp/out"
done

# ---- narrow integers: int32 in libraries, of their own type on the host; both read one input ----
cat >"$tmp/narrow.json" <<'JSON'
{"model_name": "narrow", "graph_inputs": [{"name": "u", "shape": [4], "dtype": "uint8"}], "weights": [], "weight_name_mapping": {},
 "graph_outputs": [{"name": "y", "shape": [4], "dtype": "float32"}, {"name": "z", "shape": [4], "dtype": "float32"}],
 "nodes": [{"name": "y", "op_type": "aten.to.dtype", "inputs": [{"name": "u", "shape": [4], "dtype": "uint8"}],
            "outputs": [{"name": "y", "shape": [4], "dtype": "float32"}], "attrs": {"dtype": "torch.float32"}},
           {"name": "s", "op_type": "aten.add.Tensor", "inputs": [{"name": "u", "shape": [4], "dtype": "uint8"}],
            "outputs": [{"name": "s", "shape": [4], "dtype": "uint8"}], "attrs": {"other": 200}},
           {"name": "t", "op_type": "aten.to.dtype", "inputs": [{"name": "s", "shape": [4], "dtype": "uint8"}],
            "outputs": [{"name": "t", "shape": [4], "dtype": "float32"}], "attrs": {"dtype": "torch.float32"}},
           {"name": "z", "op_type": "aten.tanh.default", "inputs": [{"name": "t", "shape": [4], "dtype": "float32"}],
            "outputs": [{"name": "z", "shape": [4], "dtype": "float32"}], "attrs": {}}]}
JSON
for pins in "" "--pin t=cpu" "--pin t=host"; do
    # shellcheck disable=SC2086
    compile narrow 0 'y                        largest value 3, difference 0' "$tmp/narrow.json" --verify 2 --backends cpu,host \
        --backend_so "cpu=$ref" --pin y=cpu --pin z=cpu --pin s=host $pins
done
printf '\001\000\000\000\377\000\000\000\000\001\000\000\000\000\000\000' >"$tmp/u.raw"
run --ctx_dir "$out" --backend_so "cpu=$ref" --input "u=$tmp/u.raw" --output_dir "$tmp/narrow"
is narrow_beyond 1
says narrow_beyond err 'input "u": element 2 is 256, which does not fit uint8'

rm -rf "$e"
mkdir "$e"
compile no_graph 1 "config.json" "$e"
finish
