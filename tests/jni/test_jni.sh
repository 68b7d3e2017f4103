#!/bin/sh
# The Java and JNI layer of the Android sample app, on a JDK of the desk and on libQnnRef.so.
#     [STOPS=2000] [OPENINGS=500] sh tests/jni/test_jni.sh [BUILD_DIR]
# STOPS: so many answers of a language model are stopped at random moments; make stop-check: 100,000. OPENINGS: so many
# openings of a model are cancelled; make stop-check: 10,000.
# Without a JDK (on Debian: openjdk-17-jdk-headless) it is skipped, or failed with QNNRT_REQUIRE_ALL=1.
suite=test_jni
. "$(dirname "$0")/../harness/tool.sh"
. "$(dirname "$0")/jdk.sh"

top=$tests/..
ref=$build/libQnnRef.so
case $ref in /*) ;; *) ref=$(pwd)/$ref ;; esac
python=
if command -v "${PYTHON:-python3}" >/dev/null 2>&1; then python=${PYTHON:-python3}; fi

# Only what Java 8 has, as on Android 7. The header that javac writes declares each native function: a C
# function of another type, or of a name that Java does not have, does not compile. What is public has its Javadoc, whole:
# a missing line is an error. Its types say their threads, whose they are, and their errors.
mkdir "$tmp/classes" "$tmp/h" "$tmp/layer" "$tmp/llm" "$tmp/begins" "$tmp/padded" "$tmp/numbers"
quiet java_8 "$javac" --release 8 -Xlint:all -Xlint:-options -Xdoclint:all/public -Werror -h "$tmp/h" -d "$tmp/classes" \
    "$app"/java/qnnrt/*.java
quiet javadoc awk -f "$tests/jni/javadoc.awk" "$app"/java/qnnrt/*.java "$app"/java/qnnrt/android/*.java
quiet java_test "$javac" -Xlint:all -Werror -cp "$tmp/classes" -d "$tmp/classes" "$tests"/jni/*.java
# The program of examples/android/README.md, in the class that it needs.
mkdir "$tmp/readme"
{
    echo 'import java.nio.ByteBuffer; import qnnrt.*; class Readme {'
    echo 'static void show(String text) { }'
    echo 'static class Info { String nativeLibraryDir; } static Info getApplicationInfo() { return new Info(); }'
    echo 'static void run(String folder, String chat, ByteBuffer image) {'
    sed -n '/^```java$/,/^```$/p' "$top/examples/android/README.md" | grep -v '^```'
    echo '} }'
} >"$tmp/readme/Readme.java"
quiet java_readme "$javac" -cp "$tmp/classes" -d "$tmp/readme" "$tmp/readme/Readme.java"
check java_readme "no program in examples/android/README.md" grep -q llm.generate "$tmp/readme/Readme.java"

# shellcheck disable=SC2086  # several words
c_library() {
    ${CC:-cc} -std=c99 -O0 -g -fPIC -shared -fvisibility=hidden -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wcast-qual \
        -I"$home/include" -I"$home/include/linux" "$@" -ldl -pthread
}
quiet probe_library c_library -o "$tmp/libprobe.so" "$tests/jni/probe.c"
declared=
for header in "$tmp"/h/qnnrt_Qnnrt*.h; do declared="$declared -include $header"; done
# shellcheck disable=SC2086  # several words
quiet jni_library c_library -Werror=missing-prototypes $declared -I"$top" -I"$top/tools" \
    -o "$tmp/libqnnrt_jni.so" "$app"/cpp/qnnrt_jni*.c -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free \
    -Wl,-rpath,"$tmp" -L"$tmp" -lprobe

sed -n 's/.*\(Java_qnnrt_[A-Za-z_]*\).*/\1/p' "$tmp"/h/qnnrt_Qnnrt*.h >"$tmp/names"
echo JNI_OnLoad >>"$tmp/names"
nm -D --defined-only "$tmp/libqnnrt_jni.so" | sed 's/.* //' | sort >"$tmp/symbols"
check exports "not the native functions of the classes alone: $(sort "$tmp/names" | diff - "$tmp/symbols" | head -n 5)" \
    sh -c 'sort "$1" | cmp - "$2"' - "$tmp/names" "$tmp/symbols"

