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

# ---- constants: those that are large lie in a file, which is mapped; others stay in the text ----
graph rows
# shellcheck disable=SC2086  # options
compiled constants 0 "y                        largest value 2400, difference 0" "$tmp/rows.json" $cpu --pin add=host --pin odd=host --pin y=host --verify 2
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
compiled alone 0 "y                        largest value 2400, difference 0" "$tmp/rows.json" --backends host --verify 2 --explain_plan
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
compiled pinned 0 "relative 0" "$tmp/rows.json" $cpu --pin relu=host --pin add=host --pin odd=host --pin y=host --verify 1 --cache "$tmp/cache"
steps pinned
# shellcheck disable=SC2086
compiled cached 0 "cache     " "$tmp/rows.json" $cpu --pin relu=host --pin add=host --pin odd=host --pin y=host --verify 1 --cache "$tmp/cache"
says cached out "the files are in entry"
says cached out "relative 0"
steps cached
check nothing "it opens" python3 -c 'import re, sys
text = open(sys.argv[1]).read()
open(sys.argv[1], "w").write(re.sub(r"(?s),\s*\"pipelines\": .*", "}}", text))' "$out/qnnrt.json"
run inspect "$out"
is nothing 1
says nothing err '"contexts" and "pipelines" are empty'

# ---- outputs without elements: no step makes them ----
graph empty
for pins in "" "--pin none=host" "--pin none=host --pin relu=host --pin y=host"; do
    # shellcheck disable=SC2086
    compiled "empty_$pins" 0 "y                        largest value" "$tmp/empty.json" $cpu $pins --verify 1
    # shellcheck disable=SC2086
    run --ctx_dir "$out" --backend_so "cpu=$ref"
    is "empty_runs_$pins" 0
done

# ---- places of the largest value, where float16 does not tell values apart ----
# ---- float64, which no library has ----
graph wide
compiled wide 0 'float64 in PyTorch, and computed with fewer digits and a smaller range here' "$tmp/wide.json" --backend_so "$ref" --report "$tmp/wide.txt"
check wide_report "$(cat "$tmp/wide.txt")" grep -qF 'float64 in PyTorch' "$tmp/wide.txt"
# shellcheck disable=SC2086  # options
compiled wide_host 0 "plan " "$tmp/wide.json" $cpu --pin to=host --pin exp=host
lacks wide_host out 'float64'

# ---- an entry of a table that numbers of float16 choose, and all that the choice is computed from ----
graph choice
half="--backends npu,host --backend_so npu=$ref --fp16 --explain_plan"
# shellcheck disable=SC2086  # options
compiled choice 0 '"best" chooses entries by numbers of float16' "$tmp/choice.json" $half --report "$tmp/choice.txt" --verify 1
says choice_way out "--pin_inputs best=host computes them in float32"
check choice_report "$(cat "$tmp/choice.txt")" grep -qF "chooses entries by numbers of float16" "$tmp/choice.txt"
# shellcheck disable=SC2086
compiled choice_host 0 "host computes 3 nodes (3 pinned to it)" "$tmp/choice.json" $half --pin_inputs best=host --verify 1
lacks choice_host out "chooses entries"
# shellcheck disable=SC2086
compiled choice_both 0 "(2 pinned to it" "$tmp/choice.json" $half --pin_inputs best=host --pin relu=npu --verify 1
# shellcheck disable=SC2086
compiled choice_float 0 "plan " "$tmp/choice.json" $cpu
lacks choice_float out "chooses entries"
# shellcheck disable=SC2086
compiled choice_none 1 'no graph has a node "worst"' "$tmp/choice.json" $half --pin_inputs worst=host
# shellcheck disable=SC2086
compiled choice_word 2 '--pin_inputs takes NODE=ROLE, not "best"' "$tmp/choice.json" $half --pin_inputs best

