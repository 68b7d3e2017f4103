#!/bin/sh
# JSONTestSuite through build/c99/json_check, where QNNRT_SAMPLES/json_suite has its files: y_* is accepted,
# n_* refused, and i_* as listed below. The project's own cases are in tests/json/test_json_cases.c.
# The last line is "N passed, N failed".
set -u
LC_ALL=C
export LC_ALL

cases=${QNNRT_SAMPLES:-/nowhere}/json_suite
work=build/json_suite
if [ ! -d "$cases" ]; then
    echo "test_json_suite: skipped: QNNRT_SAMPLES names no folder with json_suite/"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
rm -rf "$work"
mkdir -p "$work"

# Two texts that a reader without a limit accepts; the suite has their halves.
repeat() { awk -v n="$1" -v s="$2" 'BEGIN { for (i = 0; i < n; ++i) printf "%s", s }'; }
{ repeat 100000 '['; repeat 100000 ']'; } >"$work/n_100000_arrays_closed.json"
{ repeat 100000 '{"a":'; repeat 1 1; repeat 100000 '}'; } >"$work/n_100000_objects_closed.json"

passed=0 failed=0
fail() { failed=$((failed + 1)); echo "test_json_suite: $1"; }

if ! build/c99/json_check "$cases"/*.json "$work"/*.json >"$work/verdicts"; then
    fail "json_check could not read every file"
fi
while IFS= read -r line; do
    file=${line%%: *} verdict=${line#*: }
    name=${file##*/}
    # Numbers of any size are text; qnnrt_json_f64() reports that 1e400 has no float64.
    case $name in
    y_*) want=accept ;;
    n_*) want=refuse ;;
    i_number_* | i_structure_UTF-8_BOM_empty_object.json) want=accept ;;
    i_*) want=refuse ;;
    *) want=unknown ;;
    esac
    if [ "${verdict%% *}" = $want ]; then passed=$((passed + 1)); else fail "$name: not $want: $verdict"; fi
done <"$work/verdicts"

# 95 of y_, 188 of n_ and 35 of i_ in the suite, and two of our own
if [ $((passed + failed)) -ne 320 ]; then fail "320 cases expected, $((passed + failed)) found"; fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
