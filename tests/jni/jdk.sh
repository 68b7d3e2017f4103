# Shared by the tests of the Android layer on a JDK of the desk, after harness/tool.sh. They get
#     app home         folders: sources of the layer, the JDK
# and the functions below. Without a JDK the test is skipped, and ends here.
app=$tests/../examples/android/app/src/main
javac=$(command -v javac) || javac=
home=
if [ -n "$javac" ]; then home=$(dirname "$(dirname "$(readlink -f "$javac")")"); fi
if [ -z "$home" ] || [ ! -f "$home/include/jni.h" ]; then
    skip jdk "there is no JDK with a javac and a jni.h"
    finish
    exit
fi

# quiet NAME COMMAND ...: it succeeds and prints nothing
quiet() {
    name=$1
    shift
    "$@" >"$tmp/out" 2>&1
    status=$?
    if [ $status -eq 0 ] && [ ! -s "$tmp/out" ]; then good
    else bad "$name" "status $status: $(head -n 20 "$tmp/out")"; fi
}

# java_test NAME COMMAND ...: add what a program of Java counts; the rest of what it prints is shown, and in $tmp/java
java_test() {
    class=$1
    shift
    "$@" >"$tmp/java" 2>&1
    status=$?
    grep -v -e '^[0-9]* passed, [0-9]* failed$' -e LIBNATIVE -e '^$' "$tmp/java"
    closing=$(sed -n 's/^\([0-9]* passed, [0-9]* failed\)$/\1/p' "$tmp/java" | tail -n 1)
    # shellcheck disable=SC2086  # four words
    set -- $closing
    passed=$((passed + ${1-0})) failed=$((failed + ${3-0}))
    check "$class" "the virtual machine ended with status $status" test -n "$closing"
}

# unwarned NAME: -Xcheck:jni had nothing to say about the last java_test
unwarned() {
    check "$1" "the virtual machine warns: $(grep -E 'WARNING|FATAL' "$tmp/java" | head -n 3)" \
        sh -c '! grep -qE "WARNING|FATAL" "$1"' - "$tmp/java"
}
