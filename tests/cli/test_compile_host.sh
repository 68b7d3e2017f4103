#!/bin/sh
# qnnrt-run compile --backends with host: what lies beside host.json.
#     sh tests/cli/test_compile_host.sh [BUILD_DIR]
# tests/cli/host_graph.py makes the graphs.
suite=test_compile_host
. "$(dirname "$0")/../harness/tool.sh"
ref=$build/libQnnRef.so
out=$tmp/o
cpu="--backends cpu,host --backend_so cpu=$ref"

# graph KIND: a graph in $tmp/KIND.json
graph() { check "graph_$1" "no graph" python3 "$tests/cli/host_graph.py" "$tmp/$1.json" "$1"; }
# compile NAME STATUS TEXT ARGUMENT ...: TEXT is in what it prints
compile() {
    name=$1 wanted=$2 text=$3
    shift 3
    rm -rf "$out"
    run compile --output_dir "$out" "$@"
    is "$name" "$wanted"
    check "$name" "no '$text' in $(cat "$tmp/out" "$tmp/err")" sh -c 'cat "$1" "$2" | grep -qF -- "$3"' - "$tmp/out" "$tmp/err" "$text"
}

# ---- constants: those that are large lie in a file, which is mapped; others stay in the text ----
graph rows
# shellcheck disable=SC2086  # options
compile constants 0 "y                        largest value 2400, difference 0" "$tmp/rows.json" $cpu --pin add=host --pin odd=host --pin y=host --verify 2
says constants out "odd                      largest value 7198, difference 0"
check constants_bytes "$(ls -l "$out")" test "$(wc -c <"$out/rows_host.raw")" -eq 28800
check constants_text "$(cat "$out/host.json")" test "$(wc -c <"$out/host.json")" -lt 3000
holds() { check "$1" "no $2" grep -qF -- "$2" "$out/$3"; }
holds constants_small '"c_one": "one"' host.json
holds constants_place '"file": "rows_host.raw", "offset": 9600, "dtype": "int64", "dims": [8, 300]' qnnrt.json
head -c 28799 "$out/rows_host.raw" >"$tmp/short"
cp "$tmp/short" "$out/rows_host.raw"
head -c 9600 /dev/zero >"$tmp/x.raw"
# shellcheck disable=SC2086
run --ctx_dir "$out" --backend_so "cpu=$ref" --input "x=$tmp/x.raw" --output_dir "$tmp/y"
is short 1
says short err 'constant "c_places.1" (int64[8,300]) needs 19200 bytes from 9600 on, but rows_host.raw has 28799'

# ---- a program of host steps alone: no library is opened, and none is needed to run it ----
steps() { check "$1" "contexts in $(cat "$out/qnnrt.json")" grep -qF '"contexts": []' "$out/qnnrt.json"; }
compile alone 0 "y                        largest value 2400, difference 0" "$tmp/rows.json" --backends host --verify 2 --explain_plan
says alone out 'step 0   host   4 nodes, "relu" to "odd"'
lacks alone out 'backend   '
check alone_files "$(ls "$out")" test "$(ls "$out" | tr '\n' ' ')" = "host.json qnnrt.json rows_host.raw "
steps alone
# here PATH and LD_LIBRARY_PATH have no library
run --ctx_dir "$out" --input "x=$tmp/x.raw" --output_dir "$tmp/y"
is alone_runs 0
check alone_values "no $tmp/y/rows" python3 -c 'import array, sys
y, odd = (array.array("f", open(sys.argv[1] + name, "rb").read()) for name in ("/y.raw", "/odd.raw"))
sys.exit(list(y) != list(range(2400)) or list(odd) != [3 * v for v in range(2400)])' "$tmp/y/rows"
for verb in inspect plan bench profile doctor "run --profiling_level basic" "run --memory shared" "run --resident one" "run --json"; do
    # shellcheck disable=SC2086
    run $verb "$out"
    is "alone_${verb##* }" 0
done
run --ctx_dir "$out" --backend_so "npu=$ref" --backend_so "cpu=$ref"
is alone_roles 0
says alone_roles out "note      --backend_so npu=$ref is not used: the model has no such role"
run capture "$out" --output_dir "$tmp/captured"
run replay "$tmp/captured" "$out"
is alone_replay 0
# All nodes may be the host's though there are libraries.
# shellcheck disable=SC2086
compile pinned 0 "relative 0" "$tmp/rows.json" $cpu --pin relu=host --pin add=host --pin odd=host --pin y=host --verify 1 --cache "$tmp/cache"
steps pinned
# shellcheck disable=SC2086
compile cached 0 "cache     " "$tmp/rows.json" $cpu --pin relu=host --pin add=host --pin odd=host --pin y=host --verify 1 --cache "$tmp/cache"
says cached out "the files are in entry"
says cached out "relative 0"
steps cached
check nothing "it opens" python3 -c 'import re, sys
text = open(sys.argv[1]).read()
open(sys.argv[1], "w").write(re.sub(r"(?s),\s*\"pipelines\": .*", "}}", text))' "$out/qnnrt.json"
run inspect "$out"
is nothing 1
says nothing err '"contexts" and "pipelines" are empty'
finish
