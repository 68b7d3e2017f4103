#!/bin/sh
# make times: seconds of CPU that changes cost, in a build folder of its own. Nothing is asserted: machines differ.
set -u
make=${MAKE:-make} B=build/times
export MAKEFLAGS='' MAKELEVEL=''

# cost WHAT TARGET ...: print the CPU of a make
cost() {
    what=$1
    shift
    (
        $make -s "$@" B=$B >/dev/null 2>&1 || echo "failed: make $*" >&2
        times
    ) | awk -v what="$what" 'NR == 2 { split($1 "m" $2, t, "[ms]+"); printf "%-44s %6.1f s\n", what, 60 * (t[1] + t[3]) + t[2] + t[4] }'
}

rm -rf $B
cost 'qnnrt-run and its headers, cold' $B/qnnrt-run
rm -rf $B/units $B/qnnrt-run
cost 'qnnrt-run, all units' $B/qnnrt-run
touch tools/run/draw/svg.c
cost 'qnnrt-run, one unit changed' $B/qnnrt-run
cost 'make check, cold' check
cost 'make check, nothing changed' check
touch qnnrt.h
cost 'make check T=wire, qnnrt.h changed' check T=wire
touch qnnrt.h
cost 'make check, qnnrt.h changed' check
rm -rf $B
