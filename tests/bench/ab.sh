#!/bin/sh
# Ask qnnrt-run bench A B for its verdict many times: on two equal folders, and with a side B that computes 5 percent
# longer. `make bench-ab` runs it; no test does, because it depends on the machine.
#
#   tests/bench/ab.sh BUILD_DIR RUNS [LIBRARY_A LIBRARY_B]
#
# The model is one graph of a small Llama on libQnnRef.so, about a millisecond. Of two genuine libraries it prints the
# verdict on build/data/llm/w8a16_one, once. The exit status is 1 if a run on equal folders does not say "no
# difference", or more than one in 20 does not find the slower side.
set -u
LC_ALL=C
export LC_ALL
build=${1:?usage: ab.sh BUILD_DIR RUNS [LIBRARY_A LIBRARY_B]} runs=${2:-20}
work=$build/bench/ab
ref=$build/libQnnRef.so

rm -rf "$work"
mkdir -p "$work/a" "$work/b"
"$build/examples/llm/export" tests/data/llm/model "$work/a" --backend_so "$ref" --prefill 8 --decode 0 >"$work/log" || exit 1
cp "$work/a/"* "$work/b/"

# verdicts NAME WANTED OPTION ...: the number of runs with the wanted verdict
verdicts() {
    name=$1 wanted=$2 right=0 run=0
    shift 2
    while [ "$run" -lt "$runs" ]; do
        run=$((run + 1))
        "$build/qnnrt-run" bench "$work/a" "$work/b" --backend_so "$ref" --csv - "$@" >"$work/csv" 2>>"$work/log" || exit 1
        found=$(tail -n 1 "$work/csv" | cut -d, -f2)
        if [ "$found" = "$wanted" ]; then right=$((right + 1)); fi
        tail -n 1 "$work/csv" | awk -F , -v name="$name" -v run="$run" -v cores="$(cut -d' ' -f1 /proc/loadavg 2>/dev/null)" '{
            printf "%-6s %2d  %-13s  %+5.2f %% (%+5.2f to %+5.2f)  %4d rounds, load %s\n", name, run, $2,
                100 * ($3 - 1), 100 * ($4 - 1), 100 * ($5 - 1), $6, cores }'
    done
    echo "$name: $right of $runs say \"$wanted\""
}

verdicts equal 'no difference'
equal=$right
verdicts slower slower --other_env QNNREF_FAULTS=slower=graphExecute:5%
slower=$right
if [ $# -ge 4 ]; then
    "$build/qnnrt-run" bench "$build/data/llm/w8a16_one" --backend_so "$3" --other_backend_so "$4" --graph token_ar1_cl128 | tail -n 6
fi
[ "$equal" -eq "$runs" ] && [ $((20 * slower)) -ge $((19 * runs)) ]
