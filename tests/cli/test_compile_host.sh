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
finish
