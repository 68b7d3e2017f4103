#!/bin/sh
# The screen of the Android sample app on a desk: make app-check
#     sh tests/jni/screen.sh [BUILD_DIR]
# Builds the AAR whole, with the Kotlin compiler that the Android plugin for Gradle 9.0 has and Android 15's classes; then the
# app's screen against the AAR alone; and drives it with Robolectric on libQnnRef.so. Needs a JDK and mvn (maven/fetch.sh).
#
# Robolectric's companion androidx.test is in a repository that may be out of reach; only its names are needed, and
# stand-ins of a line each have them.
suite=screen
. "$(dirname "$0")/../harness/tool.sh"
. "$(dirname "$0")/jdk.sh"
. "$(dirname "$0")/maven.sh"

top=$(cd "$tests/.." && pwd)
kit=$top/examples/android
ref=$build/libQnnRef.so

# need NAME COMMAND ...: a step without which the test ends
need() {
    before=$failed
    step "$@"
    [ "$failed" -eq "$before" ] || { finish; exit; }
}

# stand_in PACKAGE KIND NAME BODY
stand_in() {
    folder=$tmp/stand_ins/$(echo "$1" | tr . /)
    mkdir -p "$folder"
    echo "package $1; public $2 $3 { $4 }" >"$folder/${3%% *}.java"
}

runner=androidx.test.runner implementation=androidx.test.internal.runner
stand_in $runner.lifecycle enum Stage 'PRE_ON_CREATE, CREATED, STARTED, RESUMED, PAUSED, STOPPED, RESTARTED, DESTROYED'
stand_in $runner.lifecycle enum ApplicationStage 'PRE_ON_CREATE, CREATED'
for name in Activity Application; do
    type=$runner.lifecycle.${name}LifecycleMonitor
    case $name in
    Activity) words="$runner.lifecycle.Stage s, android.app.Activity a" ;;
    *) words="android.app.Application a, $runner.lifecycle.ApplicationStage s" ;;
    esac
    stand_in $runner.lifecycle interface ${name}LifecycleMonitor ''
    stand_in $runner.lifecycle class ${name}LifecycleMonitorRegistry "public static void registerInstance($type m) { }"
    stand_in $implementation.lifecycle class "${name}LifecycleMonitorImpl implements $type" "public void signalLifecycleChange($words) { }"
done
stand_in $runner.intent interface IntentMonitor ''
stand_in $runner.intent class IntentMonitorRegistry 'public static void registerInstance(IntentMonitor m) { }'
stand_in $runner.intent class IntentStubberRegistry 'public static boolean isLoaded() { return false; }'
stand_in $implementation.intent class "IntentMonitorImpl implements $runner.intent.IntentMonitor" 'public void signalIntent(android.content.Intent i) { }'
stand_in androidx.test.platform.app class InstrumentationRegistry 'static android.app.Instrumentation i; public static void
    registerInstance(android.app.Instrumentation x, android.os.Bundle b) { i = x; } public static android.app.Instrumentation getInstrumentation() { return i; }'

# The AAR, with all that it can have, as examples/android/README.md makes it; liblog is one function here.
mkdir -p "$tmp/classes" "$tmp/libraries" "$tmp/layer" "$tmp/llm" "$tmp/instrumented" "$tmp/liblog" "$tmp/kotlinc/lib" "$tmp/aar"
case $(uname -m) in x86_64) abi=x86_64 ;; *) abi=arm64-v8a ;; esac
ln -s "$maven"/android-all-instrumented-*.jar "$tmp/instrumented/"
for name in stdlib script-runtime; do cp "$maven"/kotlin-$name-[0-9]*.jar "$tmp/kotlinc/lib/kotlin-$name.jar"; done
kotlinc="java -cp $jars org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"
coroutines=
for file in "$maven"/kotlinx-coroutines-core-jvm-*.jar; do coroutines=$file; done
platform=$android service=ServiceTest
command -v aidl >/dev/null 2>&1 || { skip service "aidl is not installed"; platform=none service=; }
need log ${CC:-cc} -fPIC -shared -Wl,-soname,liblog.so -o "$tmp/liblog/liblog.so" "$tests/android/liblog/log.c"
need aar env ANDROID_JAR="$platform" ABIS=$abi CC="${CC:-cc}" LDFLAGS="-L$tmp/liblog -Wl,-rpath,$tmp/liblog" \
    CFLAGS="-D_POSIX_C_SOURCE=200809L -I$home/include -I$home/include/linux -I$tests/android/liblog" \
    KOTLINC="$kotlinc -Werror -kotlin-home $tmp/kotlinc" COROUTINES="$coroutines" sh "$kit/build-aar.sh" "$tmp/repo"
logged aar 'with Qnnrt.kt'
need unpacked sh -c 'cd "$1" && jar --extract --file="$(echo "$2"/qnnrt/qnnrt/*/*.aar)"' - "$tmp/aar" "$tmp/repo"
layer=$tmp/aar/classes.jar
cp "$tmp/aar/jni/$abi/libqnnrt_jni.so" "$ref" "$tmp/libraries/"
cp "$ref" "$tmp/libraries/libQnnHtp.so"        # the first that the screen offers

# shellcheck disable=SC2046  # one word for each file
need stand_ins javac -nowarn -Xlint:-options --release 8 -cp "$android" -d "$tmp/classes" $(find "$tmp/stand_ins" -name '*.java')
need instrumented javac -nowarn -Xlint:-options --release 8 -cp "$android:$layer" -d "$tmp/classes" "$tests/jni/device/RefTest.java"
# kotlin NAME FILE ...
kotlin() {
    name=$1
    shift
    # shellcheck disable=SC2086  # several words
    need "$name" $kotlinc -no-stdlib -no-reflect -Werror -jvm-target 11 -cp "$layer:$tmp/classes:$android:$jars" -d "$tmp/classes" "$@"
}
kotlin app_compiles "$app"/kotlin/qnnrt/sample/*.kt
kotlin test_compiles "$tests/jni/screen/ScreenTest.kt"
need layer "$build/examples/03_compose" "$ref" "$tmp/layer/layer.bin"
need llm "$build/examples/llm/export" "$tests/data/llm/model" "$tmp/llm" --type w8a16 --shards 4 --backend_so "$ref"
# The service in a process of its own.
[ -z "$service" ] || need service javac -nowarn -Xlint:-options -cp "$layer:$tmp/classes:$android:$jars" -d "$tmp/classes" "$tests/jni/screen/ServiceTest.java"

texts
# shellcheck disable=SC2086  # $service may be empty
java -Xmx1500m -XX:TieredStopAtLevel=1 --add-opens java.base/java.io=ALL-UNNAMED -Drobolectric.offline=true -Drobolectric.dependency.dir="$tmp/instrumented" -Djava.library.path="$tmp/libraries" \
    -Dscreen.libraries="$tmp/libraries" -Dscreen.llm="$tmp/llm" -Dscreen.layer="$tmp/layer" -Dscreen.prompt="$prompt" -Dscreen.text="$expected" \
    -cp "$layer:$tmp/classes:$jars:$android" org.junit.runner.JUnitCore ScreenTest $service >"$tmp/junit" 2>&1
count=$(sed -n 's/^OK (\([0-9]*\) tests)$/\1/p' "$tmp/junit")
if [ -n "$count" ]; then passed=$((passed + count)); else bad screen "$(grep -v '^	at ' "$tmp/junit" | head -n 40)"; fi
finish
