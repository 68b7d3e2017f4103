#!/bin/sh
# Does Android have what programs and libraries for aarch64 call of the C library, libm and libdl?
#
#   tests/android/functions.sh LEVEL FILE ...
#
# functions.txt says since which API level. The files are built on this machine, with the names of glibc: those that differ
# are translated, and what the compiler, glibc's first and last objects, C++ (libc++ is linked into what an NDK builds)
# and ggml define is left out. Prints "FILE: NAME (LEVEL)" for each function that is not listed, or newer than LEVEL.
# Exit status 1: there is one, or a file calls nothing.
set -u
LC_ALL=C
export LC_ALL
level=${1:?usage: functions.sh LEVEL FILE ...}
shift
list=$(dirname "$0")/functions.txt bad=0
skip='__gmon_start__|_ITM_(de)?registerTMCloneTable|__cxa_finalize|__libc_single_threaded|__gxx_personality_v0'
skip="$skip|__cxa_(allocate|begin|end|free|guard|pure|re|throw).*|_Unwind_.*|_Z.*|ggml_.*"
for file in "$@"; do
    nm -D --undefined-only "$file" | awk '{ print $NF }' |
        sed -e 's/@.*//' -e 's/^__isoc99_//' -e 's/^__errno_location$/__errno/' -e 's/^__libc_start_main$/__libc_init/' \
            -e 's/^__sysv_signal$/signal/' -e 's/^__environ$/environ/' -e 's/^\(stdin\|stdout\|stderr\)$/__sF/' |
        grep -vxE "$skip" | sort -u |
        awk -v file="${file##*/}" -v most="$level" '
            NR == FNR { if ($1 !~ /^#/) since[$1] = $2; next }
            { called++ }
            !($1 in since) { printf "%s: %s (not listed)\n", file, $1; bad = 1 }
            $1 in since && since[$1] > most { printf "%s: %s (%d)\n", file, $1, since[$1]; bad = 1 }
            END { if (!called) print file ": nm finds no call"; exit bad || !called }' "$list" - || bad=1
done
exit $bad
