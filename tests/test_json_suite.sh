#!/bin/sh
# JSONTestSuite (tests/data/json_suite) through build/json_check: y_* accepted, n_* refused, and of i_*
# what the README there says. The last line is "N passed, N failed".
set -u
LC_ALL=C
export LC_ALL

cases=tests/data/json_suite
work=build/json_suite
rm -rf "$work"
mkdir -p "$work"

# The two that are not kept because of their size, and two that a reader without a limit would take.
repeat() { awk -v n="$1" -v s="$2" 'BEGIN { for (i = 0; i < n; ++i) printf "%s", s }'; }
repeat 100000 '[' >"$work/n_structure_100000_opening_arrays.json"
{ repeat 50000 '[{"":'; echo; } >"$work/n_structure_open_array_object.json"
{ repeat 100000 '['; repeat 100000 ']'; } >"$work/n_100000_arrays_closed.json"
{ repeat 100000 '{"a":'; repeat 1 1; repeat 100000 '}'; } >"$work/n_100000_objects_closed.json"

passed=0 failed=0
fail() { failed=$((failed + 1)); echo "test_json_suite: $1"; }

if ! build/json_check "$cases"/*.json "$work"/*.json >"$work/verdicts"; then
    fail "json_check could not read every file"
fi
while IFS= read -r line; do
    file=${line%%: *} verdict=${line#*: }
    name=${file##*/}
    case $name in
    y_object_escaped_null_in_key.json | y_string_null_escape.json) want=refuse ;;     # \u0000, by design
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
