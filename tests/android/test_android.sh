#!/bin/sh
# What can be known of the Android build without Android: the functions that are called and since when Android has them,
# the lines that an NDK gets, and CMake on this machine. `make android-check` does the rest.
#     sh tests/android/test_android.sh [BUILD_DIR]
suite=test_android
. "$(dirname "$0")/../harness/tool.sh"
examples=$tests/../examples

# ---- functions ------------------------------------------------------------------------------------------

# Everything is built for aarch64 by clang, which calls what an NDK's clang calls: exp2() for pow(2, x), say. The C library
# is glibc, without its macros and without bcmp(), which Android has not; atomics need no helper.
android='-w -D__ANDROID__ -D__NO_CTYPE -fno-builtin-bcmp -mno-outline-atomics'
list=$tests/android/functions.txt arm=$build/arm clang="${CLANG:-clang} --target=aarch64-linux-gnu"
grep -v '^#' "$list" >"$tmp/listed"
check functions_sorted "functions.txt is empty, or it is not sorted, or a name is there twice" \
    sh -c 'test -s "$1" && LC_ALL=C sort -c -u -k 1,1 "$1"' - "$tmp/listed"
check functions_levels "a line of functions.txt is not a name and a level" sh -c '! grep -vqE "^[a-z_A-Z0-9]+ [0-9]+$" "$1"' - "$tmp/listed"
# known NAME LEVEL FILE ...: Android has at that level what the files call
known() {
    name=$1
    shift
    if sh "$tests/android/functions.sh" "$@" >"$tmp/out" 2>&1; then good
    else bad "$name" "tests/android/functions.txt lacks (see its head): $(tr '\n' ' ' <"$tmp/out")"; fi
}
echo 'int main(void) { return 0; }' >"$tmp/probe.c"
if ! $clang -o "$tmp/probe" "$tmp/probe.c" 2>/dev/null; then
    skip functions "$clang does not work (on Debian: clang, gcc-aarch64-linux-gnu)"
elif ! env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$tests/.." B="$arm" CC="$clang" OPT=-O1 WARN= CPPFLAGS= CFLAGS="$android" LDFLAGS= \
    all lib >"$tmp/log" 2>&1; then
    bad functions_built "$(tail -n 5 "$tmp/log")"
else
    files=$(find "$arm" -type f \( -path "$arm/examples/*" -o -path "$arm/*.so" -o -path "$arm/qnnrt-*" \) ! -name '*.d')
    check functions_built "not 15 programs and libraries or more: $files" test "$(echo "$files" | wc -l)" -ge 15
    for file in $files; do known functions_known 21 "$file"; done
    # A level before the first one has none of them.
    if sh "$tests/android/functions.sh" 20 "$arm/qnnrt-run" >"$tmp/out" 2>&1; then bad functions_levels "all is there at level 20"
    else says functions_levels out 'qnnrt-run: malloc (21)'; fi
    # The Java layer; liblog is one function here.
    jdk=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
    if [ -f "$jdk/include/jni.h" ]; then
        # shellcheck disable=SC2086  # several words
        check functions_jni "libqnnrt_jni does not compile for aarch64" $clang -std=c99 -O1 $android -fPIC -shared -I"$tests/.." \
            -I"$tests/../tools" -I"$tests/android/liblog" -I"$jdk/include" -I"$jdk/include/linux" -o "$tmp/libqnnrt_jni.so" \
            "$examples"/android/app/src/main/cpp/qnnrt_jni*.c "$tests/android/liblog/log.c"
        known functions_known 24 "$tmp/libqnnrt_jni.so"
    else
        skip functions_jni "there is no JDK with a jni.h"
    fi
fi

# ---- lines for the NDK ----------------------------------------------------------------------------------

# build [NAME=VALUE ...]: build-ndk.sh with an NDK whose clang writes its arguments down
mkdir -p "$tmp/ndk/toolchains/llvm/prebuilt/any/bin"
cat >"$tmp/ndk/toolchains/llvm/prebuilt/any/bin/clang" <<'EOF'
#!/bin/sh
echo "$*" >>"$LINES"
EOF
chmod +x "$tmp/ndk/toolchains/llvm/prebuilt/any/bin/clang"
build_ndk() {
    rm -f "$tmp/lines"
    env -u CC -u CFLAGS -u ANDROID_NDK -u API LINES="$tmp/lines" "$@" sh "$examples/android/build-ndk.sh" "$tmp/made" \
        >"$tmp/out" 2>"$tmp/err"
    status=$?
}
build_ndk
is ndk_missing 2
says ndk_missing err 'ANDROID_NDK is not set'
build_ndk ANDROID_NDK="$tmp/no"
is ndk_wrong 2
says ndk_wrong err "no toolchains/llvm/prebuilt/*/bin/clang in $tmp/no"
build_ndk ANDROID_NDK="$tmp/ndk"
is ndk_builds 0
check ndk_programs "not 11 lines: $(wc -l <"$tmp/lines")" test "$(wc -l <"$tmp/lines")" -eq 11
for flag in --target=aarch64-linux-android24 -std=c99 -Wl,-z,max-page-size=16384; do
    check ndk_flags "a line without $flag" test "$(grep -cF -- "$flag " "$tmp/lines")" -eq 11