graph ties
tie=", 1 tie: other places of values that are equal within the tolerance"
compiled ties 0 "rows                     largest value 1, difference 0, relative 0, SNR 999.0 dB$tie" "$tmp/ties.json" --backend_so "$ref" --fp16 --verify 1
says ties_of_all out "best                     largest value 1, difference 0, relative 0, SNR 999.0 dB$tie"
check ties_of_columns "$(cat "$tmp/out")" test "$(grep -c '1 tie:' "$tmp/out")" -eq 2
compiled ties_differ 1 'output "rows" differs by' "$tmp/ties.json" --backend_so "$ref" --fp16 --verify 1 --verify_tolerance 0.00001

# ---- a folder that had another program ----
compiled before 0 "host.json" "$tmp/rows.json" --backends host
run compile "$tmp/rows.json" --backend_so "$ref" --output_dir "$out"
is after 0
check after_host "$(ls "$out")" test ! -e "$out/host.json"
run --ctx_dir "$out" --backend_so "$ref"
is after_runs 0
run compile "$data/llm/dlc/none.dlc" --backend_so "$ref" --output_dir "$out"
is after_dlc 1
says after_dlc err "$out/qnnrt.json says what the folder runs"

# ---- operators that nobody knows: functions of who opens the folder ----
graph functions
own="--host_op aten.mylib.line.default"
# shellcheck disable=SC2086
compiled unknown 1 'node "a" (mylib.line.default): the operator is unknown; nodes with it: 2' "$tmp/functions.json" $cpu
says unknown_line err 'model.py:7 in forward'
says unknown_way err 'a function of your own can compute it: --host_op mylib.line.default'
check unknown "it left $out" test ! -e "$out"
# shellcheck disable=SC2086
compiled own 0 'step 1   host   2 nodes, "a" to "b", 2 of your functions' "$tmp/functions.json" $cpu --host_op mylib.line.default --explain_plan
check own_files "$(ls "$out")" test "$(ls "$out" | tr '\n' ' ')" = "functions_cpu_0.bin functions_cpu_1.bin functions_host.raw qnnrt.json "
check own_steps "$(cat "$out/qnnrt.json")" python3 -c 'import json, struct, sys
program = json.load(open(sys.argv[1] + "/qnnrt.json"))["program"]
pipeline = program["pipelines"][0]
steps = [step for step in pipeline["steps"] if step.get("host") == "mylib.line.default"]
names = [[i["name"] for i in step["inputs"]] for step in steps]
assert names == [["relu", "z", "attr.slope", "attr.places", "attr.mode", "attr.wide"], ["c_shift", "a", "attr.slope"]], names
where = {c["name"]: c for c in program["constants"]}
bound = {(c["step"], c["input"]): where[c["constant"]] for c in pipeline["constants"]}
data = open(sys.argv[1] + "/functions_host.raw", "rb").read()
def value(step, name, form):
    at = bound[step, name].get("offset", 0)
    return struct.unpack(form, data[at:at + struct.calcsize(form)])
assert value(1, "attr.slope", "<d") == (2,) and value(1, "attr.places", "<3q") == (1, 0, 2), data
assert value(1, "attr.mode", "<5s") == (b"first",) and value(1, "attr.wide", "<B") == (1,), data
assert value(2, "c_shift", "<3f") == (10, 20, 30) and value(2, "attr.slope", "<d") == (0.5,), data' "$out"
run inspect "$out" --backend_so "cpu=$ref"
is own_inspect 0
run --ctx_dir "$out" --backend_so "cpu=$ref" --output_dir "$tmp/none"
is own_runs_elsewhere 1
says own_runs_elsewhere err 'desc.host_functions has no "mylib.line.default"'
compiled own_alone 0 "plan " "$tmp/functions.json" --backends host $own
check own_alone "$(ls "$out")" test -s "$out/host.json"
run compile "$tmp/rows.json" --backends host --host_op relu.defaults --output_dir "$out"
is no_such 1
says no_such err "--host_op relu.defaults: no graph has this operator"
hinted no_such "Name the operator relu.default."
wrong own_verify "--verify runs the graph" compile "$tmp/functions.json" --backends host $own --verify 1 --output_dir "$out"
wrong own_host "--host_op needs the host" compile "$tmp/functions.json" --backends cpu --backend_so "cpu=$ref" $own --output_dir "$out"
wrong own_backends "--host_op needs --backends" compile "$tmp/functions.json" --backend_so "$ref" $own --output_dir "$out"
finish
