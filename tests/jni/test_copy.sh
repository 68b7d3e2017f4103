#!/bin/sh
# QnnrtCopy.java of the Android layer on a JDK of the desk: a copy of a model is whole or not there, also when it is
# cancelled, when the storage is full, and when the process is killed.
#     sh tests/jni/test_copy.sh [BUILD_DIR]
# Without a JDK it is skipped, or failed with QNNRT_REQUIRE_ALL=1; so is the full storage without Linux's unshare.
suite=test_copy
. "$(dirname "$0")/../harness/tool.sh"

app=$tests/../examples/android/app/src/main
if ! command -v javac >/dev/null 2>&1; then
    skip jdk "there is no JDK with a javac"
    finish
    exit
fi

# copy_test COMMAND ...: add what CopyTest counts
copy_test() {
    "$@" >"$tmp/java" 2>&1
    grep -v '^[0-9]* passed, [0-9]* failed$' "$tmp/java"
    closing=$(sed -n 's/^\([0-9]* passed, [0-9]* failed\)$/\1/p' "$tmp/java")
    check java "it did not end" test -n "$closing"
    # shellcheck disable=SC2086  # four words
    set -- $closing
    passed=$((passed + ${1-0})) failed=$((failed + ${3-0}))
}

mkdir "$tmp/classes" "$tmp/app" "$tmp/small"
step layer javac --release 8 -Xlint:all -Xlint:-options -Werror -d "$tmp/classes" "$app/java/qnnrt/QnnrtCopy.java" "$app/java/qnnrt/QnnrtException.java"
step test javac -Xlint:all -Werror -cp "$tmp/classes" -d "$tmp/classes" "$tests/jni/CopyTest.java"
java="java -XX:TieredStopAtLevel=1 -cp $tmp/classes CopyTest"
# shellcheck disable=SC2086  # several words
copy_test $java "$tmp/app"
small="mount -t tmpfs -o size=4m none $tmp/small"
if unshare -rm sh -c "$small" 2>/dev/null; then
    copy_test unshare -rm sh -c "$small && mkdir $tmp/small/app && $java $tmp/small/app full"
else
    skip full "no storage of 4 MB can be made"
fi
finish
