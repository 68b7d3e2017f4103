#!/bin/sh
# qnnrt-run on a folder with host steps: inspect, plan and run, and a host.json that is damaged.
#     sh tests/cli/test_host_tool.sh [BUILD_DIR [RELEASE_DIR]]
# tests/compile/test_host.c makes the folder: "embed", on the host, "twice", on libQnnRef.so, and "finish", on the host.
suite=test_host_tool
. "$(dirname "$0")/../harness/tool.sh"

folder=$tmp/host
cpu="--backend_so cpu=$build/libQnnRef.so"
mkdir "$folder"
QNNRT_HOST_FOLDER=$folder "$build/c99/test_host" host_steps_run_in_a_folder >"$tmp/made" 2>&1
check made "$(tail -n 3 "$tmp/made")" test -f "$folder/host.json"

# shellcheck disable=SC2086  # options
run inspect "$folder" $cpu
is inspect 0
for text in 'host      2 steps in host.json' 'embed  1 node: embedding.default' \
    'finish  2 nodes: cumsum.default, argmax.default' 'host "embed"' 'host "finish"'; do
    says inspect out "$text"
done
run plan "$folder" $cpu
is plan 0
says plan out 'host "embed"'

# ids 15, 0, 7, 7: the table has rows of 8 float16s; best is the place of the largest one, sums are twice their sums
printf '\017\0\0\0\0\0\0\0\007\0\0\0\007\0\0\0' >"$tmp/ids.raw"
run run "$folder" $cpu --input "ids=$tmp/ids.raw" --output_dir "$tmp/result"
is run 0
says run out 'run "forward"'
expected='
import struct, sys
half = struct.unpack("<128e", open(sys.argv[1] + "/table.raw", "rb").read())
sums = struct.unpack("<32f", open(sys.argv[2] + "/sums.raw", "rb").read())
best = struct.unpack("<4i", open(sys.argv[2] + "/best.raw", "rb").read())
for i, row in enumerate((15, 0, 7, 7)):
    y = [max(2 * v, 0) for v in half[8 * row:8 * row + 8]]
    assert best[i] == y.index(max(y)), (best, y)
    for k in range(8):
        assert abs(sums[8 * i + k] - sum(y[:k + 1])) < 1e-5, (i, k)'
if command -v python3 >/dev/null 2>&1; then
    check numbers 'sums or best differ' python3 -c "$expected" "$folder" "$(dirname "$(find "$tmp/result" -name sums.raw | head -n 1)")"
else
    skip numbers 'python3 is missing'
fi

# An id without a row.
printf '\020\0\0\0\0\0\0\0\007\0\0\0\007\0\0\0' >"$tmp/ids.raw"
run run "$folder" $cpu --input "ids=$tmp/ids.raw" --output_dir "$tmp/bad"
is bad_id 1
says bad_id err 'embed'
says bad_id err 'index 16 is out of range: it may be 0 to 15'

# Without the file it can be inspected, and not run; a damaged one is named.
mv "$folder/host.json" "$tmp/host.json"
run inspect "$folder" $cpu
is no_file_inspect 0
lacks no_file_inspect out 'in host.json'
run run "$folder" $cpu --input "ids=$tmp/ids.raw" --output_dir "$tmp/none"
is no_file 1
says no_file err 'desc.host_functions has no "embed"'
hinted no_file "those of the folder's host.json"
head -c 300 "$tmp/host.json" >"$folder/host.json"
run inspect "$folder" $cpu
is damaged 1
says damaged err 'host.json: line'
says damaged err 'not JSON'
run inspect "$folder" $cpu --no_manifest
lacks no_manifest err 'host.json'

# qnnrt-llm reads it, too.
tool=$build/qnnrt-llm
run --ctx_dir "$folder" $cpu --describe
is llm_damaged 1
says llm_damaged err 'host.json: line'
finish
