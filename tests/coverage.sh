#!/bin/sh
# Lines and branches of each header that the unit tests run, by clang's coverage mapping.
#
#   tests/coverage.sh
#
# Builds and runs the unit tests in the configuration "cover". Every test is a program of its own, and forked children
# and crashes write nothing. Prints one line for each header and fails below 98 % of lines or 93 % of branches.
# Lines that are not covered: build/cover/<header>.txt. Needs clang, llvm-profdata and llvm-cov ($LLVM_PROFDATA, $LLVM_COV).
set -u
LC_ALL=C
export LC_ALL
B=${B:-build}
profdata=${LLVM_PROFDATA:-llvm-profdata} cov=${LLVM_COV:-llvm-cov}
for tool in clang "$profdata" "$cov"; do
    if ! command -v "$tool" >/dev/null 2>&1; then echo "coverage: $tool is not installed (on Debian: clang, llvm)"; exit 2; fi
done
rm -f "$B"/cover/*.profraw
bad=0
sh tests/suite.sh cover || bad=1
"$profdata" merge -sparse -o "$B/cover/all.profdata" "$B"/cover/*.profraw || exit 1

# llvm-cov takes the first program by its name and the others with -object.
set --
for program in "$B"/cover/test_*; do
    case $program in *.d) continue ;; esac
    if [ $# -eq 0 ]; then set -- "$program"; else set -- "$@" -object "$program"; fi
done
"$cov" report -instr-profile "$B/cover/all.profdata" "$@" >"$B/cover/report" || exit 1
for header in qnnrt.h qnnrt_json.h tools/qnnrt_compose.h tools/qnnrt_profile_log.h tools/qnnrt_llm.h \
    tools/qnnrt_weights.h tools/qnnrt_ir.h; do
    text=$B/cover/$(basename "$header").txt
    "$cov" show "$@" -instr-profile "$B/cover/all.profdata" -show-branches=count "$header" >"$text" || bad=1
    if [ ! -s "$text" ]; then echo "coverage: $text is empty"; bad=1; fi
    # Columns: file, regions, missed, %, functions, missed, %, lines, missed, %, branches, missed, %.
    awk -v header="$header" '
        $1 == header {
            lines = 100 - 100 * $9 / ($8 + 1e-9)
            branches = 100 - 100 * $12 / ($11 + 1e-9)
        }
        END {
            printf "%-28s %5.1f %% of lines  %5.1f %% of branches\n", header, lines, branches
            exit lines < 98 || branches < 93
        }' "$B/cover/report" || bad=1
done
if [ $bad -ne 0 ]; then echo "coverage: the bar is 98 % of lines and 93 % of branches, for each header"; fi
exit $bad
