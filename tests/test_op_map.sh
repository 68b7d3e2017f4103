#!/bin/sh
# Operators of op packages: --op_package and --op_map, from a graph to values.
#     sh tests/test_op_map.sh [BUILD_DIR [RELEASE_DIR]]
suite=test_op_map
. "$(dirname "$0")/tool.sh"
ref=$build/libQnnRef.so
package=$build/fake/libOpPackage.so:LineOfProvider
cpu=$build/qnn/2.47/onnxruntime_qnn/libQnnCpu.so

# graph OP ATTRS FILE: y = relu(OP(transpose(x))), x [3,2]
graph() {
    cat >"$3" <<JSON
{"model_name": "line", "pytorch_version": "2.10.0", "weights": [], "weight_name_mapping": {},
 "graph_inputs": [{"name": "x", "shape": [3, 2], "dtype": "float32"}],
 "graph_outputs": [{"name": "y", "shape": [2, 3], "dtype": "float32"}],
 "nodes": [
  {"name": "t", "op_type": "aten.transpose.int", "inputs": [{"name": "x", "shape": [3, 2], "dtype": "float32", "producer_node": null}],
   "outputs": [{"name": "t", "shape": [2, 3], "dtype": "float32"}], "attrs": {"dim0": 0, "dim1": 1}},
  {"name": "line", "op_type": "$1", "inputs": [{"name": "t", "shape": [2, 3], "dtype": "float32", "producer_node": "t"}],
   "outputs": [{"name": "line", "shape": [2, 3], "dtype": "float32"}], "attrs": {$2}},
  {"name": "y", "op_type": "aten.relu.default", "inputs": [{"name": "line", "shape": [2, 3], "dtype": "float32", "producer_node": "line"}],
   "outputs": [{"name": "y", "shape": [2, 3], "dtype": "float32"}], "attrs": {}}]}
JSON
}
# map TEXT: the table of operators
map() { printf '%s' "$1" >"$tmp/map.json"; }
row='"package": "qnnrt.test", "type": "LineOf"'
slope='"params": {"slope": {"attr": "gradient", "dtype": "float32"}}'

graph mylib.line.default '"gradient": 3.0' "$tmp/line.json"

# compile NAME STATUS TEXT ARGUMENT ...
compile() {
    name=$1 wanted=$2 text=$3
    shift 3
    rm -rf "$tmp/o"
    run compile "$tmp/line.json" --output_dir "$tmp/o" "$@"
    is "$name" "$wanted"
    check "${name}_says" "no '$text' in: $(cat "$tmp/out" "$tmp/err")" sh -c 'cat "$1/out" "$1/err" | grep -qF -- "$2"' - "$tmp" "$text"
}

# ---- without a table, and tables that are wrong ----
compile unknown 1 "the operator is unknown" --backend_so "$ref"
# wrong NAME TABLE TEXT
wrong() {
    map "$2"
    compile "$1" 1 "$3" --backend_so "$ref" --op_map "$tmp/map.json"
    check "$1_left" "$(ls "$tmp")" test ! -e "$tmp/o"
}
wrong no_object '[]' "it is not an object"
wrong no_json '{"mylib.line.default": ' "byte 23"
wrong no_row '{"mylib.line.default": 1}' 'operator "mylib.line.default": an operator is not an object'
wrong no_type '{"mylib.line.default": {"package": "p"}}' 'has no "package" or no "type"'
wrong other_key "{\"mylib.line.default\": {$row, \"outputs\": 1}}" "another key than package, type, inputs and params"
wrong wrong_inputs "{\"mylib.line.default\": {$row, \"inputs\": [-1]}}" '"inputs" is not a list'
wrong no_dtype "{\"mylib.line.default\": {$row, \"params\": {\"slope\": {}}}}" 'has no "dtype"'
wrong wrong_dtype "{\"mylib.line.default\": {$row, \"params\": {\"slope\": {\"dtype\": \"double\"}}}}" '"dtype" is not float32'
wrong input_beyond "{\"mylib.line.default\": {$row, \"inputs\": [1]}}" "it has 1 inputs, and input 0 of LineOf is number 1"
wrong missing "{\"mylib.line.default\": {$row, \"params\": {\"slope\": {\"dtype\": \"float32\"}}}}" 'the argument "slope" is missing'
wrong other_operator "{\"mylib.other\": {$row, $slope}}" "the operator is unknown"
wrong hostile "{\"my\\u001b[31mlib\": 1}" 'my\x1B[31mlib'
compile no_table 1 "no/such/map.json" --backend_so "$ref" --op_map "$tmp/no/such/map.json"
map "{\"mylib.line.default\": {$row, $slope}}"
# libQnnRef.so has no packages; the library is asked about the operator, and refuses it.
compile ref_refuses 1 "node line (mylib.line.default) of float32 [2,3]" --backend_so "$ref" --op_map "$tmp/map.json"
compile ref_packages 1 "$build/fake/libOpPackage.so" --backend_so "$ref" --op_map "$tmp/map.json" --op_package "$package"
for text in libOne.so :P libOne.so: a:b:c:d a:b:; do
    compile "usage_$text" 2 "--op_package takes PATH:PROVIDER[:TARGET]" --backend_so "$ref" --op_package "$text"
