#!/bin/sh
# The files that build the sample app: everything that they fetch is named by version, Gradle by its hash, too; Android's
# own compiler takes manifest and resources; nothing of others is committed; no documented line builds without -O2.
#     sh tests/android/test_app.sh [BUILD_DIR]
suite=test_app
. "$(dirname "$0")/../harness/tool.sh"
kit=$tests/../examples/android
app=$kit/app
resources=/usr/share/android-framework-res/framework-res.apk

# ---- what is pinned -------------------------------------------------------------------------------------------

cp "$app/build.gradle.kts" "$app/gradle/wrapper/gradle-wrapper.properties" "$kit/README.md" "$tmp/"
cat "$app"/*.kts >"$tmp/gradle"
check gradle_hash "no hash of Gradle" grep -qxE 'distributionSha256Sum=[0-9a-f]{64}' "$tmp/gradle-wrapper.properties"
check gradle_url "no version of Gradle" grep -qxE 'distributionUrl=https.*/gradle-9\.1\.0-bin\.zip' "$tmp/gradle-wrapper.properties"
for pin in 'id\("com.android.application"\) version "[0-9.]+"' 'ndkVersion = "[0-9]+\.[0-9]+\.[0-9]+"' '  version = "3\.[0-9.]+"' \
    'compileSdk = [0-9]+' 'targetSdk = [0-9]+' 'isMinifyEnabled = true' 'isShrinkResources = true' 'CMAKE_BUILD_TYPE=Release'; do
    check pins "build.gradle.kts does not say $pin" grep -qE -- "$pin" "$tmp/build.gradle.kts"
done
check pins "a dependency without a whole version" sh -c '! grep -E "(implementation|api|classpath)\(" "$1" | grep -vE ":[0-9]+\.[0-9]+\.[0-9]+\"\)"' - "$tmp/gradle"
check pins "a version that is a range" sh -c '! grep -E "[0-9]\+\"|latest\.|SNAPSHOT" "$1"' - "$tmp/gradle"
# The NDK of the documents is the NDK of the build.
ndk=$(sed -n 's/.*ndkVersion = "\(.*\)"/\1/p' "$tmp/build.gradle.kts")
says ndk README.md "ndk/$ndk"
check secrets "a password is in the build" sh -c '! grep -iE "(password|keyAlias) = \"" "$1"' - "$tmp/gradle"
if git -C "$kit" rev-parse >/dev/null 2>&1; then
    git -C "$kit" ls-files >"$tmp/files"
    check others "a file of others is committed" sh -c '! grep -E "gradlew|\.(jar|so|aar|apk|keystore|jks)$" "$1"' - "$tmp/files"
fi
for file in "$kit/README.md" "$kit"/*.sh "$kit/CMakeLists.txt" "$app/src/main/cpp/CMakeLists.txt"; do
    check optimized "${file##*/} has a build that is not optimized" sh -c '! grep -nE -- "-O0|[aA]ssembleDebug|installDebug|BUILD_TYPE=Debug" "$1"' - "$file"
done

# ---- manifest and resources -------------------------------------------------------------------------------------

if [ ! -f $resources ] || ! command -v aapt >/dev/null 2>&1; then
    skip aapt "aapt or android-framework-res is not installed"
    finish
    exit
fi
# Its framework is that of Android 10: what is newer goes.
cp -R "$app/src/main/res" "$tmp/res" && rm -f "$tmp/res/xml/data_extraction_rules.xml"
sed -e 's|<manifest |<manifest package="qnnrt.sample" |' -e 's|android:dataExtractionRules="[^"]*"||' "$app/src/main/AndroidManifest.xml" >"$tmp/AndroidManifest.xml"
step aapt aapt package -f -M "$tmp/AndroidManifest.xml" -S "$tmp/res" -I $resources -F "$tmp/app.apk" --min-sdk-version 24 --target-sdk-version 36
aapt dump badging "$tmp/app.apk" >"$tmp/badging" 2>/dev/null
says icon badging "icon='res/drawable"
says dsp badging "name='qnnrt.sample'"
finish
