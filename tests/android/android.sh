#!/bin/sh
# make android-check: is what we build for Android what an NDK would build, and does it run?
#
#   BIONIC=FOLDER        sources of Android's C library (default build/bionic): its headers, and for each API level
#                        libraries of empty functions made from its lists of symbols. The check of levels is exact.
#   ANDROID_NDK=FOLDER   or an NDK
#   ANDROID_QNN=FOLDER   Qualcomm's libraries for Android: libQnnSystem.so reads metadata, libQnnHtp.so names what it lacks
#   LEVELS               API levels (default 21 24 28 31)
#   B=FOLDER             the build folder, a relative path (default build)
#
# For each level: the headers as C99 and C++11 without a warning; the tools, the examples and libQnnRef.so by
# examples/android/build-ndk.sh, linked against what the level has; what readelf says of them. Then CMake. Then the
# programs of the lowest level run under qemu-user with tests/android/shim.c, and their results are those of this
# machine's. Without the sources and without an NDK it is skipped.
cd "$(dirname "$0")/../.." || exit 1
suite=android-check
. tests/harness/tool.sh

B=${B:-build} PYTHON=${PYTHON:-python3} CLANG=${CLANG:-clang} QEMU=${QEMU:-qemu-aarch64-static}
cross=${AARCH64_CC:-aarch64-linux-gnu-gcc} cross_root=${AARCH64_SYSROOT:-/usr/aarch64-linux-gnu}
levels=${LEVELS:-21 24 28 31}
bionic=${BIONIC-} ndk=${ANDROID_NDK-} qnn=${ANDROID_QNN-}
work=$B/android-check triple=aarch64-linux-android
warnings='-Werror -Wpedantic -Wconversion -Wshadow -Wcast-qual'
if [ -z "$bionic$ndk" ] && [ -f "$B/bionic/libc/libc.map.txt" ]; then bionic=$B/bionic; fi

there() { command -v "$1" >/dev/null 2>&1; }

if [ -z "$bionic$ndk" ]; then
    skip all "neither BIONIC=FOLDER (sources of Android's C library: libc/include, libc/kernel, */*.map.txt) nor ANDROID_NDK=FOLDER is given"
    finish
    exit
fi
if [ -n "$bionic" ] && [ ! -f "$bionic/libc/libc.map.txt" ]; then bad bionic "no libc/libc.map.txt in $bionic"; finish; exit; fi
for program in readelf nm; do there $program || { bad $program "it is not installed"; finish; exit; }; done
if [ -n "$bionic" ]; then
    for program in "$CLANG" ld.lld "$PYTHON"; do there "$program" || { skip all "$program is not installed"; finish; exit; }; done
fi
mkdir -p "$work"

# ---- a sysroot for each level -----------------------------------------------------------------------

# sysroot LEVEL: headers, libraries of empty functions, first and last objects; where a clang for Android looks
sysroot() {
    root=$work/sysroot-$1 lib=$work/sysroot-$1/usr/lib/$triple/$1
    rm -rf "$root" && mkdir -p "$root/usr/include" "$lib" &&
        cp -r "$bionic/libc/include/." "$bionic/libc/kernel/uapi/." "$bionic/libc/kernel/android/uapi/." "$root/usr/include/" &&
        cp -r "$root/usr/include/asm-arm64/asm" "$root/usr/include/" &&
        "$PYTHON" tests/android/stubs.py "$bionic" "$root" "$1" || return 1
    for name in c dl m; do
        "$CLANG" --target=$triple$1 -fuse-ld=lld -nostdlib -shared -Wl,-soname,lib$name.so \
            -Wl,--version-script="$root/lib$name.map" -o "$lib/lib$name.so" "$root/lib$name.s" || return 1
    done
    "$CLANG" --target=$triple$1 -DAPI="$1" -DPROGRAM -c -o "$lib/crtbegin_dynamic.o" tests/android/crt.S &&
        "$CLANG" --target=$triple$1 -DAPI="$1" -c -o "$lib/crtbegin_so.o" tests/android/crt.S || return 1
    echo '.section .note.GNU-stack, "", %progbits' >"$root/end.s"
    for name in android so; do "$CLANG" --target=$triple$1 -c -o "$lib/crtend_$name.o" "$root/end.s" || return 1; done
}

