#!/bin/sh
# The screen of the Android sample app on a desk: make app-check
#     sh tests/jni/screen.sh [BUILD_DIR]
# Compiles the app's screen with the Kotlin compiler that the Android plugin for Gradle 9.0 has, against Android 15's
# classes, and drives it with Robolectric on libQnnRef.so. Needs a JDK and mvn, which fetches 500 MB once.
#
# Robolectric's companion androidx.test is in a repository that may be out of reach; only its names are needed, and
# stand-ins of a line each have them.
suite=screen
. "$(dirname "$0")/../harness/tool.sh"

top=$tests/..
data=$top/tests/data
app=$top/examples/android/app/src/main
work=$build/app-check
ref=$build/libQnnRef.so
for program in javac mvn; do
    command -v $program >/dev/null 2>&1 || { skip all "$program is not installed"; finish; exit; }
done
home=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")

# step NAME COMMAND ...: it succeeds, or its output is shown and the test ends
step() {
    name=$1
    shift
    if "$@" >"$work/log" 2>&1; then good; else bad "$name" "$(head -n 30 "$work/log")"; finish; exit; fi
}

# stand_in PACKAGE KIND NAME BODY
stand_in() {
    folder=$work/stand_ins/$(echo "$1" | tr . /)
    mkdir -p "$folder"
    echo "package $1; public $2 $3 { $4 }" >"$folder/${3%% *}.java"
}

mkdir -p "$work" && rm -rf "$work/classes" "$work/stand_ins" "$work/libraries" "$work/layer" "$work/llm"
mkdir -p "$work/classes" "$work/libraries" "$work/layer" "$work/llm"
if [ ! -f "$work/lib/.done" ]; then
    step fetch mvn -q -B -f "$tests/jni/screen/pom.xml" dependency:copy-dependencies -DoutputDirectory="$(cd "$work" && pwd)/lib"
    touch "$work/lib/.done"
fi

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

android=
for jar in "$work"/lib/android-all-[0-9]*.jar; do android=$jar; done
jars=
for jar in "$work"/lib/*.jar; do case $jar in */android-all*) ;; *) jars=$jars:$jar ;; esac; done
jars=${jars#:}
mkdir -p "$work/instrumented"
mv "$work"/lib/android-all-instrumented*.jar "$work/instrumented/" 2>/dev/null

# shellcheck disable=SC2046  # one word for each file
step java javac -nowarn -Xlint:-options --release 8 -cp "$android" -d "$work/classes" "$app"/java/qnnrt/*.java $(find "$work/stand_ins" -name '*.java')
step instrumented javac -nowarn -Xlint:-options --release 8 -cp "$android:$work/classes" -d "$work/classes" "$tests/jni/device/RefTest.java"
# kotlin NAME FILE ...
kotlin() {
    name=$1
    shift
    step "$name" java -cp "$jars" org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -no-stdlib -no-reflect -Werror -jvm-target 11 \
        -cp "$work/classes:$android:$jars" -d "$work/classes" "$@"
}
kotlin app_compiles "$app"/kotlin/qnnrt/sample/*.kt
kotlin test_compiles "$tests/jni/screen/ScreenTest.kt"
step jni ${CC:-cc} -std=c99 -O1 -fPIC -shared -fvisibility=hidden -I"$top" -I"$top/tools" -I"$home/include" -I"$home/include/linux" \
    -o "$work/libraries/libqnnrt_jni.so" "$app"/cpp/qnnrt_jni*.c -ldl -pthread
cp "$ref" "$work/libraries/"
cp "$ref" "$work/libraries/libQnnHtp.so"        # the first that the screen offers
step layer "$build/examples/03_compose" "$ref" "$work/layer/layer.bin"
step llm "$build/examples/llm/export" "$data/llm/model" "$work/llm" --type w8a16 --shards 4 --backend_so "$ref"

# The service in a process of its own, where there is an aidl.
service=
if command -v aidl >/dev/null 2>&1; then
    service=ServiceTest
    mkdir -p "$work/aidl"
    step aidl aidl --lang=java -I"$app/aidl" -o "$work/aidl" "$app/aidl/qnnrt/android/IQnnrtWork.aidl"
    step service javac -nowarn -Xlint:-options -cp "$work/classes:$android:$jars" -d "$work/classes" \
        "$app"/java/qnnrt/android/*.java "$work/aidl/qnnrt/android/IQnnrtWork.java" "$tests/jni/screen/ServiceTest.java"
else skip service "aidl is not installed"; fi

here=$(cd "$work" && pwd)
texts
# shellcheck disable=SC2086  # $service may be empty
java -Xmx1500m -XX:TieredStopAtLevel=1 --add-opens java.base/java.io=ALL-UNNAMED -Drobolectric.offline=true -Drobolectric.dependency.dir="$here/instrumented" -Djava.library.path="$here/libraries" \
    -Dscreen.libraries="$here/libraries" -Dscreen.llm="$here/llm" -Dscreen.layer="$here/layer" -Dscreen.prompt="$prompt" -Dscreen.text="$expected" \
    -cp "$work/classes:$jars:$android" org.junit.runner.JUnitCore ScreenTest $service >"$work/log" 2>&1
count=$(sed -n 's/^OK (\([0-9]*\) tests)$/\1/p' "$work/log")
if [ -n "$count" ]; then passed=$((passed + count)); else bad screen "$(grep -v '^	at ' "$work/log" | head -n 40)"; fi
finish
