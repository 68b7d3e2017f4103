#!/bin/sh
# Write a list of tests, build what they need, and run them.
#
#   tests/harness/suite.sh KIND [PART]    as tests/harness/list.sh
#
# MAKE (default make) builds, on all cores unless its flags limit them; as many tests run at a time
# as there are cores (TEST_JOBS). The Makefile exports the environment. Several may run at once: each has a list of its
# own, one at a time builds (where flock is installed), and a test that runs twice waits for itself (run.sh).
set -u
kind=${1:?usage: tests/harness/suite.sh KIND [PART]}
part=${2-}
B=${B:-build} make=${MAKE:-make}
if [ "$kind" = all ]; then export SILENT=all; fi
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
mkdir -p "$B"
list=$(mktemp "$B/$kind.list.XXXXXX") || exit 1
trap 'rm -f "$list" "$list.new"' EXIT
trap 'exit 130' INT TERM HUP

# Goals of all lines, once each; "qnn", "qnn-aarch64" and "engines" are not goals of the Makefile.
wanted() { awk '$3 != "-" { gsub(",", "\n", $3); print $3 }' "$list" | sort -u; }

if command -v flock >/dev/null 2>&1; then
    exec 9>"$B/.building"
    flock 9
fi
sh tests/harness/list.sh "$kind" "$part" >"$list" || exit 1
for group in qnn qnn-aarch64 engines; do
    if wanted | grep -qx "$group"; then
        case $group in
        qnn) $make qnn-libs QNN_RELEASES="${TEST_RELEASES-2.47 2.51}" || true ;;
        qnn-aarch64) $make qnn-libs QNN_RELEASES=aarch64 || true ;;
        engines) $make engine-libs || true ;;
        esac
        sh tests/harness/list.sh "$kind" "$part" >"$list" || exit 1
    fi
done

jobs=-j$cores
case " ${MAKEFLAGS-} " in *' -j'* | *--jobserver*) jobs= ;; esac
goals=$(wanted | grep -vx 'qnn\|qnn-aarch64\|engines' | tr '\n' ' ')
# shellcheck disable=SC2086  # several words
if [ -n "$goals" ] && ! $make -k $jobs LIB_WARN=-Werror $goals; then
    { echo "build 10 - echo 'not everything was built: see the messages above'; exit 1"; cat "$list"; } >"$list.new"
    mv "$list.new" "$list"
fi
exec 9>&-
sh tests/harness/run.sh "$list"