# compiler LEVEL: its command line. Our clang has no library of compiler helpers for Android: none is needed.
compiler() {
    if [ -n "$ndk" ]; then
        for folder in "$ndk"/toolchains/llvm/prebuilt/*/bin; do echo "$folder/clang --target=$triple$1"; done | head -n 1
    else
        echo "$CLANG --target=$triple$1 --sysroot=$work/sysroot-$1 -fuse-ld=lld -nodefaultlibs -lc -Wno-unused-command-line-argument"
    fi
}

# ---- what readelf says --------------------------------------------------------------------------------

# elf LEVEL FILE: a line of the table; its faults
elf() {
    name=${2##*/}
    readelf -W -h -l -d -n "$2" >"$work/elf" 2>/dev/null
    needed=$(sed -n 's/.*(NEEDED).*\[\(.*\)\.so\]/\1/p' "$work/elf" | sort | tr '\n' ' ')
    pages=$(awk '$1 == "LOAD" { print $NF }' "$work/elf" | sort -u | tr '\n' ' ')
    note=$(awk '$1 == "Android" { on = 1; next } on && /description data/ { print $3; exit }' "$work/elf")
    if [ -z "$note" ]; then note=$(sed -n 's/.*NT_VERSION.*description data: \(..\).*/\1/p' "$work/elf"); fi
    nm -D --undefined-only "$2" | awk '{ print $NF }' >"$work/imports"
    sed 's/@.*//' "$work/imports" >>"$work/imports-$1"
    versions=$(sed -n 's/.*@//p' "$work/imports" | sort -u | tr '\n' ' ')
    faults=
    case $name in
    *.so) kind=library ;;
    *)
        kind=program
        grep -q 'program interpreter: /system/bin/linker64\]' "$work/elf" || faults="$faults interpreter"
        grep -q 'FLAGS_1.*PIE' "$work/elf" || faults="$faults PIE"
        ;;
    esac
    grep -q 'Machine: *AArch64' "$work/elf" || faults="$faults machine"
    grep -q 'Type: *DYN' "$work/elf" || faults="$faults type"
    for word in $needed; do
        case $name:$word in *:libc | *:libdl | *:libm | libqnnrt_jni.so:liblog) ;; *) faults="$faults needs:$word" ;; esac
    done
    # Level 21 has one version; a symbol of a later one is newer than our oldest level.
    [ "$versions" = "LIBC " ] || faults="$faults versions"
    [ "$pages" = "0x4000 " ] || faults="$faults pages"
    [ "$((0x${note:-0}))" -eq "$1" ] || faults="$faults note"
    if grep -q 'TEXTREL' "$work/elf"; then faults="$faults text-relocations"; fi
    printf '%5s  %-18s %-8s %8s  %-18s %-6s %7s  %-7s %4s  %s\n' "$1" "$name" $kind "$(wc -c <"$2")" "$needed" "$versions" \
        "$(wc -l <"$work/imports")" "$pages" "$((0x${note:-0}))" "${faults:-ok}"
    if [ -z "$faults" ]; then good; else bad "api_$1" "$name:$faults"; fi
}

# ---- each level ---------------------------------------------------------------------------------------

head='  API  file               kind        bytes  needs              version imports  pages   note'
# Header and options, with commas: two builds of the core at each level, each implementation of tools/headers at the lowest.
variants='qnnrt.h,-DQNNRT_IMPLEMENTATION qnnrt.h,-DQNNRT_NO_JSON,-DQNNRT_NO_ERROR_TEXT,-DQNNRT_IMPLEMENTATION
    tools/qnnrt_llm.h,-DQNNRT_IMPLEMENTATION,-DQNNRT_SAMPLE_IMPLEMENTATION,-DQNNRT_LLM_IMPLEMENTATION'
