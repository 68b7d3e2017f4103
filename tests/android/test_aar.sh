#!/bin/sh
# examples/android/build-aar.sh and store_check.py: the AAR by this machine's compiler, what is in it, what can be built
# with it; and what a store refuses.
#     sh tests/android/test_aar.sh [BUILD_DIR]
# The oracles of packages are Android's own tools: aapt compiles the manifest, zipalign aligns the libraries.
suite=test_aar
. "$(dirname "$0")/../harness/tool.sh"
top=$(cd "$tests/.." && pwd) tests=$top/tests
kit=$top/examples/android
python=${PYTHON:-python3}
cc=${CC:-cc} compiler=${CC:-cc}
ref=$build/libQnnRef.so
case $ref in /*) ;; *) ref=$(pwd)/$ref ;; esac

. "$tests/jni/jdk.sh"
if ! command -v "$python" >/dev/null 2>&1; then
    skip python "there is no python3"
    finish
    exit
fi
case $(uname -m) in x86_64) abi=x86_64 ;; *) abi=arm64-v8a ;; esac

# ---- the AAR ------------------------------------------------------------------------------------------------

# log_for ABI COMPILER: a folder with liblog.so, which is one function here
log_for() {
    mkdir "$tmp/log_$1"
    # shellcheck disable=SC2086  # cc is several words
    check liblog "it does not compile" $2 -fPIC -shared -o "$tmp/log_$1/liblog.so" "$tests/android/liblog/log.c"
}
# aar FOLDER [ABI COMPILER]: build it there; its output is in $tmp/said
aar() {
    ANDROID_JAR=none ABIS=${2:-$abi} CC="${3:-$compiler}" LDFLAGS="-L$tmp/log_${2:-$abi}" \
        CFLAGS="-D_POSIX_C_SOURCE=200809L -I$home/include -I$home/include/linux -I$tests/android/liblog" \
        sh "$kit/build-aar.sh" "$1" >"$tmp/said" 2>&1
}
log_for $abi "$cc"
if aar "$tmp/repo"; then good; else bad build "$(tail -n 20 "$tmp/said")"; finish; exit; fi
says build said 'without the classes in qnnrt/android, without Qnnrt.kt'
version=$("$build/qnnrt-run" --version | sed 's/^[^0-9]*\([0-9.]*\).*/\1/')
base=$tmp/repo/qnnrt/qnnrt/$version/qnnrt-$version
for end in .aar .pom -sources.jar; do
    check files "qnnrt-$version$end is missing" test -s "$base$end"
    check sums "$end: its SHA-256 is another" sh -c 'echo "$(cat "$1.sha256")  $1" | sha256sum -c' - "$base$end"
done
check pom "it is no XML" "$python" -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$base.pom"

mkdir "$tmp/aar" && (cd "$tmp/aar" && "$home/bin/jar" --extract --file="$base.aar")
for file in AndroidManifest.xml R.txt classes.jar proguard.txt LICENSE "jni/$abi/libqnnrt_jni.so" prefab/prefab.json \
    prefab/modules/qnnrt/module.json prefab/modules/qnnrt/include/qnnrt.h META-INF/com/android/build/gradle/aar-metadata.properties; do
    check content "$file is missing in the AAR" test -f "$tmp/aar/$file"
done
for file in prefab/prefab.json prefab/modules/qnnrt/module.json; do
    check prefab "$file is no JSON" "$python" -c 'import json, sys; json.load(open(sys.argv[1]))' "$tmp/aar/$file"
