#!/bin/sh
# Run the programs of a list, one line for each, and sum up.
#
#   tests/harness/run.sh LIST
#
# A line of LIST is one of
#   label seconds goals command ...          the command is a line for sh; seconds is its time limit
#   label seconds,anycore goals command ...  the same, not bound to one core
#   label skip goals reason ...              counts as one skipped test
#   # comment
# Goals are the targets built for it; this script ignores them (tests/harness/list.sh, tests/harness/suite.sh).
# A program prints "N passed, N failed" or "N passed, N failed, N skipped" in its last such line.
# A program that crashes, takes too long or prints no such line is one failure. Its output goes to
# build/log/<label>.log and is shown when a test failed. With QNNRT_REQUIRE_ALL=1 a skipped
# test is a failure. TEST_JOBS programs (default: one for each core) run at a time, each bound to one
# core: the vendor's emulator spins for its second thread. While another run.sh runs a test of the same label, it waits
# (where flock is installed): both write its log, and may write the same folders.
set -u
LC_ALL=C
export LC_ALL

# Hundredths of a second since a fixed moment.
now() {
    if read -r up _ 2>/dev/null </proc/uptime; then
        echo "${up%.*}${up#*.}"
    else
        echo "$(date +%s)00"
    fi
}

# line STATE LABEL PASSED FAILED SKIPPED HUNDREDTHS
line() {
    text="$3 passed"
    if [ "$4" -gt 0 ]; then text="$text, $4 failed"; fi
    if [ "$5" -gt 0 ]; then text="$text, $5 skipped"; fi
    printf '%-4s  %-32s %-36s %4d.%d s\n' "$1" "$2" "$text" $(($6 / 100)) $(($6 / 10 % 10))
}

# one LABEL LIMIT COMMAND: run it; its lines, and "passed failed skipped" in $results
one() {
    label=$1 limit=$2 command=$3
    if [ "$limit" = skip ]; then
        if [ "${QNNRT_REQUIRE_ALL-}" = 1 ]; then
            echo "0 1 0" >>"$results"
            line FAIL "$label" 0 1 0 0
            printf '      skipped, but QNNRT_REQUIRE_ALL=1: %s\n' "$command"
        else
            echo "0 0 1" >>"$results"
            line skip "$label" 0 0 1 0
            printf '      %s\n' "$command"
        fi
        return
    fi

    prefix=$pin
    case $limit in *,anycore) prefix= ;; esac
    limit=${limit%%,*}
    if [ -n "$have_timeout" ]; then prefix="$prefix timeout -k 10 $limit"; fi
    log=$logs/$label.log
    mkdir -p "${log%/*}"
    if [ -n "$have_flock" ]; then
        exec 8>"${log%.log}.lock"
        flock 8
    fi

    start=$(now)
    # shellcheck disable=SC2086  # the prefix is several words
    (exec </dev/null >"$log" 2>&1 3<&- 8>&- && exec $prefix sh -c "$command") &
    child=$!
    wait "$child" 2>/dev/null
    status=$?
    child=
    took=$(($(now) - start))

    # Vendor output may come before the closing line, or within it.
    closing=$(tr '\r' '\n' <"$log" | grep -aoE '[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' | tail -n 1)
    why=
    # shellcheck disable=SC2086  # split into words
    set -- $closing
    p=${1-0} f=${3-0} s=${5-0}
    if [ $status -eq 124 ] || { [ $status -eq 137 ] && [ $took -ge $((limit * 100)) ]; }; then
        why="took longer than $limit s"
    elif [ $status -gt 128 ]; then
        why="killed by signal $((status - 128)) ($(kill -l $((status - 128)) 2>/dev/null))"
    elif [ -z "$closing" ]; then
        why="ended with status $status and no closing line"
    elif [ $status -ne 0 ] && [ "$f" -eq 0 ]; then
        why="ended with status $status"
    fi
    if [ -n "$why" ]; then f=$((f + 1)); fi
    if [ "$s" -gt 0 ] && [ "${QNNRT_REQUIRE_ALL-}" = 1 ]; then
        why="${why:+$why; }skipped $s, but QNNRT_REQUIRE_ALL=1"
        f=$((f + s)) s=0
    fi
    echo "$p $f $s" >>"$results"

    if [ "$f" -gt 0 ]; then
        line FAIL "$label" "$p" "$f" "$s" "$took"
        if [ -n "$why" ]; then printf '      %s\n' "$why"; fi
        printf '      command: %s\n      whole output: %s, its end:\n' "$command" "$log"
        tail -n 60 "$log" | tr '\r' '\n' | sed 's/^/    | /'
    else
        line ok "$label" "$p" "$f" "$s" "$took"
        if [ "$s" -gt 0 ]; then grep -a ': skipped: ' "$log" | head -n 8 | sed 's/^/      /'; fi
    fi
    exec 8>&-
}

# worker CORE: take the next free line of the list until none is left
worker() {
    pin=
    if [ -n "$1" ] && taskset -c "$1" true 2>/dev/null; then pin="taskset -c $1"; fi
    child=
    trap 'if [ -n "$child" ]; then kill "$child" 2>/dev/null; fi; exit 130' INT TERM HUP
    number=0
    while read -r label limit goals command <&3; do
        case $label in '' | '#'*) continue ;; esac
        number=$((number + 1))
        mkdir "$taken/$number" 2>/dev/null || continue
        # Print its output in one piece.
        one "$label" "$limit" "$command" >"$taken/$number/out"
        cat "$taken/$number/out"
    done 3<"$list"
}

list=${1:?usage: tests/harness/run.sh LIST}
logs=${B:-build}/log
mkdir -p "$logs"
taken=$(mktemp -d "$logs/taken.XXXXXX") || exit 1
results=$taken/results
: >"$results"
trap 'rm -rf "$taken"' EXIT

have_flock=
if command -v flock >/dev/null 2>&1; then have_flock=1; fi
have_timeout=
if timeout -k 1 5 true 2>/dev/null; then have_timeout=1; fi

# The cores that this process may use, one word each; they need not begin with 0 in a container.
cores=
if command -v taskset >/dev/null 2>&1; then
    for range in $(taskset -cp $$ 2>/dev/null | sed -n 's/.*: *//p' | tr ',' ' '); do
        core=${range%-*}
        while [ "$core" -le "${range#*-}" ]; do
            cores="$cores $core"
            core=$((core + 1))
        done
    done
fi
# shellcheck disable=SC2086  # split into words
set -- $cores
count=${TEST_JOBS:-$#}
if [ "$count" -lt 1 ]; then count=1; fi

workers=
trap 'for worker in $workers; do kill "$worker" 2>/dev/null; done; exit 130' INT TERM HUP
number=0
while [ $number -lt "$count" ]; do
    core=${1-}
    if [ $# -gt 0 ]; then shift; fi
    worker "$core" &
    workers="$workers $!"
    number=$((number + 1))
done
wait

# shellcheck disable=SC2046  # three words
set -- $(awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }' "$results")
if [ $(($1 + $2 + $3)) -eq 0 ]; then
    echo "nothing was run"
    set -- 0 1 0
fi
if [ "$3" -gt 0 ]; then
    echo "$1 passed, $2 failed, $3 skipped"
else
    echo "$1 passed, $2 failed"
fi
[ "$2" -eq 0 ]
