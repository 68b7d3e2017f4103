#!/bin/sh
# Before a large change is handed over: coverage of each room, and mutants of what changed; writes tests/gates/REPORT.
#
#   tests/gates/gates.sh    BASE: the commit since which lines count as changed (default: that of the last report)
#                           N: mutants (100); SEED (1)
#
# The report names the commit that was looked at; a "+" follows it if files differ from that commit. Exit status 1: a room is
# below its floor in tests/gates/floors, or too few mutants were killed.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build} PYTHON=${PYTHON:-python3} report=tests/gates/REPORT
base=${BASE:-$(sed -n 's/^commit \([0-9a-f]*\).*/\1/p' $report 2>/dev/null)}
if ! base=$(git rev-parse --short --verify "$base^{commit}" 2>/dev/null); then
    echo "gates: BASE=COMMIT is missing: there is no commit '${BASE-}', and none in $report"
    exit 2
fi
commit=$(git rev-parse --short HEAD)
git diff --quiet HEAD -- . ":!$report" || commit=$commit+
bad=0
mkdir -p "$B/gates"
sh tests/project/coverage.sh >"$B/gates/coverage" 2>&1 || bad=1
"$PYTHON" tests/project/mutants.py -n "${N:-100}" -s "${SEED:-1}" -b "$base" >"$B/gates/mutants" 2>&1 || bad=1
{
    echo "Coverage of the headers by their unit tests, and mutants of what changed: written by \`make gates\`."
    echo "Below a floor of tests/gates/floors, or fewer than 92 % of the mutants killed: failed."
    echo
    echo "commit $commit"
    echo "since $base"
    echo "verdict $(if [ $bad -eq 0 ]; then echo passed; else echo failed; fi)"
    echo
    grep -E '^FAIL |% of .* lines |^coverage: |^[0-9]+ passed' "$B/gates/coverage" | awk '!seen[$0]++'
    echo
    grep -A 2 -E '^mutants: |SURVIVES$' "$B/gates/mutants" | grep -vE '^--$|: killed by '
    grep -E '^  >>|mutants killed' "$B/gates/mutants"
} >"$report.new"
mv "$report.new" "$report"
cat "$report"
exit $bad