done
# aapt2 takes no name without a dot.
check namespace "AndroidManifest.xml names no package a.b" grep -q 'package="[a-z]*\.[a-z]*"' "$tmp/aar/AndroidManifest.xml"
cp "$kit/README.md" "$tmp/" && says version README.md "\"qnnrt:qnnrt:$version\""
library=$tmp/aar/jni/$abi/libqnnrt_jni.so
# Built again, with a compiler that gives the same library at once: the archives have the same bytes.
cp "$base.aar" "$tmp/first.aar"
cat >"$tmp/cc" <<EOF
#!/bin/sh
while [ "\$1" != -o ]; do shift; done
cp "$library" "\$2"
EOF
chmod +x "$tmp/cc"
compiler=$tmp/cc
check again "the second build fails: $(tail -n 3 "$tmp/said")" aar "$tmp/repo"
check reproducible "a second build has other bytes" cmp "$tmp/first.aar" "$base.aar"
# What goes wrong leaves the former build: its compiler fails, and its last step does.
mkdir "$tmp/moves"
printf '#!/bin/sh\ncase $1 in */work/group) exit 1 ;; esac\nexec %s "$@"\n' "$(command -v mv)" >"$tmp/moves/mv" && chmod +x "$tmp/moves/mv"
for program in false "$tmp/cc"; do
    compiler=$program
    if (PATH=$tmp/moves:$PATH && aar "$tmp/repo"); then bad former "a build with the compiler $program succeeds"; else good; fi
    check former "it is gone after a build that failed" cmp "$tmp/first.aar" "$base.aar"
    check former "scraps are left: $(ls "$tmp/repo")" test ! -e "$tmp/repo/work"
done
compiler=$tmp/cc
# The sources: all of the layer, and nothing of the sample.
"$home/bin/jar" --list --file="$base-sources.jar" >"$tmp/sources"
for file in qnnrt/Qnnrt.java qnnrt/Qnnrt.kt qnnrt/android/QnnrtService.java qnnrt/android/IQnnrtWork.aidl; do
    check sources "$file is missing in the jar of sources" grep -qxF $file "$tmp/sources"
done
lacks sources sources sample
# A folder with a blank and a quote.
check blank "$(tail -n 3 "$tmp/said")" aar "$tmp/it's here"
check blank "another AAR" cmp "$base.aar" "$tmp/it's here/qnnrt/qnnrt/$version/qnnrt-$version.aar"
# As on a Mac: shasum in place of sha256sum.
mkdir "$tmp/mac"
for program in "$home"/bin/java* "$home"/bin/jar awk cat cp cut dirname find grep mkdir mv rm sed sh sort tail wc; do ln -s "$(command -v "$program")" "$tmp/mac/"; done
printf '#!/bin/sh\nshift 2\nexec %s "$@"\n' "$(command -v sha256sum)" >"$tmp/mac/shasum" && chmod +x "$tmp/mac/shasum"
path=$PATH
PATH=$tmp/mac
check no_sha256sum "the build fails: $(cat "$tmp/said")" aar "$tmp/mac_repo"
PATH=$path
check no_sha256sum "another sum" cmp "$base.aar.sha256" "$tmp/mac_repo/qnnrt/qnnrt/$version/qnnrt-$version.aar.sha256"
# A kotlinc that writes down its words: it may use its own standard library, and the POM names the coroutines.
printf '#!/bin/sh\necho "$@"\n' >"$tmp/kotlinc" && chmod +x "$tmp/kotlinc"
: >"$tmp/kotlinx-coroutines-core-jvm-1.10.2.jar"
KOTLINC=$tmp/kotlinc COROUTINES=$tmp/kotlinx-coroutines-core-jvm-1.10.2.jar
export KOTLINC COROUTINES
if aar "$tmp/kotlin"; then good; else bad kotlin "$(tail -n 3 "$tmp/said")"; fi
unset KOTLINC COROUTINES
says kotlin said 'kotlin/qnnrt/Qnnrt.kt'
lacks kotlin said '-no-stdlib'
cp "$tmp/kotlin/qnnrt/qnnrt/$version/qnnrt-$version.pom" "$tmp/pom" && says kotlin pom '<version>1.10.2</version>'
# The bar is that of phones; code for x86-64 is larger.
cross=${AARCH64_CC:-aarch64-linux-gnu-gcc}
if [ $abi = arm64-v8a ]; then cp "$library" "$tmp/arm64.so"
elif command -v "$cross" >/dev/null 2>&1; then
    log_for arm64-v8a "$cross"
    check size "it is not built: $(tail -n 5 "$tmp/said")" aar "$tmp/arm" arm64-v8a "$cross"
    (cd "$tmp/arm" && "$home/bin/jar" --extract --file="qnnrt/qnnrt/$version/qnnrt-$version.aar" jni && mv jni/arm64-v8a/libqnnrt_jni.so "$tmp/arm64.so")
    check store_arm "it is refused" "$python" "$kit/store_check.py" "$tmp/arm/qnnrt/qnnrt/$version/qnnrt-$version.aar"
