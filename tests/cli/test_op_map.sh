#!/bin/sh
# Operators of op packages: --op_package and --op_map, from a graph to values.
#     sh tests/cli/test_op_map.sh [BUILD_DIR [RELEASE_DIR]]
suite=test_op_map
. "$(dirname "$0")/../harness/tool.sh"
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
wrong other_key "{\"mylib.line.default\": {$row, \"outputs\": 1}}" "another key than package, type, inputs, params and role"
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
    compile "usage_$text" 2 "--op_package takes [ROLE=]PATH:PROVIDER[:TARGET]" --backend_so "$ref" --op_package "$text"
done
run run "$data" --op_package a
is usage_run 2
# Roles that no backend has.
compile role_of_none 2 "--op_package npu=$package: no backend has this role" --backend_so "$ref" --op_package "npu=$package"
compile role_of_host 2 "no backend has this role" --backends npu,host --backend_so "$ref" --op_package "host=$package"
compile role_of_other 2 "no backend has this role" --backends npu,host --backend_so "$ref" --op_package "cpu=$package"
run run "$data" --backend_so "npu=$ref" --op_package "cpu=$package"
is role_of_run 2
hinted role_of_run "--backend_so ROLE=FILE"
# ROLE: rows of roles, and a list of rows
wrong row_role_empty "{\"mylib.line.default\": {$row, \"role\": \"\"}}" '"role" is not a name'
wrong row_list "{\"mylib.line.default\": [{$row, $slope}, 1]}" 'operator "mylib.line.default": an operator is not an object'
wrong row_twice "{\"mylib.line.default\": {$row, $slope}, \"mylib.line.default\": {$row, $slope}}" 'there are two rows for one backend'
wrong row_twice_for "{\"mylib.line.default\": [{$row, $slope, \"role\": \"npu\"}, {$row, $slope, \"role\": \"npu\"}]}" 'there are two rows for npu'
wrong rows_too_many "{$(awk 'BEGIN { for (i = 0; i < 4097; ++i) printf "%s\"op%d\": {\"package\": \"p\", \"type\": \"t\"}", i ? "," : "", i }')}" \
    'operator "op4095": the table has more than 4096 rows'
wrong row_alone "{\"mylib.line.default\": {$row, $slope, \"role\": \"npu\"}}" 'no backend has the role "npu"'
for role in host cpu; do
    map "{\"mylib.line.default\": {$row, $slope, \"role\": \"$role\"}}"
    compile "row_of_$role" 1 "no backend has the role \"$role\"" --backends npu,host --backend_so "$ref" --op_map "$tmp/map.json"
done
map "{\"mylib.line.default\": {$row, $slope}}"
compile several_refuse 1 "no backend supports it: npu: node line" --backends npu,host --backend_so "$ref" --op_map "$tmp/map.json"
check several_host "$(cat "$tmp/err")" grep -q 'host: the host does not have this operator' "$tmp/err"

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

# ---- several backends: the package is registered with one of them ----
# mixed NAME TEXT NPU ARGUMENT ...: NPU and the CPU library with its package
mixed() {
    name=$1 text=$2 npu=$3
    shift 3
    compile "$name" 0 "$text" --backends npu,cpu,host --backend_so "npu=$npu" --backend_so "cpu=$cpu" --op_map "$tmp/map.json" \
        --op_package "cpu=$package" --explain_plan "$@"
}
# gives NAME NPU ROLES FUNCTION: y of the folder, run with the libraries of the roles
gives() {
    roles="--backend_so npu=$2"
    case $3 in *cpu*) roles="$roles --backend_so cpu=$cpu --op_package cpu=$package" ;; esac
    # shellcheck disable=SC2086
    run run "$tmp/o" $roles --input "x=$tmp/x.raw" --output_dir "$tmp/y"
    is "$1" 0
    check "$1_values" "another result" python3 -c 'import array, math, sys
y = array.array("f", open(sys.argv[1], "rb").read())
f = eval("lambda x: " + sys.argv[2])
sys.exit(not all(abs(a - max(0.0, f(x))) < 4e-3 * max(1, abs(f(x))) for a, x in zip(y, (1, 3, 5, -2, -4, 6))) or len(y) != 6)' "$tmp/y/line/y.raw" "$4"
}
htp=$release/libQnnHtp.so
for npu in "$ref" "$htp"; do
    if [ ! -f "$npu" ]; then
        skip htp "$npu is missing"
        continue
    fi
    graph mylib.line.default '"gradient": 3.0' "$tmp/line.json"
    map "{\"mylib.line.default\": {$row, $slope}}"
    mixed custom ' step 1   cpu    1 nodes, "line" to "line"' "$npu" --pin t=npu --pin y=npu
    check custom_alone "npu or host computes it" grep -qE '^  line  *mylib.line.default .* cpu +of cpu  ' "$tmp/out"
    gives custom_runs "$npu" npu,cpu '3 * x + 1'
    # Nobody is asked: finalize refuses, and the node moves to the backend that has the package.
    mixed custom_moves 'node "line" (mylib.line.default) moves away from "npu": ' "$npu" --no_ask --pin t=npu --pin y=npu
    gives custom_moves_runs "$npu" npu,cpu '3 * x + 1'
    [ "$npu" = "$ref" ] && [ -f "$htp" ] && continue
    # A row of one role: the others compute what PyTorch defines.
    graph aten.sigmoid.default '' "$tmp/line.json"
    map "{\"sigmoid.default\": [{$row, \"params\": {\"slope\": {\"dtype\": \"float32\", \"default\": 5}}, \"role\": \"cpu\"}]}"
    mixed role_cpu ' step 1   cpu    1 nodes, "line" to "line"' "$npu" --pin t=npu --pin y=npu --pin line=cpu
    gives role_cpu_runs "$npu" npu,cpu '5 * x + 1'
    mixed role_npu ' step 0   npu    3 nodes' "$npu" --pin line=npu
    gives role_npu_runs "$npu" npu '1 / (1 + math.exp(-x))'
    mixed role_host ' step 1   host   1 nodes, "line" to "line"' "$npu" --pin t=npu --pin y=npu --pin line=host
    gives role_host_runs "$npu" npu '1 / (1 + math.exp(-x))'
done
# A package without a role is the first backend's: here the other one has the operator, and not the package.
graph mylib.line.default '"gradient": 3.0' "$tmp/line.json"
map "{\"mylib.line.default\": {$row, $slope}}"
compile first 0 ' step 0   cpu    3 nodes' --backends cpu,host --backend_so "$cpu" --op_map "$tmp/map.json" --op_package "$package"
run run "$tmp/o" --backend_so "cpu=$cpu" --op_package "$package" --input "x=$tmp/x.raw" --output_dir "$tmp/y"
is first_runs 0
compile other_first 1 "this backend takes no operator packages" --backends npu,cpu,host --backend_so "npu=$cpu" --backend_so "cpu=$ref" \
    --op_map "$tmp/map.json" --op_package "cpu=$package"
# Without the package the file does not run.
run run "$tmp/o" --backend_so "$cpu"
is without 1
finish
