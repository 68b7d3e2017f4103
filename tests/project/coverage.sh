#!/bin/sh
# Lines and branches of each room of the headers that the unit tests run, by clang's coverage mapping.
#
#   tests/project/coverage.sh [--write]    --write: raise the floors to what is measured
#
# Builds and runs the unit tests in the configuration "cover". Every test is a program of its own, and forked children
# and crashes write nothing. Prints one line for each header, and fails when a room is below its floor in
# tests/gates/floors. Lines that are not covered: build/cover/<header>.txt.
# Needs clang, python3, llvm-profdata and llvm-cov ($LLVM_PROFDATA, $LLVM_COV).
set -u
LC_ALL=C
export LC_ALL
B=${B:-build} PYTHON=${PYTHON:-python3}
profdata=${LLVM_PROFDATA:-llvm-profdata} cov=${LLVM_COV:-llvm-cov}
for tool in clang "$PYTHON" "$profdata" "$cov"; do
    if ! command -v "$tool" >/dev/null 2>&1; then echo "coverage: $tool is not installed (on Debian: clang, llvm, python3)"; exit 2; fi
done
rm -f "$B"/cover/*.profraw
bad=0
sh tests/harness/suite.sh cover || bad=1
"$profdata" merge -sparse -o "$B/cover/all.profdata" "$B"/cover/*.profraw || exit 1

# llvm-cov takes the first program by its name and the others with -object.
write=${1-}
set --
for program in $(sh tests/harness/list.sh cover | sed 's/.* //'); do
    if [ $# -eq 0 ]; then set -- "$program"; else set -- "$@" -object "$program"; fi
done
headers=$(ls qnnrt*.h tools/qnnrt_*.h tools/engines/qnnrt_*.h)
# shellcheck disable=SC2086  # several words
for form in lcov text; do
    "$cov" export -format=$form -skip-functions -instr-profile "$B/cover/all.profdata" "$@" $headers >"$B/cover/$form" || exit 1
done
for header in $headers; do
    "$cov" show "$@" -instr-profile "$B/cover/all.profdata" -show-branches=count "$header" >"$B/cover/$(basename "$header").txt" || bad=1
done
# shellcheck disable=SC2086  # there may be none
"$PYTHON" tests/project/coverage.py "$B/cover/lcov" "$B/cover/text" tests/gates/floors $write || bad=1
exit $bad
