#!/bin/sh
# QnnrtCopy.java of the Android layer on a JDK of the desk: a copy of a model is whole or not there, also when it is
# cancelled, when the storage is full, and when the process is killed.
#     sh tests/jni/test_copy.sh [BUILD_DIR]
# Without a JDK it is skipped, or failed with QNNRT_REQUIRE_ALL=1; so is the full storage without Linux's unshare.
suite=test_copy
. "$(dirname "$0")/../harness/tool.sh"
. "$(dirname "$0")/jdk.sh"

mkdir "$tmp/classes" "$tmp/app" "$tmp/small"
step layer javac --release 8 -Xlint:all -Xlint:-options -Werror -d "$tmp/classes" "$app/java/qnnrt/QnnrtCopy.java" "$app/java/qnnrt/QnnrtException.java"
step test javac -Xlint:all -Werror -cp "$tmp/classes" -d "$tmp/classes" "$tests/jni/Checks.java" "$tests/jni/CopyTest.java"
java="java -XX:TieredStopAtLevel=1 -cp $tmp/classes CopyTest"
# shellcheck disable=SC2086  # several words
java_test java $java "$tmp/app"
small="mount -t tmpfs -o size=4m none $tmp/small"
if unshare -rm sh -c "$small" 2>/dev/null; then
    java_test java unshare -rm sh -c "$small && mkdir $tmp/small/app && $java $tmp/small/app full"
else
    skip full "no storage of 4 MB can be made"
fi
finish
