#!/bin/sh
# The coroutines of the Android layer, Qnnrt.kt, on a desk and on libQnnRef.so: make kotlin-check
#     [CANCELS=10000] sh tests/jni/kotlin.sh [BUILD_DIR]
# CANCELS: so many coroutines are cancelled at random moments. Needs a JDK and mvn (maven/fetch.sh).
suite=kotlin
. "$(dirname "$0")/../harness/tool.sh"
. "$(dirname "$0")/jdk.sh"
. "$(dirname "$0")/maven.sh"

top=$tests/..

# need NAME COMMAND ...: a step without which the test ends
need() {
    before=$failed
    step "$@"
    [ "$failed" -eq "$before" ] || { finish; exit; }
}

mkdir "$tmp/classes" "$tmp/llm"
need java javac --release 8 -Xlint:-options -d "$tmp/classes" "$app"/java/qnnrt/*.java
# kotlin NAME FILE
kotlin() {
    need "$1" java -cp "$jars" org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -no-stdlib -no-reflect -Werror -jvm-target 11 \
        -cp "$tmp/classes:$jars" -d "$tmp/classes" "$2"
}
kotlin layer_compiles "$app/kotlin/qnnrt/Qnnrt.kt"
kotlin test_compiles "$tests/jni/kotlin/CoroutineTest.kt"
need jni ${CC:-cc} -std=c99 -O1 -fPIC -shared -fvisibility=hidden -I"$top" -I"$top/tools" -I"$home/include" -I"$home/include/linux" \
    -o "$tmp/libqnnrt_jni.so" "$app"/cpp/qnnrt_jni*.c -ldl -pthread
ref=$(cd "$build" && pwd)/libQnnRef.so
need llm "$build/examples/llm/export" "$data/llm/model" "$tmp/llm" --type w8a16 --shards 4 --backend_so "$ref"

texts
# -ea: coroutines check themselves, too
java_test java java -ea -Xcheck:jni -Xmx256m -Djava.library.path="$tmp" -cp "$tmp/classes:$jars" CoroutineTestKt \
    "$ref" "$tmp/llm" "${CANCELS:-10000}" "$prompt" "$expected"
unwarned jni_check
finish
