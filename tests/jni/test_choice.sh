#!/bin/sh
# QnnrtDevice and QnnrtProcess of the Android layer on a JDK of the desk: which folder fits a phone, and a model in a
# second virtual machine that is killed and hangs.
#     sh tests/jni/test_choice.sh [BUILD_DIR [RELEASE_DIR]]
# RELEASE_DIR (default: 2.51 below BUILD_DIR) holds genuine libraries, without which their cases are skipped.
suite=test_choice
. "$(dirname "$0")/../harness/tool.sh"
. "$(dirname "$0")/jdk.sh"

top=$tests/..
npu=${2:-$build/qnn/2.51/onnxruntime_qnn}

mkdir "$tmp/classes"
quiet java "$javac" -nowarn -d "$tmp/classes" "$app"/java/qnnrt/*.java
quiet java_test "$javac" -Xlint:all -Werror -cp "$tmp/classes" -d "$tmp/classes" "$tests/jni/Checks.java" "$tests/jni/ChoiceTest.java"
# library OUT FILE ...
library() {
    out=$1
    shift
    ${CC:-cc} -std=c99 -O0 -fPIC -shared -fvisibility=hidden -Wall -Wextra -I"$home/include" -I"$home/include/linux" \
        -I"$top" -I"$top/tools" -o "$out" "$@" -ldl -pthread
}
quiet jni_library library "$tmp/libqnnrt_jni.so" "$app"/cpp/*.c

# Libraries that are not what their names say.
for folder in libraries wrong crash hang; do
    mkdir "$tmp/$folder"
    cp "$build/libQnnRef.so" "$tmp/$folder/"
done
cp "$build/libQnnRef.so" "$tmp/wrong/libQnnCpu.so"
echo '#include <stdlib.h>
__attribute__((constructor)) static void crash(void) { abort(); }' >"$tmp/crash.c"
echo '#include <unistd.h>
__attribute__((constructor)) static void hang(void) { for (;;) sleep(1000); }' >"$tmp/hang.c"
quiet crash library "$tmp/crash/libQnnCpu.so" "$tmp/crash.c"
quiet hang library "$tmp/hang/libQnnCpu.so" "$tmp/hang.c"

# Models: one for the reference, and metadata of others.
mkdir "$tmp/layer" "$tmp/text" "$tmp/memory" "$tmp/npu" "$tmp/llm" "$tmp/shards"
check layer "not made" "$build/examples/03_compose" "$build/libQnnRef.so" "$tmp/layer/layer.bin"
check llm "not exported" "$build/examples/llm/export" "$data/llm/model" "$tmp/llm" --type w8a16 --backend_so "$build/libQnnRef.so"
check shards "not exported" "$build/examples/llm/export" "$data/llm/model" "$tmp/shards" --type w8a16 --shards 4 --backend_so "$build/libQnnRef.so"
texts
echo text >"$tmp/text/note.txt"
# metadata FOLDER EXPRESSION ...: JSON without a binary
metadata() {
    mkdir "$tmp/$1"
    sed "$2" "$data/llm/json/w8a16_one.json" >"$tmp/$1/forward_0_json.json"
}
metadata v75 ''
metadata v75_other 's/"socModel": 57/"socModel": 60/'
metadata v73 's/"dspArch": 75/"dspArch": 73/'
metadata v79 's/"dspArch": 75/"dspArch": 79/'
metadata vtcm 's/"vtcmSize": 4/"vtcmSize": 16/'
metadata cpu 's/"backendId": 6/"backendId": 3/'

# The files of a phone.
mkdir -p "$tmp/phone/sys/devices/soc0" "$tmp/phone/dev" "$tmp/phone/proc" "$tmp/phone/vendor/lib64"
echo 557 >"$tmp/phone/sys/devices/soc0/soc_id"
: >"$tmp/phone/dev/cdsprpc-smd"
: >"$tmp/phone/vendor/lib64/libcdsprpc.so"
printf 'MemTotal:       12582912 kB\nMemFree:         1000000 kB\nMemAvailable:    4194304 kB\n' >"$tmp/phone/proc/meminfo"

genuine=
if [ -f "$npu/libQnnHtp.so" ]; then
    genuine=$npu
    cp "$data/ctx/qairt2.51/mlp_u8/forward_0.bin" "$tmp/npu/"
else
    skip genuine "there are no libraries in $npu"
fi
older=$build/qnn/2.47/onnxruntime_qnn
if [ ! -f "$older/libQnnHtp.so" ]; then
    older=
    skip older "there are no libraries of 2.47"
fi
java_test java "$home/bin/java" -Xcheck:jni -Xms32m -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.library.path="$tmp" \
    -cp "$tmp/classes" ChoiceTest "$tmp" "$genuine" "$prompt" "$expected" "$older"
finish