implementations=$(awk '!/^#/ && $3 != "-" && NF { print $1 ($7 ~ /friend/ ? ",-DQNNRT_IMPLEMENTATION" : "") ",-D" $2 "_IMPLEMENTATION" }' tools/headers)
lowest=${levels%% *}
for api in $levels; do
    out=$work/api-$api
    if [ -n "$bionic" ] && ! sysroot "$api" >"$tmp/log" 2>&1; then bad "sysroot_$api" "$(head -n 12 "$tmp/log")"; continue; fi
    cc=$(compiler "$api")
    for language in c99 c++11; do
        for what in $variants $([ "$api" != "$lowest" ] || echo "$implementations"); do
            header=${what%%,*}
            case $language in c99) x=c ;; *) x=c++ ;; esac
            # shellcheck disable=SC2086  # several words
            step "headers_$api $header as $language" $cc -x $x -std=$language -fsyntax-only -Wall -Wextra $warnings -I. -Itools -Itools/engines $(echo "${what#*,}" | tr , ' ') "$header"
        done
    done
    # The libraries have what the level has, and nothing newer: aligned_alloc is of 28, memfd_create of 30.
    for newer in aligned_alloc:28 memfd_create:30; do
        echo "void ${newer%:*}(void); int main(void) { ${newer%:*}(); return 0; }" >"$work/newer.c"
        # shellcheck disable=SC2086
        if $cc -w -fno-builtin -o "$work/newer" "$work/newer.c" >"$tmp/log" 2>&1; then links=1; else links=0; fi
        if [ $links -eq $((api >= ${newer#*:})) ]; then good; else bad "level_$api" "links with ${newer%:*}: $links"; fi
    done
    rm -rf "$out" "$work/imports-$api"
    if ! API=$api CC=$cc CFLAGS=$warnings sh examples/android/build-ndk.sh "$out" >"$tmp/log" 2>&1; then
        bad "build_$api" "$(grep -v '^clang' "$tmp/log" | head -n 20)"
        continue
    fi
    if [ -n "$head" ]; then echo "$head"; head=; fi
    for file in "$out"/*; do elf "$api" "$file"; done
done

# ---- the list of functions ------------------------------------------------------------------------------

if [ -n "$bionic" ] && [ -f "$work/imports-$lowest" ]; then
    "$PYTHON" tests/android/stubs.py "$bionic" --levels >"$work/levels"
    sed 's/^std\(in\|out\|err\)$/__sF/' "$work/imports-$lowest" | sort -u >"$work/called"
    grep -v '^#' tests/android/functions.txt | sort >"$work/since"
    sed 's/ .*//' "$work/since" >"$work/listed"
    wrong=$(awk 'NR == FNR { level[$1] = $2; next } level[$1] != $2 { printf "%s %s (%s) ", $1, $2, level[$1] == "" ? "never" : level[$1] }' \
        "$work/levels" "$work/since")
    if [ -z "$wrong" ]; then good; else bad functions "levels in tests/android/functions.txt that Android's lists do not have: $wrong"; fi
    new=$(awk -v most="$lowest" '$2 > most { printf "%s ", $0 }' "$work/since")
    if [ -z "$new" ]; then good; else bad functions "tests/android/functions.txt lists what is newer than API $lowest: $new"; fi
    more=$(comm -13 "$work/listed" "$work/called" | tr '\n' ' ')
    if [ -z "$more" ]; then good; else bad functions "tests/android/functions.txt lacks: $more"; fi
    echo "functions: $(wc -l <"$work/called") are called, $(wc -l <"$work/listed") are listed; all of them exist since API $lowest"
fi

# ---- CMake ------------------------------------------------------------------------------------------------

if there cmake; then
    cc=$(compiler 24)
    if [ -n "$bionic" ] && [ ! -d "$work/sysroot-24" ]; then sysroot 24 >"$tmp/log" 2>&1; fi
    rm -rf "$work/cmake"
    step cmake_configures cmake -S examples/android -B "$work/cmake" -G 'Unix Makefiles' -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/android/toolchain.cmake" -DQNNRT_CC="$cc" -DQNNRT_TOP="$PWD"
    step cmake_builds cmake --build "$work/cmake" -j 2
    for file in qnnrt-run qnnrt-llm libQnnRef.so 01_hello; do
        if [ -f "$work/cmake/$file" ]; then elf 24 "$work/cmake/$file"; else bad cmake_builds "$file is missing"; fi
    done
    # The JNI layer of the sample app. The JDK has the same jni.h as the NDK; liblog is one function here.
    jdk=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
    if [ -f "$jdk/include/jni.h" ]; then
        rm -rf "$work/app" && mkdir -p "$work/app"
        # shellcheck disable=SC2086  # several words
        step app_log $cc -fPIC -shared -Wl,-soname,liblog.so -o "$work/app/liblog.so" tests/android/liblog/log.c
        step app_configures cmake -S examples/android/app/src/main/cpp -B "$work/app/cmake" -G 'Unix Makefiles' \
            -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/android/toolchain.cmake" -DQNNRT_TOP="$PWD" \
            -DQNNRT_CC="$cc -I$jdk/include -I$jdk/include/linux -I$PWD/tests/android/liblog -L$PWD/$work/app"
        step app_builds cmake --build "$work/app/cmake" --target qnnrt_jni
        if [ -f "$work/app/cmake/libqnnrt_jni.so" ]; then elf 24 "$work/app/cmake/libqnnrt_jni.so"
        else bad app_builds "libqnnrt_jni.so is missing"; fi
    else
        skip app "there is no JDK with a jni.h"
    fi
else
    skip cmake "cmake is not installed"
fi

# ---- run them ---------------------------------------------------------------------------------------------

for program in "$cross" "$QEMU"; do there "$program" || { skip run "$program is not installed"; finish; exit; }; done
android=$PWD/$work/api-$lowest prefix=$PWD/$work/qemu
case $B in /*) host=$B ;; *) host=$PWD/$B ;; esac
if [ ! -x "$android/qnnrt-run" ]; then bad run "nothing was built"; finish; exit; fi
rm -rf "$prefix" && mkdir -p "$prefix/system/bin" "$prefix/lib" "$prefix/sys/devices/system/soc/soc0"
echo 557 >"$prefix/sys/devices/system/soc/soc0/id"      # the chip that libQnnHtp.so finds: SM8650
cp -L "$cross_root/lib/ld-linux-aarch64.so.1" "$prefix/system/bin/linker64"
system= htp=
if [ -n "$qnn" ] && [ -f "$qnn/libQnnSystem.so" ]; then system=$qnn/libQnnSystem.so; fi
if [ -n "$qnn" ] && [ -f "$qnn/libQnnHtp.so" ]; then htp=$qnn/libQnnHtp.so; fi
# shellcheck disable=SC2086  # there may be none
nm -D --undefined-only "$android"/* $system $htp 2>/dev/null | "$PYTHON" tests/android/shim.py "$prefix"
echo 'LIBC { };' >"$prefix/libc.map"
echo 'const int shim_nothing = 0;' >"$prefix/nothing.c"
step shim "$cross" -O1 -Wall -Wextra -Werror -fPIC -shared -I"$prefix" -Wl,-soname,libc.so \
    -Wl,--version-script="$prefix/libc.map" -o "$prefix/lib/libc.so" tests/android/shim.c -ldl -lm
for name in libm libdl liblog; do
    step "shim_$name" "$cross" -fPIC -shared -nostdlib -Wl,--no-as-needed -Wl,-soname,$name.so \
        -Wl,--version-script="$prefix/libc.map" -o "$prefix/lib/$name.so" "$prefix/nothing.c" "$prefix/lib/libc.so"
done

# Both sides run in a folder of their own with the same names in it, so that their output can be the same.
sides="$work/here $work/there"
rm -rf "$work/here" "$work/there" && mkdir -p "$work/here" "$work/there"
cp "$host/libQnnRef.so" "$work/here/" && cp "$android/libQnnRef.so" "$work/there/"
for side in $sides; do ln -s "$PWD/$B/data" "$side/data"; done
host_system=$B/qnn/2.51/onnxruntime_qnn/libQnnSystem.so
# A folder, not the file: a library may look for others beside it.
ln -s "$PWD/$(dirname "$host_system")" "$work/here/qnn"
if [ -n "$system" ]; then ln -s "$(cd "$qnn" && pwd)" "$work/there/qnn"; fi

# there_only NAME PROGRAM ARGUMENT ...: on the side of Android; there/NAME.raw and NAME.err, and other, its status
there_only() {
    name=$1 program=$2
    shift 2
    (cd "$work/there" && "$QEMU" -L "$prefix" -E LD_LIBRARY_PATH="$prefix/lib:$cross_root/lib" "$android/${program##*/}" "$@" \
        >"$name.raw" 2>"$name.err" </dev/null)
    other=$?
}
# both NAME PROGRAM ARGUMENT ...: on both sides; standard output in <side>/NAME.raw, and without times in NAME.out
both() {
    there_only "$@"
    shift 2
    (cd "$work/here" && "$host/$program" "$@" >"$name.raw" 2>"$name.err" </dev/null)
    status=$?
    for side in $sides; do grep -vE '"[a-z_]*_(ns|us|ms)": ' "$side/$name.raw" >"$side/$name.out"; done
    if [ $other -ne $status ]; then bad "$name" "status $other there, $status here: $(head -n 3 "$work/there/$name.err")"
    else good; fi
}
# same NAME FILE: byte for byte
same() {
    if cmp "$work/here/$2" "$work/there/$2" >"$tmp/log" 2>&1; then good; else bad "$1" "$(head -n 1 "$tmp/log")"; fi
}
compared=0 bytes=0
# document NAME ARGUMENT ...: qnnrt-run prints the same bytes on both sides, except times
document() {
    both "$@"
    same "$1" "$1.out"
    compared=$((compared + 1)) bytes=$((bytes + $(wc -c <"$work/there/$1.out")))
    # A document that says nothing is no proof.
    if [ $status -eq 0 ] && [ ! -s "$work/there/$1.out" ]; then bad "$1" "it is empty"; fi
}

# Metadata as JSON, of all samples, and without any library.
"$PYTHON" tests/cli/make_eight_shards.py "$work/eight" >"$tmp/log" 2>&1 || bad eight "$(tail -n 1 "$tmp/log")"
mkdir -p "$work/samples" && cp tests/data/json/*.json tests/data/llm/json/*.json "$work/samples/"
if [ -n "${QNNRT_SAMPLES-}" ] && [ -d "${QNNRT_SAMPLES-}/json" ]; then cp "$QNNRT_SAMPLES"/json/*.json "$work/samples/"; fi
for side in $sides; do ln -s ../eight "$side/eight" && ln -s ../samples "$side/samples"; done
for path in eight $(cd "$work" && ls samples/*.json); do
    sample=$(basename "$path" .json)
    document "inspect_$sample" qnnrt-run inspect "$path" --json
    document "plan_$sample" qnnrt-run plan "$path" --json
done
document picture qnnrt-run inspect eight --svg -
document dump qnnrt-run inspect samples/w8a16_one.json --json_file -

# A model made, opened and run on the Android build of libQnnRef.so.
for side in $sides; do mkdir "$side/model" "$side/llm"; done
both make examples/05_make_model data/llm/model model ./libQnnRef.so
for shard in 0 1 2 3; do same make "model/forward_$shard.bin"; done
document inspect_model qnnrt-run inspect model --json --system_so ./libQnnRef.so
both run qnnrt-run --ctx_dir model --backend_so ./libQnnRef.so --output_dir out --num_inferences 1
step run diff -r "$work/here/out" "$work/there/out"
outputs=$(find "$work/there/out" -type f | wc -l)
if [ "$outputs" -gt 10 ]; then good; else bad run "$outputs outputs"; fi
# Memory that the backend uses in place: what Android lacks below API 30 is looked up when the program runs.
both memfd qnnrt-run --ctx_dir model --backend_so ./libQnnRef.so --output_dir memfd --memory memfd --num_inferences 1
step memfd diff -r "$work/there/out" "$work/there/memfd"
check memfd "not all tensors are registered: $(grep 'memory ' "$work/there/memfd.raw")" \
    grep -qE 'memfd, ([0-9]+) of \1 tensors registered' "$work/there/memfd.raw"
both rpcmem qnnrt-run --ctx_dir model --backend_so ./libQnnRef.so --memory rpcmem
check rpcmem "libcdsprpc.so is not named: $(cat "$work/there/rpcmem.err")" grep -qF libcdsprpc.so "$work/there/rpcmem.err"
both export examples/llm/export data/llm/model llm --type w8a16 --shards 2 --backend_so ./libQnnRef.so
step export diff -r "$work/here/llm" "$work/there/llm"
both llm qnnrt-llm --ctx_dir llm --backend_so ./libQnnRef.so --prompt 'And the LORD said unto ' --max_gen 12
same llm llm.raw
echo "text: $(tail -n 1 "$work/there/llm.raw")"

# Qualcomm's own library for Android.
if [ -z "$system" ]; then
    skip genuine "ANDROID_QNN=FOLDER with libQnnSystem.so for Android is not given"
elif [ ! -f "$host_system" ]; then
    skip genuine "$host_system is missing: say 'make qnn-libs'"
else
    genuine=0
    for path in "$B"/data/ctx/*/* "$B"/data/llm/w8a16_one "$B"/data/llm/w8a16_four; do
        path=${path#"$B"/}
        sample=genuine_$(basename "$(dirname "$path")")_$(basename "$path")
        document "$sample" qnnrt-run inspect "$path" --json --system_so qnn/libQnnSystem.so
        document "${sample}_plan" qnnrt-run plan "$path" --json --system_so qnn/libQnnSystem.so
        genuine=$((genuine + 1))
    done
    echo "genuine: $system reads $genuine models as $host_system does"
fi
if [ -n "$htp" ]; then
    # No DSP is here. It loads, and what stops it is named.
    there_only htp qnnrt-run --ctx_dir data/ctx/qairt2.47/mlp_u8 --backend_so qnn/libQnnHtp.so --output_dir htp
    if [ $other -eq 1 ] && grep -qE 'Stub\.so|libcdsprpc\.so' "$work/there/htp.err" && grep -q '^hint: ' "$work/there/htp.err"; then
        good
        echo "genuine: $htp: $(grep -m 1 'likely cause' "$work/there/htp.err" | sed 's/^ *//')"
    else
        bad htp "$(head -n 5 "$work/there/htp.err")"
    fi
fi
echo "JSON: $compared documents of $bytes bytes are the same here and there"
finish