else skip size "$cross is not installed"; fi
if [ -f "$tmp/arm64.so" ]; then
    bytes=$(wc -c <"$tmp/arm64.so")
    check size "libqnnrt_jni.so for arm64 has $bytes bytes, at most 460800 are allowed" test "$bytes" -le 460800
fi
check stripped "it has symbols" sh -c '! readelf -S "$1" | grep -q "\.symtab"' - "$library"
check soname "it is not libqnnrt_jni.so" sh -c 'readelf -d "$1" | grep -q "SONAME.*\[libqnnrt_jni.so\]"' - "$library"

# An app's code against the AAR alone: Java by classes.jar, C by the prefab module; then Java runs on libQnnRef.so.
mkdir "$tmp/app" "$tmp/model"
check model "not made" "$build/examples/03_compose" "$ref" "$tmp/model/layer.bin"
cat >"$tmp/app/App.java" <<'EOF'
import qnnrt.Qnnrt;
public class App {
    public static void main(String[] words) {
        try (Qnnrt.Model model = new Qnnrt.Model(words[0], words[1]); Qnnrt.Run run = model.prepare(null)) {
            run.write("x", new float[] {1, 2, 3, 4});
            run.exec();
            System.out.println(Qnnrt.version() + " " + run.read("y").length);
        }
    }
}
EOF
check app_java "it does not compile" "$javac" -cp "$tmp/aar/classes.jar" -d "$tmp/app" "$tmp/app/App.java"
"$home/bin/java" -Djava.library.path="$tmp/aar/jni/$abi" -cp "$tmp/aar/classes.jar:$tmp/app" App "$tmp/model" "$ref" >"$tmp/ran" 2>&1
says app_runs ran "$version 2"
printf '#define QNNRT_IMPLEMENTATION\n#include "qnnrt.h"\nint main(void) { return qnnrt_version()[0] != 48; }\n' >"$tmp/app/app.c"
# shellcheck disable=SC2086  # cc is several words
check app_c "it does not compile" $cc -std=c99 -I"$tmp/aar/prefab/modules/qnnrt/include" -o "$tmp/app/app" "$tmp/app/app.c" -ldl -lm
check app_c "it does not run" "$tmp/app/app"
# The README's lines for CMake, with the file that Android's plugin for Gradle makes of the module.
if command -v cmake >/dev/null 2>&1; then
    mkdir "$tmp/app/find"
    "$python" - "$tmp/aar/prefab" "$tmp/app/find" <<'EOF'
import json, os, sys
prefab, out = sys.argv[1:]
package = json.load(open(os.path.join(prefab, "prefab.json")))["name"]
with open(os.path.join(out, package + "-config.cmake"), "w") as config:
    for module in os.listdir(os.path.join(prefab, "modules")):
        folder = os.path.join(prefab, "modules", module)
        assert not os.path.exists(os.path.join(folder, "libs"))
        libraries = ";".join(json.load(open(os.path.join(folder, "module.json")))["export_libraries"])
        target = "%s::%s" % (package, module)
        config.write('add_library(%s INTERFACE IMPORTED)\nset_target_properties(%s PROPERTIES\n    INTERFACE_INCLUDE_DIRECTORIES "%s/include"\n'
                     '    INTERFACE_LINK_LIBRARIES "%s")\n' % (target, target, folder, libraries))
