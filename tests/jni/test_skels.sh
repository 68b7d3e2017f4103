#!/bin/sh
# QnnrtSkels.java of the Android layer on a JDK of the desk: the DSP's files are in a folder of the app whole or not at
# all, also when their sums differ, when the process is killed, and when two processes begin at once.
#     sh tests/jni/test_skels.sh [BUILD_DIR]
# Without a JDK it is skipped, or failed with QNNRT_REQUIRE_ALL=1.
suite=test_skels
. "$(dirname "$0")/../harness/tool.sh"

app=$tests/../examples/android/app/src/main/java/qnnrt
if ! command -v javac >/dev/null 2>&1; then
    skip jdk "there is no JDK with a javac"
    finish
    exit
fi
mkdir "$tmp/classes"
step layer javac --release 8 -Xlint:all -Xlint:-options -Werror -d "$tmp/classes" "$app/QnnrtSkels.java" "$app/QnnrtCopy.java" "$app/QnnrtException.java"
step test javac -Xlint:all -Werror -cp "$tmp/classes" -d "$tmp/classes" "$tests/jni/SkelsTest.java"
java -XX:TieredStopAtLevel=1 -cp "$tmp/classes" SkelsTest "$tmp/skels" >"$tmp/java" 2>&1
grep -v '^[0-9]* passed, [0-9]* failed$' "$tmp/java"
closing=$(sed -n 's/^\([0-9]* passed, [0-9]* failed\)$/\1/p' "$tmp/java")
check java "it did not end" test -n "$closing"
# shellcheck disable=SC2086  # four words
set -- $closing
passed=$((passed + ${1-0})) failed=$((failed + ${3-0}))
finish