# The models, and what the C programs compute with them.
check layer "not made" "$build/examples/03_compose" "$ref" "$tmp/layer/layer.bin"
check llm "not exported" "$build/examples/llm/export" "$data/llm/model" "$tmp/llm" --type w8a16 --shards 4 --backend_so "$ref"
cp "$tmp"/llm/*.bin "$tmp/begins/"
echo '{ "llm": { "bos": 84, "eos": [104] } }' >"$tmp/begins/qnnrt.json"
numbers=
if [ -n "$python" ]; then
    check padded "no model with more tokens" "$python" "$tests/harness/pad_model.py" "$data/llm/model" "$tmp/padded" 300
    check numbers "not exported" "$build/examples/llm/export" "$tmp/padded" "$tmp/numbers" --type f32 --backend_so "$ref"
    numbers=$tmp/numbers
else
    skip numbers "there is no python3"
fi
printf 'T\000\000\000' >"$tmp/T.raw"
run --ctx_dir "$tmp/llm" --backend_so "$ref" --graph token_ar1_cl128 --input input_ids="$tmp/T.raw" --output_dir "$tmp/c"
is qnnrt_run 0
texts
if [ ${#expected} -eq 64 ]; then good; else bad expected "no text of 64 bytes in expected.json: '$expected'"; fi

# jni_test CLASS ARGUMENT ...
jni_test() {
    # shellcheck disable=SC2086  # nothing or one word
    java_test "$1" "$home/bin/java" ${checked--Xcheck:jni} -Xms32m -Xmx32m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        --add-opens java.base/java.io=ALL-UNNAMED -Djava.library.path="$tmp" -cp "$tmp/classes" "$@"
    unwarned "${class}_jni"
}
jni_test JniTest "$ref" "$tmp/layer" "$tmp/llm" "$numbers" "$tmp/begins" "$tmp/c/token_ar1_cl128/logits.raw" "$prompt" "$expected"

mkdir "$tmp/misuse"
jni_test MisuseTest "$ref" "$tmp/layer" "$tmp/llm" "$tmp/misuse"

mkdir "$tmp/input"
jni_test InputTest "$ref" "$tmp/layer" "$tmp/llm" "$tmp/input" "${OPENINGS:-500}"

# Memory of anonymous files; that of a libcdsprpc.so as phones have it; and the cost of an exec.
mkdir "$tmp/rpc" "$tmp/work" "$tmp/work2" "$tmp/optional"
quiet optional_program ${CC:-cc} -std=c99 -O0 -Wall -Wextra -I"$top" -I"$top/tools" -o "$tmp/make_optional" "$tests/jni/optional.c" -ldl -pthread
check optional "not made" "$tmp/make_optional" "$ref" "$tmp/optional/optional.bin"
check rpcmem "fake_cdsprpc.c does not compile" ${CC:-cc} -std=c99 -O1 -fPIC -shared -o "$tmp/rpc/libcdsprpc.so" "$tests/fake/fake_cdsprpc.c"
jni_test OptionsTest "$ref" "$tmp/layer" "$tmp/llm" "$tmp/work" memfd
LD_LIBRARY_PATH=$tmp/rpc
export LD_LIBRARY_PATH
jni_test OptionsTest "$ref" "$tmp/layer" "$tmp/llm" "$tmp/work2" rpcmem
unset LD_LIBRARY_PATH
checked=
jni_test OptionsTest bench "$ref" "$tmp/layer" "$tmp/libqnnrt_jni.so"
unset checked

mkdir "$tmp/random" "$tmp/small"
check random "no random model" "$build/examples/llm/random_model" "$tmp/random" 1 7
check small "not exported" "$build/examples/llm/export" "$tmp/random" "$tmp/small" --type f32 --backend_so "$ref"
jni_test LlmTest "$ref" "$tmp/llm" "$tmp/small" "${STOPS:-2000}" "$prompt"
finish