EOF
    {
        printf 'cmake_minimum_required(VERSION 3.18)\nproject(app LANGUAGES C)\nadd_library(app SHARED app.c)\n'
        sed -n '/^    find_package(/,/^    target_link_libraries(/p' "$kit/README.md"
    } >"$tmp/app/CMakeLists.txt"
    step prefab_configures cmake -S "$tmp/app" -B "$tmp/app/cmake" -DCMAKE_BUILD_TYPE=Release -Dqnnrt_DIR="$tmp/app/find"
    step prefab_builds cmake --build "$tmp/app/cmake"
    mkdir -p "$tmp/app/lib/$abi" && cp "$tmp/app/cmake/libapp.so" "$tmp/app/lib/$abi/"
    check prefab_pages "a library of the app's own has other pages" "$python" "$kit/store_check.py" "$tmp/app/lib"
else skip prefab "cmake is not installed"; fi
# Each native method is in a class that the rules for R8 keep.
check rules "a class has native methods, and proguard.txt does not keep them" grep -q 'class qnnrt\.\*\* { native <methods>; }' "$tmp/aar/proguard.txt"

# refused NAME TEXT [NAME=VALUE ...]: build-aar.sh stops with this text
refused() {
    label=$1 text=$2
    shift 2
    env -u CC -u ANDROID_NDK -u ANDROID_JAR "$@" sh "$kit/build-aar.sh" "$tmp/no" >"$tmp/refused" 2>&1
    status=$?
    check "$label" "status $status" test $status -eq 2
    says "$label" refused "$text"
}
refused no_ndk 'ANDROID_NDK is not set'
refused no_clang 'no toolchains/llvm' ANDROID_NDK="$tmp"
refused no_jar 'ANDROID_JAR is not set to a file' CC=cc
refused no_aidl "$tmp/aidl is not installed" CC=cc ANDROID_JAR="$0" AIDL="$tmp/aidl"
refused two_abis 'CC is for one ABI' CC=cc ANDROID_JAR=none
refused no_coroutines 'COROUTINES is not set to a file' CC=cc ABIS=$abi ANDROID_JAR=none KOTLINC=kotlinc
: >"$tmp/kotlinx-coroutines-core-jvm.jar"
refused no_version 'COROUTINES has no version' CC=cc ABIS=$abi ANDROID_JAR=none KOTLINC=kotlinc COROUTINES="$tmp/kotlinx-coroutines-core-jvm.jar"

# ---- what a store refuses -----------------------------------------------------------------------------------

# store NAME STATUS TEXT FILE ...
store() {
    label=$1 expected=$2 text=$3
    shift 3
    "$python" "$kit/store_check.py" "$@" >"$tmp/store" 2>&1
    status=$?
    check "$label" "status $status, expected $expected: $(head -n 5 "$tmp/store")" test $status -eq "$expected"
    says "$label" store "$text"
}
store aar 0 '1 libraries, 0 faults' "$base.aar"
# broken FOLDER OFFSET FORMAT VALUE: a folder of libraries with a copy whose bytes are changed there
broken() {
    mkdir -p "$tmp/$1/$abi"
    "$python" - "$library" "$tmp/$1/$abi/libx.so" "$2" "$3" "$4" <<'EOF'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
start, = struct.unpack_from("<Q", data, 32)
size, count = struct.unpack_from("<HH", data, 54)
loads = [start + i * size for i in range(count) if struct.unpack_from("<I", data, start + i * size)[0] == 1]
at = {"first": loads[0], "last": loads[-1]}
where, _, more = sys.argv[3].partition("+")
struct.pack_into("<" + sys.argv[4], data, at[where] + int(more) if where in at else int(where), int(sys.argv[5], 0))
open(sys.argv[2], "wb").write(data)
EOF
}
broken pages first+48 Q 0x1000
store pages 1 'pages: a LOAD segment is aligned to 0x1000, expected 0x4000' "$tmp/pages"
broken odd first+48 Q 0x6000
store odd_pages 1 'pages: a LOAD segment is aligned to 0x6000' "$tmp/odd"
broken moved last+16 Q 0x123456
store moved 1 'does not agree with its offset' "$tmp/moved"
broken machine 18 H 40
store machine 1 'abi: it is for machine 40' "$tmp/machine"
broken bits 4 B 1
store bits 1 'abi: it is a library of 32 bits' "$tmp/bits"
broken skel 18 H 164
store skel 1 'skel: it is a file for the Hexagon DSP' "$tmp/skel"
broken cut 32 Q 0x7fffffff
store cut 1 'pages: its program headers are beyond its end' "$tmp/cut"
mkdir -p "$tmp/old/armeabi-v7a" "$tmp/text/$abi" "$tmp/own/$abi" && cp "$library" "$tmp/old/armeabi-v7a/libx.so"
cp "$library" "$tmp/own/$abi/libcdsprpc.so" && echo '#!/bin/sh' >"$tmp/text/$abi/libx.so"
store old 1 'abi: its folder is "armeabi-v7a"' "$tmp/old"
store text 1 'abi: it is not an ELF file' "$tmp/text"
store own 1 'own: it belongs to the phone' "$tmp/own"
store missing 2 'No such file' "$tmp/missing.aar"
store name 2 'its name ends in none of' "$library"
echo zip >"$tmp/bad.apk"
store no_zip 2 'it is no package' "$tmp/bad.apk"
# Text relocations: this machine's linker makes them when it is told to.
mkdir -p "$tmp/relocation/$abi"
printf 'extern int v; int *p(void); __asm__(".text\\n.globl q\\nq: .quad v\\n"); int v;\n' >"$tmp/relocation.c"
# shellcheck disable=SC2086  # cc is several words
check relocation "it does not link" $cc -shared -fPIC -Wl,-z,notext -Wl,-z,max-page-size=16384 -o "$tmp/relocation/$abi/libx.so" "$tmp/relocation.c"
store relocation 1 'relocation: it has text relocations' "$tmp/relocation"

