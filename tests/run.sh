#!/bin/sh
# Run the programs of a list one after the other, one line for each, and sum up.
#
#   tests/run.sh LIST [PART]      only labels that contain PART
#
# A line of LIST is one of
#   label seconds command ...         the command is a line for sh; seconds is its time limit
#   label seconds,anycore command ... the same, not bound to one core
#   label skip reason ...             counts as one skipped test
#   # comment
# A program says "N passed, N failed" or "N passed, N failed, N skipped" in its last such line.
# One that crashes, takes too long or says nothing of the kind is one failure. Its output goes to
# build/log/<label>.log and is shown when something failed. With QNNRT_REQUIRE_ALL=1 a skipped
# test is a failure. The other programs run on one core: the vendor's emulator spins for its
# second thread.
set -u
LC_ALL=C
export LC_ALL

list=${1:?usage: tests/run.sh LIST [PART]}
part=${2-}
logs=build/log
pass=0 fail=0 skip=0

pin=
if command -v taskset >/dev/null 2>&1; then
    # The first core that this process may use; it need not be 0 in a container.
    core=$(taskset -cp $$ 2>/dev/null | sed -n 's/.*: *\([0-9][0-9]*\).*/\1/p')
    if [ -n "$core" ] && taskset -c "$core" true 2>/dev/null; then pin="taskset -c $core"; fi
fi
have_timeout=
if timeout -k 1 5 true 2>/dev/null; then have_timeout=1; fi

# Hundredths of a second since some moment.
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

child=
trap 'if [ -n "$child" ]; then kill "$child" 2>/dev/null; fi; exit 130' INT TERM HUP

while read -r label limit command <&3; do
    case $label in '' | '#'*) continue ;; esac
    case $label in *"$part"*) ;; *) continue ;; esac

    if [ "$limit" = skip ]; then
        if [ "${QNNRT_REQUIRE_ALL-}" = 1 ]; then
            fail=$((fail + 1))
            line FAIL "$label" 0 1 0 0
            printf '      skipped, but QNNRT_REQUIRE_ALL=1: %s\n' "$command"
        else
            skip=$((skip + 1))
            line skip "$label" 0 0 1 0
            printf '      %s\n' "$command"
        fi
        continue
    fi

    prefix=$pin
    case $limit in *,anycore) prefix= ;; esac
    limit=${limit%%,*}
    if [ -n "$have_timeout" ]; then prefix="$prefix timeout -k 10 $limit"; fi
    log=$logs/$label.log
    mkdir -p "${log%/*}"

    start=$(now)
    # shellcheck disable=SC2086  # the prefix is several words
    (exec </dev/null >"$log" 2>&1 3<&- && exec $prefix sh -c "$command") &
    child=$!
    wait "$child" 2>/dev/null
    status=$?
    child=
    took=$(($(now) - start))

    # Vendor output may stand before the closing line, even within it.
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
    pass=$((pass + p)) fail=$((fail + f)) skip=$((skip + s))

    if [ "$f" -gt 0 ]; then
        line FAIL "$label" "$p" "$f" "$s" "$took"
        if [ -n "$why" ]; then printf '      %s\n' "$why"; fi
        printf '      command: %s\n      whole output: %s, its end:\n' "$command" "$log"
        tail -n 60 "$log" | tr '\r' '\n' | sed 's/^/    | /'
    else
        line ok "$label" "$p" "$f" "$s" "$took"
        if [ "$s" -gt 0 ]; then grep -a ': skipped: ' "$log" | head -n 8 | sed 's/^/      /'; fi
    fi
done 3<"$list"

if [ $((pass + fail + skip)) -eq 0 ]; then
    echo "nothing was run"
    fail=1
fi
if [ $skip -gt 0 ]; then
    echo "$pass passed, $fail failed, $skip skipped"
else
    echo "$pass passed, $fail failed"
fi
[ $fail -eq 0 ]