done
run run "$data" --op_package a
is usage_run 2
compile several_packages 2 "--op_package is for one backend, and --backends" --backends npu,host --backend_so "$ref" --op_package "$package"
compile several_roles 2 "--op_package is for one backend, and --backend_so" --backends npu,host --backend_so "npu=$ref" --op_package "$package"
compile several_maps 2 "--op_map is for one backend" --backends npu,host --backend_so "$ref" --op_map "$tmp/map.json"

# ---- a genuine package on a genuine library ----
if [ ! -f "$cpu" ]; then
    skip cpu "$cpu is missing"
    finish
    exit
fi
compile refused 1 "the library refuses operators of" --backend_so "$cpu" --op_map "$tmp/map.json"
compile cpu_provider 1 "NoProvider" --backend_so "$cpu" --op_map "$tmp/map.json" --op_package "${package%%:*}:NoProvider"
compile cpu_makes 0 "wrote     $tmp/o/line.bin" --backend_so "$cpu" --op_map "$tmp/map.json" --op_package "$package" --cache "$tmp/cache"
python3 -c 'import array, sys
array.array("f", [1, -2, 3, -4, 5, 6]).tofile(open(sys.argv[1], "wb"))' "$tmp/x.raw"
# values NAME SLOPE: y = relu(SLOPE * x^T + 1)
values() {
    run run "$tmp/o" --backend_so "$cpu" --op_package "$package" --input "x=$tmp/x.raw" --output_dir "$tmp/y"
    is "$1" 0
    check "$1_values" "another result" python3 -c 'import array, sys
y = array.array("f", open(sys.argv[1], "rb").read())
sys.exit(list(y) != [max(0.0, float(sys.argv[2]) * x + 1) for x in (1, 3, 5, -2, -4, 6)])' "$tmp/y/line/y.raw" "$2"
}
values cpu_runs 3
cp -r "$tmp/o" "$tmp/first"
compile cached 0 "the files are in entry" --backend_so "$cpu" --op_map "$tmp/map.json" --op_package "$package" --cache "$tmp/cache"
check cached_equal "another binary" diff -r "$tmp/first" "$tmp/o"
# The table and the package are in the key of the cache; so is the argument, which is in the graph.
map "{\"mylib.line.default\": {$row, \"inputs\": [0], $slope}}"
compile key_map 0 "new entry" --backend_so "$cpu" --op_map "$tmp/map.json" --op_package "$package" --cache "$tmp/cache"
cp "$build/fake/libOpPackage.so" "$tmp/libOther.so"
printf x >>"$tmp/libOther.so"
compile key_package 0 "new entry" --backend_so "$cpu" --op_map "$tmp/map.json" --op_package "$tmp/libOther.so:LineOfProvider" --cache "$tmp/cache"
# A default, for a graph without the argument.
graph mylib.line.default '' "$tmp/line.json"
map "{\"mylib.line.default\": {$row, \"params\": {\"slope\": {\"dtype\": \"float32\", \"default\": -2}}}}"
compile default 0 "wrote" --backend_so "$cpu" --op_map "$tmp/map.json" --op_package "$package"
values default_runs -2
# A row comes before the rules: an operator of PyTorch as one of the package.
graph aten.sigmoid.default '' "$tmp/line.json"
map "{\"sigmoid.default\": {$row, \"params\": {\"slope\": {\"dtype\": \"float32\", \"default\": 5}}}}"
compile instead 0 "wrote" --backend_so "$cpu" --op_map "$tmp/map.json" --op_package "$package"
values instead_runs 5
# Without the package the file does not run.
run run "$tmp/o" --backend_so "$cpu"
is without 1
finish