done
check ndk_library "libQnnRef.so is not linked as a library" \
    grep -qE -- '-ffp-contract=off .*-fPIC -fvisibility=hidden -shared .*libQnnRef\.so.*tools/refbackend/ref_op\.c' "$tmp/lines"
build_ndk ANDROID_NDK="$tmp/ndk" API=31
check ndk_level "API=31 is not in the lines" grep -qF -- '--target=aarch64-linux-android31' "$tmp/lines"
# A path with blanks and quotes; what is printed runs as it stands.
cp -R "$tmp/ndk" "$tmp/an NDK's folder"
build_ndk ANDROID_NDK="$tmp/an NDK's folder"
is ndk_blank 0
check ndk_blank "not 11 lines: $(cat "$tmp/err")" test "$(wc -l <"$tmp/lines")" -eq 11
cp "$tmp/lines" "$tmp/lines_made"
rm "$tmp/lines"
(cd "$examples/.." && LINES="$tmp/lines" sh "$tmp/out") 2>"$tmp/err"
check ndk_printed "other commands: $(cat "$tmp/err")" cmp "$tmp/lines" "$tmp/lines_made"

# ---- CMake ----------------------------------------------------------------------------------------------

if ! command -v cmake >/dev/null 2>&1; then
    skip cmake "cmake is not installed"
    finish
    exit
fi
top=$(cd "$tests/.." && pwd)
mkdir "$tmp/app"
cat >"$tmp/app/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.18)
project(app LANGUAGES C)
add_subdirectory("$top/examples/cmake" qnnrt)
add_executable(app app.c)
target_link_libraries(app PRIVATE qnnrt::qnnrt)
EOF
cat >"$tmp/app/app.c" <<'EOF'
#define QNNRT_IMPLEMENTATION
#include "qnnrt_llm.h"
#include <stdio.h>
int main(void)
{
    qnnrt *model; qnnrt_error err;
    if (qnnrt_open("/no/such/folder", NULL, &model, &err) == QNNRT_OK) return 1;
    puts(err.text);
    return 0;
}
EOF
# cmake_run NAME ARGUMENT ...
cmake_run() {
    name=$1
    shift
    if env -u MAKEFLAGS -u MAKELEVEL cmake "$@" >"$tmp/log" 2>&1; then good; else bad "$name" "$(tail -n 20 "$tmp/log")"; fi
}
cmake_run cmake_configures -S "$tmp/app" -B "$tmp/app/build"
cmake_run cmake_builds --build "$tmp/app/build"
check cmake_runs "the program does not name the folder" sh -c '"$1" | grep -qF /no/such/folder' - "$tmp/app/build/app"
# Pages of 16 KB on Android, and only there.
lacks cmake_pages app/build/CMakeFiles/app.dir/link.txt max-page-size
cmake_run cmake_android -S "$tmp/app" -B "$tmp/app/android" -DANDROID=1
says cmake_pages app/android/CMakeFiles/app.dir/link.txt '-Wl,-z,max-page-size=16384'

# All programs of examples/android are as in build-ndk.sh.
cmake_run cmake_all -S "$top/examples/android" -B "$tmp/all" -DCMAKE_EXPORT_COMPILE_COMMANDS=1
sources='(tools/(run|llm|cli)|examples)/[a-z0-9_/]*\.c'
grep -oE "$sources" "$tmp/lines" | sort -u >"$tmp/by_script"
grep -oE "$sources\"" "$tmp/all/compile_commands.json" | tr -d '"' | sort -u >"$tmp/by_cmake"
check cmake_programs "build-ndk.sh and CMakeLists.txt differ: $(diff "$tmp/by_script" "$tmp/by_cmake")" cmp -s "$tmp/by_script" "$tmp/by_cmake"
check cmake_ref "refbackend is not compiled without contraction" \
    grep -qE -- '-ffp-contract=off.*refbackend/ref_op\.c' "$tmp/all/compile_commands.json"
if cmake -S "$top/examples/android" -B "$tmp/old" -DANDROID_PLATFORM_LEVEL=19 >"$tmp/out" 2>&1; then bad cmake_level "API 19 is accepted"
else says cmake_level out 'qnnrt needs API level 21'; fi
finish
