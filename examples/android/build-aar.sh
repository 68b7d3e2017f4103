#!/bin/sh
# Build the layer in app/src/main as an AAR for any app, with the NDK and a JDK: no Gradle, no plugin.
#
#     ANDROID_NDK=FOLDER ANDROID_JAR=FILE [API=24] [ABIS='arm64-v8a x86_64'] sh examples/android/build-aar.sh [OUT]
#
# ANDROID_JAR: the SDK's platforms/android-36/android.jar, for the classes in qnnrt/android; none leaves them out. x86_64
# is for the emulator. KOTLINC and COROUTINES, a kotlinc 2 and kotlinx-coroutines-core-jvm-1.10.2.jar, add Qnnrt.kt. AIDL
# names the SDK's aidl. CC, one command line for one ABI, may be set with ABIS in place of ANDROID_NDK; CFLAGS and LDFLAGS, too.
#
# OUT (build/aar unless given) becomes a Maven repository: the AAR, its POM, its sources, and a SHA-256 of each. The
# AAR has classes.jar, the rules for R8, libqnnrt_jni.so, and the headers as a prefab module. The same files give the
# same bytes: entries are sorted and have one date. If something fails, what a former build left in OUT stays.
set -eu
cd "$(dirname "$0")/../.."
api=${API:-24} abis=${ABIS:-arm64-v8a x86_64} out=${1:-build/aar}
main=examples/android/app/src/main
version=$(awk '$2 ~ /^QNNRT_VERSION_(MAJOR|MINOR|PATCH)$/ { printf "%s%s", dot, $3; dot = "." }' qnnrt.h)
date=2020-01-01T00:00:00Z

stop() {
    echo "build-aar.sh: $1" >&2
    exit 2
}
for program in javac jar; do
    command -v $program >/dev/null 2>&1 || stop "$program is not installed: a JDK 17 has javac and jar"
done
# Macs have shasum.
if command -v sha256sum >/dev/null 2>&1; then sum=sha256sum; else sum='shasum -a 256'; fi
command -v ${sum%% *} >/dev/null 2>&1 || stop "neither sha256sum nor shasum is installed"
bin=
if [ -z "${CC-}" ]; then
    [ -n "${ANDROID_NDK-}" ] || stop "ANDROID_NDK is not set: it names the folder of the NDK, .../ndk/<version>"
    for bin in "$ANDROID_NDK"/toolchains/llvm/prebuilt/*/bin; do :; done
    [ -x "$bin/clang" ] || stop "no toolchains/llvm/prebuilt/*/bin/clang in $ANDROID_NDK"
fi
[ "${ANDROID_JAR-}" = none ] || [ -f "${ANDROID_JAR-}" ] || stop "ANDROID_JAR is not set to a file: it names the SDK's platforms/android-36/android.jar"
[ "$ANDROID_JAR" = none ] || command -v "${AIDL:-aidl}" >/dev/null 2>&1 || stop "${AIDL:-aidl} is not installed: AIDL names the SDK's build-tools/36.0.0/aidl"
if [ -n "${CC-}" ] && [ "$abis" != "${abis%% *}" ]; then
    stop "CC is for one ABI: set ABIS to it, arm64-v8a or x86_64"
fi
if [ -n "${KOTLINC-}" ] && [ ! -f "${COROUTINES-}" ]; then
    stop "COROUTINES is not set to a file: it names kotlinx-coroutines-core-jvm-<version>.jar"
fi
if [ -n "${KOTLINC-}" ]; then
    coroutines=$(basename "$COROUTINES" .jar)
    case ${coroutines##*-} in [0-9]*) ;; *) stop "COROUTINES has no version in its name: the POM needs it" ;; esac
fi

group=$out/qnnrt/qnnrt/$version work=$out/work
# leave: what was moved aside comes back if nothing took its place
leave() {
    if [ -d "$work/former" ] && [ ! -d "$group" ]; then mv "$work/former" "$group"; fi
    rm -rf "$work"
}
rm -rf "$work"
trap leave EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$work/group" "$work/classes" "$work/aidl" "$work/aar/META-INF/com/android/build/gradle" "$work/aar/prefab/modules/qnnrt/include"

# compiler ABI: its command line
compiler() {
    if [ -n "${CC-}" ]; then echo "$CC"
    else
        case $1 in
        arm64-v8a) echo "$bin/clang --target=aarch64-linux-android$api" ;;
        x86_64) echo "$bin/clang --target=x86_64-linux-android$api" ;;
        *) stop "ABI $1: Qualcomm's libraries have 64 bits; give arm64-v8a, x86_64 or both" ;;
        esac
    fi
}

# archive FILE FOLDER ...: all files of the folders, sorted, with one date, without a manifest of jar's own
archive() {
    archived=$1
    shift
    for from in "$@"; do
        (cd "$from" && find . -type f) | sort | while read -r file; do printf -- '-C "%s" "%s"\n' "$from" "${file#./}"; done
    done >"$work/list"
    jar --create --no-manifest --date=$date --file="$archived" "@$work/list"
}