resources=/usr/share/android-framework-res/framework-res.apk
if [ ! -f $resources ] || ! command -v aapt >/dev/null 2>&1 || ! command -v zipalign >/dev/null 2>&1; then
    skip apk "aapt, zipalign or android-framework-res is not installed"
    finish
    exit
fi
# apk NAME TARGET EXTRACT [OPTION ...]: a package of the sample's manifest, with a library that is added with the options
apk() {
    label=$1 target=$2 extract=$3
    shift 3
    rm -rf "$tmp/$label" && mkdir -p "$tmp/$label/lib/$abi" && cp "$library" "$tmp/$label/lib/$abi/"
    sed -e 's|<manifest |<manifest package="qnnrt.sample" |' -e "s|<application|<application android:extractNativeLibs=\"$extract\"|" \
        -e 's,android:\(icon\|dataExtractionRules\|fullBackupContent\)="[^"]*",,' "$kit/app/src/main/AndroidManifest.xml" >"$tmp/$label/AndroidManifest.xml"
    (cd "$tmp/$label" && aapt package -f -M AndroidManifest.xml -I $resources -F "../$label.apk" --min-sdk-version 24 --target-sdk-version "$target" &&
        aapt add "$@" "../$label.apk" "lib/$abi/libqnnrt_jni.so") >"$tmp/aapt" 2>&1
    status=$?
    check "apk_$label" "aapt: $(head -n 5 "$tmp/aapt")" test $status -eq 0
}
apk unpacked 36 true
store apk_unpacked 0 '1 libraries, 0 faults' "$tmp/unpacked.apk"
apk old_target 34 true
store apk_old_target 1 'targetSdkVersion is 34, expected 35' "$tmp/old_target.apk"
apk compressed 36 false
store apk_compressed 1 'it is compressed, and extractNativeLibs is false' "$tmp/compressed.apk"
apk stored 36 true -0 ''
store apk_stored 1 'it is unpacked at install and not compressed' "$tmp/stored.apk"
apk placed 36 false -0 ''
check apk_aligned "zipalign" zipalign -f 16384 "$tmp/placed.apk" "$tmp/aligned.apk"
store apk_aligned 0 '0 faults' "$tmp/aligned.apk"
check apk_shifted "zipalign" zipalign -f 4 "$tmp/placed.apk" "$tmp/shifted.apk"
store apk_shifted 1 'expected a multiple of 16384' "$tmp/shifted.apk"
finish
