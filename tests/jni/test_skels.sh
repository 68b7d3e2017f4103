#!/bin/sh
# QnnrtSkels.java of the Android layer on a JDK of the desk: the DSP's files are in a folder of the app whole or not at
# all, also when their sums differ, when the process is killed, and when two processes begin at once.
#     sh tests/jni/test_skels.sh [BUILD_DIR]
# Without a JDK it is skipped, or failed with QNNRT_REQUIRE_ALL=1.
suite=test_skels
. "$(dirname "$0")/../harness/tool.sh"
. "$(dirname "$0")/jdk.sh"

mkdir "$tmp/classes"
step layer javac --release 8 -Xlint:all -Xlint:-options -Werror -d "$tmp/classes" "$app/java/qnnrt/QnnrtSkels.java" "$app/java/qnnrt/QnnrtCopy.java" "$app/java/qnnrt/QnnrtException.java"
step test javac -Xlint:all -Werror -cp "$tmp/classes" -d "$tmp/classes" "$tests/jni/Checks.java" "$tests/jni/SkelsTest.java"
java_test java java -XX:TieredStopAtLevel=1 -cp "$tmp/classes" SkelsTest "$tmp/skels"
finish