for abi in $abis; do
    mkdir -p "$work/aar/jni/$abi"
    cc=$(compiler "$abi")
    # What nothing calls is left out, and pages have 16 KB. -s: no symbols but those of the functions for Java.
    # shellcheck disable=SC2086  # several words
    $cc -std=c99 -O2 -Wall -Wextra -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -shared -s -I. -Itools \
        ${CFLAGS-} -Wl,-soname,libqnnrt_jni.so -o "$work/aar/jni/$abi/libqnnrt_jni.so" $main/cpp/qnnrt_jni*.c \
        -Wl,--gc-sections -Wl,-z,max-page-size=16384 ${LDFLAGS-} -llog -ldl
done

sources=$main/java/qnnrt/*.java android='with the classes in qnnrt/android'
if [ "$ANDROID_JAR" = none ]; then android='without the classes in qnnrt/android'
elif [ -d $main/aidl ]; then
    for file in $(find $main/aidl -name '*.aidl' | sort); do "${AIDL:-aidl}" -I$main/aidl -o"$work/aidl" "$file"; done
    sources="$sources $(find $main/java/qnnrt/android "$work/aidl" -name '*.java' | sort)"
fi
# shellcheck disable=SC2086  # names of files without blanks
javac --release 8 -Xlint:-options -cp "$ANDROID_JAR" -d "$work/classes" $sources
kotlin='without Qnnrt.kt: KOTLINC is not set'
if [ -n "${KOTLINC-}" ]; then
    # Its own standard library is what the code is compiled against.
    $KOTLINC -no-reflect -jvm-target 11 -cp "$work/classes:$ANDROID_JAR:$COROUTINES" -d "$work/classes" $main/kotlin/qnnrt/*.kt
    kotlin='with Qnnrt.kt'
fi
archive "$work/aar/classes.jar" "$work/classes"

cp examples/android/consumer-rules.pro "$work/aar/proguard.txt"
cp LICENSE "$work/aar/LICENSE"
: >"$work/aar/R.txt"
cat >"$work/aar/AndroidManifest.xml" <<EOF
<?xml version="1.0" encoding="utf-8"?>
<manifest xmlns:android="http://schemas.android.com/apk/res/android" package="qnnrt.layer">
    <uses-sdk android:minSdkVersion="$api" />
    <application>
        <uses-native-library android:name="libcdsprpc.so" android:required="false" />
    </application>
</manifest>
EOF
cat >"$work/aar/META-INF/com/android/build/gradle/aar-metadata.properties" <<EOF
aarFormatVersion=1.0
aarMetadataVersion=1.0
minCompileSdk=31
minCompileSdkExtension=0
minAndroidGradlePluginVersion=7.0.0
EOF
# A module of headers alone: C code of the app includes them and has its own implementation. Its library has pages of 16 KB.
cp qnnrt.h qnnrt_json.h tools/qnnrt_*.h "$work/aar/prefab/modules/qnnrt/include/"
printf '{ "schema_version": 2, "name": "qnnrt", "version": "%s", "dependencies": [] }\n' "$version" >"$work/aar/prefab/prefab.json"
printf '{ "export_libraries": ["-ldl", "-lm", "-Wl,-z,max-page-size=16384"], "library_name": null, "android": {} }\n' >"$work/aar/prefab/modules/qnnrt/module.json"

name=$work/group/qnnrt-$version
archive "$name.aar" "$work/aar"
# Qnnrt.kt is there, too, if its classes are not.
mkdir "$work/kotlin" && cp -R $main/kotlin/qnnrt "$work/kotlin/" && rm -rf "$work/kotlin/qnnrt/sample"
archive "$name-sources.jar" $main/java $main/aidl "$work/kotlin"
cat >"$name.pom" <<EOF
<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>qnnrt</groupId>
  <artifactId>qnnrt</artifactId>
  <version>$version</version>
  <packaging>aar</packaging>
  <name>qnnrt</name>
  <description>Runs folders of Qualcomm QNN context binaries from Java and Kotlin.</description>
  <licenses><license><name>MIT or public domain, see LICENSE in the AAR</name></license></licenses>
EOF
if [ -n "${KOTLINC-}" ]; then
    cat >>"$name.pom" <<EOF
  <dependencies><dependency>
    <groupId>org.jetbrains.kotlinx</groupId>
    <artifactId>kotlinx-coroutines-core</artifactId>
    <version>${coroutines##*-}</version>
    <scope>compile</scope>
  </dependency></dependencies>
EOF
fi
echo '</project>' >>"$name.pom"
for file in "$name".aar "$name"-sources.jar "$name".pom; do
    # shellcheck disable=SC2086  # several words
    $sum "$file" | cut -d ' ' -f 1 >"$file.sha256"
done
for abi in $abis; do echo "jni/$abi/libqnnrt_jni.so: $(wc -c <"$work/aar/jni/$abi/libqnnrt_jni.so") bytes"; done
mkdir -p "$(dirname "$group")"
if [ -d "$group" ]; then mv "$group" "$work/former"; fi
mv "$work/group" "$group"
name=$group/qnnrt-$version
echo "$name.aar: $(wc -c <"$name.aar") bytes, $android, $kotlin"
