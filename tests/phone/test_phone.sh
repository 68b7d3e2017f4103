#!/bin/sh
# tools/phone.sh with the real adb and phones of tests/phone/device.py: good ones, and broken ones.
#
#   sh tests/phone/test_phone.sh [BUILD_DIR]
#
# BUILD_DIR (default build) holds qnnrt-run, qnnrt-llm, libQnnRef.so, examples/03_compose and examples/llm/export.
# The phones run these in place of what is pushed; one phone runs what is pushed, programs for arm64, under qemu. With
# QNNRT_PHONE_TRANSCRIPT=FILE its transcript is copied there. A check that passes prints nothing.
#
# QNNRT_PHONE_SHELL=FILE runs the script, and programs of QNNRT_PHONE_USERLAND=FOLDER come before those of this computer:
# with Apple's bash 3.2.57 and the programs of FreeBSD (github.com/chimera-linux/chimerautils) it runs as on a Mac.
suite=test_phone
. "$(dirname "$0")/../harness/tool.sh"
unset ANDROID_SERIAL QNNREF_FAULTS

build=$(cd "$build" && pwd)
for file in qnnrt-run qnnrt-llm libQnnRef.so examples/03_compose; do
    if [ ! -e "$build/$file" ]; then
        bad build "$build/$file is missing"
        finish
        exit
    fi
done
if ! command -v python3 >/dev/null 2>&1; then
    skip phone "python3 is missing"
    finish
    exit
fi

shell=${QNNRT_PHONE_SHELL:-$(command -v dash || echo sh)}
desk=${QNNRT_PHONE_USERLAND:+$QNNRT_PHONE_USERLAND:}$PATH
phone_sh=tools/phone.sh
r=2.51.0.260929181845
stamp=260929181845
secret=SERIAL-7f3a
other=SERIAL-b011
phone=$tmp/phone
mkdir "$tmp/none" "$tmp/bin" "$tmp/pushed" "$tmp/home" "$tmp/door" "$phone"

# A folder of names as they come: blanks, quotes, a dollar sign.
model="$tmp/my \$(model) 'x'"
mkdir "$model"
"$build/examples/03_compose" "$build/libQnnRef.so" "$model/layer \"1\".bin" >/dev/null

python3 "$tests/cli/make_libs.py" <<end
$tmp/libs/libQnnHtp.so release=$r
$tmp/libs/libQnnSystem.so stamp=$stamp
$tmp/libs/libQnnHtpPrepare.so release=$r
$tmp/libs/libQnnHtpV75Stub.so release=$r
$tmp/libs/libQnnHtpV79Stub.so release=$r
$tmp/skels/libQnnHtpV75Skel.so for=hexagon arch=75 release=$r symbol=qnn_2_51_0_skel_handle_invoke
$tmp/skels/libQnnHtpV79Skel.so for=hexagon arch=79 release=$r symbol=qnn_2_51_0_skel_handle_invoke
$tmp/stale/libQnnHtpV75Skel.so for=hexagon arch=75 release=2.48.40.260702000000 symbol=qnn_2_48_40_skel_handle_invoke
$tmp/pages/libQnnHtp.so release=$r align=0x1000
$tmp/tools/qnnrt-run
$tmp/tools/03_compose
$tmp/tools/libQnnRef.so
$tmp/tools_llm/qnnrt-run
$tmp/tools_llm/qnnrt-llm
$tmp/tools_llm/03_compose
$tmp/desk_tools/qnnrt-run for=x86_64
$tmp/newer/layer.bin text=v2.52.0.$stamp;arch=75;
end
python3 - "$model" <<'end'
import struct, sys
open(sys.argv[1] + "/x.raw", "wb").write(struct.pack("<4f", 1, 2, 3, 4))
open(sys.argv[1] + "/y.expected.raw", "wb").write(struct.pack("<2f", 30.5, 0))
end

# call ARGUMENT ...: phone.sh as it is; status, $tmp/out, $tmp/err, $tmp/transcript
call() {
    rm -f "$tmp/transcript"
    PATH="${path:-$desk}" "$shell" "$phone_sh" --transcript "$tmp/transcript" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
}

# go ARGUMENT ...: with the model, the libraries and the tools
go() { call "$model" --libs "$tmp/libs" --libs "$tmp/skels" --tools "$tmp/tools" --checker "$build/qnnrt-run" --num_inferences 0 "$@"; }

# private NAME: the transcript holds nothing private
private() {
    if found=$(grep -nF -e "$secret" -e "$other" -e "$tmp" -e "$build" -e "$(id -un)@" -e "${HOME:-/none}/" "$tmp/transcript"); then
        bad "$1_private" "$found"
    else
        good
    fi
}

# clean NAME: nothing is left on the phone
clean() { check "$1_clean" "left: $(ls "$phone/root/data/local/tmp")" test -z "$(ls "$phone/root/data/local/tmp")"; }

# ticks NAME KEY STATE [TEXT]: in the transcript
ticks() {
    check "$1_$2" "not $3 ${4-}: $(grep " $2 " "$tmp/transcript" | head -n 1)" \
        sh -c 'grep -E "^ ?[0-9]+ $2 +$3 " "$1" | grep -qF -- "$4"' - "$tmp/transcript" "$2" "$3" "${4-}"
}

# holds NAME WHERE TEXT WORD: the text has the word. It runs no program: there are many of these.
holds() {
    case $3 in
    *"$4"*) good ;;
    *) bad "$1" "no '$4' in $2: $3" ;;
    esac
}

# broken NAME STATUS TEXT HINT [ARGUMENT ...]: refused with this cause and this cure, in the transcript too
broken() {
    name=$1 wanted=$2 text=$3 hint=$4
    shift 4
    go "$@"
    is "$name" "$wanted"
    whole=$(cat "$tmp/err")
    last=${whole##*"
"}
    holds "$name" "standard error" "$whole" "$text"
    holds "$name" "the hint" "$last" "$hint"
    case $last in 'hint: '[A-Z]*.) good ;; *) bad "$name" "not a hint: $last" ;; esac
    if [ ! -f "$tmp/transcript" ]; then
        bad "$name" "no transcript"
    else
        whole=$(head -n 4 "$tmp/transcript")
        holds "$name" "the transcript" "$whole" "result     failed: "
        holds "$name" "the transcript" "$whole" "$text"
        holds "$name" "the transcript" "$whole" "$hint"
        private "$name"
    fi
}

# ---- usage ----------------------------------------------------------------------------------------------------

# usage NAME TEXT ARGUMENT ...
usage() {
    name=$1 text=$2
    shift 2
    call "$@"
    is "usage_$name" 2
    says "usage_$name" err "$text"
    check "usage_$name" "no hint: $(cat "$tmp/err")" sh -c 'tail -n 1 "$1" | grep -q "^hint: [A-Z].*\.$"' - "$tmp/err"
}
usage nothing 'the folder of the model is missing'
usage model 'no folder "/none"' /none --libs "$tmp/libs"
usage libs 'the libraries are missing' "$model"
usage libs_folder 'no folder "/none"' "$model" --libs /none
usage option '--frobnicate' "$model" --frobnicate
usage no_value '--serial needs a value' "$model" --libs "$tmp/libs" --serial
usage number '--num_inferences needs a number' "$model" --libs "$tmp/libs" --num_inferences x
usage backend '--backend_so' "$model" --libs "$tmp/libs" --backend_so a/b.so
usage no_binaries 'no *.bin' "$tmp/none" --libs "$tmp/libs"
$shell tools/phone.sh --keys >"$tmp/keys"
$shell tools/phone.sh --help >"$tmp/out"
says help out '--transcript'

# examples/android/README.md and the manual list the same keys in the same order.
cut -d ' ' -f 1 "$tmp/keys" >"$tmp/wanted"
sed -n '/^| key |/,/^$/s/^| `\([a-z]*\)` |.*/\1/p' examples/android/README.md >"$tmp/readme"
check keys_readme "examples/android/README.md lists other keys: $(diff "$tmp/wanted" "$tmp/readme" | tr '\n' ' ')" cmp "$tmp/wanted" "$tmp/readme"
sed -n '/^   Unproven on device$/,/^$/p' qnnrt.h | tr '\n' ' ' | sed 's/.*(keys: \([^)]*\)).*/\1/' | tr -s ', ' '\n\n' | awk 1 >"$tmp/manual"
check keys_manual "qnnrt.h lists other keys: $(diff "$tmp/wanted" "$tmp/manual" | tr '\n' ' ')" cmp "$tmp/wanted" "$tmp/manual"

# ---- adb and phones -----------------------------------------------------------------------------------------------

for name in adb mksh toybox; do
    if ! command -v $name >/dev/null 2>&1; then skip $name "$name is not installed"; fi
done
if ! command -v adb >/dev/null 2>&1; then
    finish
    exit
fi

# The real adb with a server of its own, which knows nothing of the user's; and phones of tests/phone/device.py. Android's
# shell is mksh, and its programs are toybox.
unset ADB_SERVER_SOCKET ANDROID_ADB_SERVER_PORT ANDROID_ADB_SERVER_ADDRESS ADB_VENDOR_KEYS ADB_TRACE
HOME=$tmp/home
export HOME
server=localabstract:${tmp##*/}
trap 'end_phones; chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
end_phones() {
    for file in "$tmp"/*/pid; do kill "$(cat "$file")"; done
    adb -L "$server" kill-server
} >/dev/null 2>&1

if toybox=$(command -v toybox); then
    for name in $(toybox); do ln -s "$toybox" "$tmp/bin/$name"; done
fi
ln -sf "$(command -v mksh || command -v sh)" "$tmp/bin/sh"
# program NAME: a program of the phone, from standard input
program() {
    rm -f "$tmp/bin/$1"
    { echo '#!/bin/sh'; cat; } >"$tmp/bin/$1"
    chmod +x "$tmp/bin/$1"
}
# shellcheck disable=SC2016  # the program expands it
{
    echo 'sed -n "s/^$1=//p" "$PHONE/props"' | program getprop
    echo 'cat "$PHONE/page_size"' | program getconf
    echo 'cat "$PHONE/kernel"' | program uname
}
program dumpsys <<'end'
cat "$PHONE/$1" 2>/dev/null || echo "Can't find service: $1" >&2
end
echo 'if [ -f "$PHONE/saver" ]; then echo 1; else echo 0; fi' | program settings
program df <<'end'
echo 'Filesystem 1K-blocks Used Available Use% Mounted on'
echo "/dev/block/dm-5  117456000  1000   $(cat "$PHONE/free_kb")   1% /data"
end
program logcat <<'end'
echo '11-21 14:05:07.123  5000  6004 E adsprpc : Error 0x80000406: libQnnHtpV75Skel.so'
echo '11-21 14:05:07.124  5000  6004 I chatty : unrelated'
end

# What is pushed cannot run here: programs of this computer stand for it.
for name in qnnrt-run qnnrt-llm 03_compose; do
    case $name in 03_compose) made=examples/$name ;; *) made=$name ;; esac
    cat >"$tmp/pushed/$name" <<end
#!/bin/sh
echo "\$LD_LIBRARY_PATH|\$ADSP_LIBRARY_PATH" | sed "s#\$PHONE/root##g" >>"\$PHONE/env"
if [ -f "\$PHONE/before" ]; then . "\$PHONE/before"; fi
exec '$build/$made' "\$@"
end
done
for name in libQnnHtp.so libQnnSystem.so libQnnRef.so; do cp "$build/libQnnRef.so" "$tmp/pushed/$name"; done

# plug NAME [STATE]: connect the phone $tmp/NAME; address is what the server knows it as
plug() {
    if [ -f "$tmp/$1/pid" ]; then
        kill "$(cat "$tmp/$1/pid")"
        adb -L "$server" disconnect "$address"
    fi
    mkdir -p "$tmp/$1"
    ln -sf "$tmp/bin" "$tmp/pushed" "$tmp/$1/"
    python3 "$tests/phone/device.py" phone "$tmp/$1" "${2:-device}"
    address=$(cat "$tmp/$1/port")
    adb -L "$server" connect "$address"
} >/dev/null 2>&1

# listed [NAME WHAT] ...: the phones of adb devices; WHAT is an address or a state
listed() { printf '%s\t%s\n' "$@" | grep -v '^.$' >"$tmp/door/devices"; }

# fault KIND:PATTERN, see tests/phone/device.py; before TEXT: lines that a program on the phone runs first
fault() { echo "$1" >"$phone/fault"; }
before() { printf '%s\n' "$1" >"$phone/before"; }

# heat STATUS CPU SKIN: what the service of the phone says; the values of before are older
heat() {
    cat >"$phone/thermalservice" <<end
IsStatusOverride: false
ThermalEventListeners:
	callbacks: 2
	killed: false
	broadcasts count: -1
Thermal Status: $1
Cached temperatures:
	Temperature{mValue=99.0, mType=0, mName=CPU0, mStatus=0}
HAL Ready: true
HAL connection:
	ThermalHAL AIDL 1  connected: yes
Current temperatures from HAL:
	Temperature{mValue=36.0, mType=0, mName=CPU0, mStatus=0}
	Temperature{mValue=$2, mType=0, mName=CPU7, mStatus=0}
	Temperature{mValue=$3, mType=3, mName=skin, mStatus=$1}
	Temperature{mValue=-99.9, mType=1, mName=GPU, mStatus=0}
	Temperature{mValue=NaN, mType=9, mName=nsp, mStatus=0}
Current cooling devices from HAL:
	CoolingDevice{mValue=0, mType=2, mName=cpu}
Temperature static thresholds from HAL:
	TemperatureThreshold{type=0, name=CPU0, hotThrottlingThresholds=[NaN, 95.0], coldThrottlingThresholds=[NaN]}
end
}

# fresh: a phone in order, and no other
fresh() {
    rm -rf "$phone/root" "$phone/saver" "$phone/fault" "$phone/before" "$phone/calls" "$phone/env" "$phone/hangs" "$phone/over" "$phone/naps"
    mkdir -p "$phone/root/data/local/tmp" "$phone/root/sys/devices/soc0" "$phone/root/vendor/lib64"
    listed $secret "$main"
    echo 4096 >"$phone/page_size"
    echo 50000000 >"$phone/free_kb"
    echo 5.15.0 >"$phone/kernel"
    echo 557 >"$phone/root/sys/devices/soc0/soc_id"
    : >"$phone/root/vendor/lib64/libcdsprpc.so"
    # As ThermalManagerService.java and BatteryService.java of Android 14 print them; some vendors add logs to the second.
    heat 0 40.1 33.1
    cat >"$phone/battery" <<end
Current Battery Service state:
  AC powered: false
  USB powered: true
  Wireless powered: false
  status: 2
  health: 2
  present: true
  level: 40
  scale: 50
  voltage: 4156
  temperature: 312
  technology: Li-ion
[EventLogBuffer]
  level: 7
  temperature: 999
end
    cat >"$phone/props" <<end
ro.product.manufacturer=Acme
ro.product.model=Phone 8
ro.build.version.release=14
ro.build.version.sdk=34
ro.product.cpu.abi=arm64-v8a
ro.soc.manufacturer=QTI
ro.soc.model=SM8650
ro.board.platform=pineapple
end
}

adb -L "$server" start-server >/dev/null 2>&1
python3 "$tests/phone/device.py" door "$tmp/door" "${tmp##*/}"
ADB_SERVER_SOCKET=$server-door
export ADB_SERVER_SOCKET
plug phone
main=$address

# ---- a good phone -----------------------------------------------------------------------------------------------

fresh
call "$model" --libs "$tmp/libs" --libs "$tmp/skels" --tools "$tmp/tools_llm" --checker "$build/qnnrt-run" --num_inferences 3 --compose --output_dir "$tmp/kept/out"
is good 0
silent good err
private good
clean good
says good transcript 'result     ok'
ticks good start ok 'API level 34'
ticks good load ok 'context binaries: 1 ('
ticks good execute ok 'pipelines: 1, NPU generation 75'
ticks good output ok 'equal to the expected files: 1'
ticks good time ok 'median'
ticks good time ok 'before: throttling none, CPU 40.1 C, skin 33.1 C, battery 31.2 C, charge 80 %, USB power; after: throttling none'
ticks good power ok 'burst: '
ticks good memory ok '2 of 2 tensors registered with the device'
ticks good compose ok 'y = 30.5 0'
ticks good resident 'not run' 'one context'
ticks good text 'not run' 'not a language model'
ticks good weights 'not run'
ticks good restart 'not run'
says good_facts transcript 'ro.soc.model=SM8650'
says good_libs transcript 'the Hexagon DSP v75, release 2.51.0.260929181845'
check good_output_dir "y differs" cmp "$tmp/kept/out/layer/y.raw" "$model/y.expected.raw"
check good_env "$(head -n 1 "$phone/env")" grep -q '^/data/local/tmp/qnnrt-phone|/data/local/tmp/qnnrt-phone;' "$phone/env"
# The minimal set: no stub and skel of another generation.
check good_push "pushed V79" sh -c '! grep -q "push.*V79" "$1" && grep -q "push.*libQnnHtpV75Skel.so" "$1"' - "$phone/calls"

: >"$phone/old"
plug phone
main=$address
fresh
go --proves weights --serial $secret --keep
is old_adb 0
ticks old_adb weights ok
check keep "nothing was kept" test -e "$phone/root/data/local/tmp/qnnrt-phone/libQnnHtpV75Skel.so"
rm "$phone/old"
plug phone
main=$address
fresh
go
is again 0
clean again

# A program's constants go into the folder of the model; they are no inputs.
fresh
cat >"$model/qnnrt.json" <<'end'
{ "program": { "version": 1, "backends": ["npu"],
    "contexts": [ { "file": "layer \"1\".bin", "backend": "npu" } ],
    "constants": [ { "name": "t", "file": "a table.raw", "dtype": "int8", "dims": [4] },
                   { "name": "u", "file" : "values", "dtype": "int8", "dims": [4] } ] } }
end
echo 1234 >"$model/a table.raw"
echo 1234 >"$model/values"
go --keep
is program 0
for name in 'a table.raw' values qnnrt.json; do
    check program_file "no model/$name" test -e "$phone/root/data/local/tmp/qnnrt-phone/model/$name"
done
check program_inputs "more than x" test ! -e "$phone/root/data/local/tmp/qnnrt-phone/in/1.raw"
ticks program output ok 'equal to the expected files: 1'
rm "$model/qnnrt.json" "$model/a table.raw" "$model/values"

# What qnnrt-run wrote on this computer is a folder to compare with.
fresh
"$build/qnnrt-run" --ctx_dir "$model" --backend_so "$build/libQnnRef.so" --input "x=$model/x.raw" --output_dir "$tmp/made" >/dev/null
go --expected "$tmp/made"
is expected_folder 0
ticks expected_folder output ok 'equal to the expected files: 1'
private expected_folder

# A chip that only --dsp_arch knows; a phone chosen by ANDROID_SERIAL.
fresh
plug other
listed $other "$address" $secret "$main"
echo 9999 >"$phone/root/sys/devices/soc0/soc_id"
sed -i 's/SM8650/SM9999/' "$phone/props"
ANDROID_SERIAL=$secret
export ANDROID_SERIAL
go --dsp_arch 79
unset ANDROID_SERIAL
is new_chip 0
private new_chip
ticks new_chip execute ok 'NPU generation 79'

# A serial number of a phone on the network has blanks; the server may start with this call, and say so.
fresh
named='adb-7f3a (2)._adb-tls-connect._tcp'
listed "$named" "$main" 'adb-7f3a' "$main"
mkdir "$tmp/starting"
cat >"$tmp/starting/adb" <<end
#!/bin/sh
if [ "\$1" = devices ]; then printf '* %s\n' 'daemon not running; starting now at tcp:5037' 'daemon started successfully' >&2; fi
exec '$(command -v adb)' "\$@"
end
chmod +x "$tmp/starting/adb"
path=$tmp/starting:$desk
go --serial "$named"
is blanks 0
lacks blanks transcript '(2)._adb'
listed "$named" "$main"
go
is blanks_only 0
private blanks_only
path=''

# It becomes hot in the meantime, and saves its battery. Without Android's service, kernel's zones are read.
fresh
mkdir "$tmp/hot"
heat 3 81.5 43.0
mv "$phone/thermalservice" "$tmp/hot/"
heat 0 40.1 33.1
: >"$phone/saver"
# shellcheck disable=SC2016  # the program expands it
before "case \"\$*\" in *burst*) cp '$tmp/hot/thermalservice' \"\$PHONE/\" ;; esac"
go --num_inferences 1
is hot 0
ticks hot time ok 'battery saver; after: throttling severe, CPU 81.5 C, skin 43.0 C'
says hot out 'the phone is hot after timing'
fresh
rm "$phone/thermalservice" "$phone/battery"
mkdir -p "$phone/root/sys/class/thermal/thermal_zone0" "$phone/root/sys/class/thermal/thermal_zone1"
for zone in 0:cpu-1-0-usr:45300 1:nspss-0:51000; do
    where=$phone/root/sys/class/thermal/thermal_zone${zone%%:*} value=${zone#*:}
    echo "${value%:*}" >"$where/type"
    echo "${value#*:}" >"$where/temp"
done
go --num_inferences 1
is zones 0
ticks zones time ok 'before: throttling unknown, CPU 45.3 C, NPU 51.0 C; after'

# The folder of the SDK, and of an AAR: stub and skel of the phone's generation are found in it.
mkdir -p "$tmp/sdk/lib" "$tmp/aar/jni"
ln -s "$tmp/libs" "$tmp/sdk/lib/aarch64-android"
for xx in 75 79; do
    mkdir -p "$tmp/sdk/lib/hexagon-v$xx/unsigned"
    ln -s "$tmp/skels/libQnnHtpV${xx}Skel.so" "$tmp/sdk/lib/hexagon-v$xx/unsigned/"
done
mkdir "$tmp/aar/jni/arm64-v8a"
ln -s "$tmp"/libs/*.so "$tmp"/skels/*.so "$tmp/aar/jni/arm64-v8a/"
for layout in sdk aar; do
    fresh
    call "$model" --libs "$tmp/$layout" --tools "$tmp/tools" --checker "$build/qnnrt-run" --num_inferences 0
    is $layout 0
    check $layout "pushed the wrong skel" sh -c 'grep -q "push.*V75Skel" "$1" && ! grep -q "push.*V79" "$1"' - "$phone/calls"
done

# A Snapdragon that is in no table: it gets the stubs and skels of all generations.
fresh
echo 9999 >"$phone/root/sys/devices/soc0/soc_id"
sed -i 's/SM8650/SM9999/' "$phone/props"
go
is newer_chip 0
ticks newer_chip execute ok 'NPU generation 75 79'
check newer_chip "not all skels" sh -c 'grep -q "push.*V75Skel" "$1" && grep -q "push.*V79Skel" "$1"' - "$phone/calls"

# A computer without a qnnrt-run of its own, such as a Mac: that of the phone knows chips and checks the libraries. What it
# finds here, of the libraries that stand for Android's, explains a failure and causes none.
mkdir -p "$tmp/mac/tools"
cp tools/phone.sh "$tmp/mac/tools/"
without() { call "$model" --libs "$tmp/libs" --libs "$tmp/skels" --tools "$tmp/tools" --num_inferences 0; }
phone_sh=$tmp/mac/tools/phone.sh
fresh
without
is mac 0
private mac
clean mac
ticks mac execute ok 'NPU generation 75'
says mac_chip transcript 'chip=SM8650'
says mac_doctor transcript './qnnrt-run doctor . model --no_load --platform android --dsp_arch 75 --page_size 4096'
check mac_push "pushed twice, or another skel" sh -c 'test "$(grep -c "^push.*qnnrt-phone/qnnrt-run" "$1")" = 1 && ! grep -q "push.*V79" "$1"' - "$phone/calls"
fresh
before 'export QNNREF_FAULTS=fail=contextCreateFromBinary:1:0x138d'
without
is mac_refused 5
says mac_refused err 'the libraries do not fit: libQnnHtp.so: for Linux x86-64, expected Android arm64'
says mac_refused err '0x138d'
hinted mac_refused 'aarch64-android'
clean mac_refused
fresh
before 'exit 126'
without
is mac_start 7
says mac_start err 'qnnrt-run does not start on the phone: no permission to execute it'
clean mac_start
phone_sh=tools/phone.sh

# By the name, when soc_id cannot be read; without timeout on the phone nothing changes.
fresh
rm "$phone/root/sys/devices/soc0/soc_id"
sed -i 's/SM8650/SM8650-AB/' "$phone/props"
go
is by_name 0

# Chips of the table of qnnrt-run: SM8635 by its number.
echo 614 >"$phone/root/sys/devices/soc0/soc_id"
broken by_number 5 'libQnnHtpV73Stub.so: missing: the device has NPU generation 73' '.'
says by_number transcript 'chip=SM8635'

# Without an NPU: nothing about the NPU is ticked off.
fresh
call "$model" --tools "$tmp/tools" --backend_so libQnnRef.so --num_inferences 0
is ref 0
ticks ref start ok
ticks ref execute 'not run'
ticks ref output 'not run'
says ref transcript 'equal to the expected files: 1'

# ---- programs for arm64 under qemu ---------------------------------------------------------------------------------

cc=${AARCH64_CC:-aarch64-linux-gnu-gcc} emulator=${QEMU:-qemu-aarch64-static}
if ! command -v "$cc" >/dev/null 2>&1 || ! command -v "$emulator" >/dev/null 2>&1; then
    skip arm "$cc or $emulator is missing"
else
    fresh
    mkdir "$tmp/arm_tools" "$tmp/arm"
    "$cc" -std=c99 -O0 -I. -Itools -o "$tmp/arm_tools/qnnrt-run" tools/run/*.c tools/run/*/*.c tools/cli/*.c \
        -ldl -lm -pthread 2>>"$tmp/err"
    "$cc" -std=c99 -O0 -I. -Itools -o "$tmp/arm_tools/03_compose" examples/03_compose.c -ldl -lm 2>>"$tmp/err"
    "$cc" -std=c99 -O0 -ffp-contract=off -D_POSIX_C_SOURCE=200809L -I. -Itools -fPIC -fvisibility=hidden -shared \
        -Wl,-soname,libQnnRef.so -o "$tmp/arm_tools/libQnnRef.so" tools/refbackend/*.c -lm 2>>"$tmp/err"
    cp -R "$phone/root" "$phone/props" "$phone/page_size" "$phone/free_kb" "$phone/kernel" "$tmp/arm"
    echo "$emulator -L ${AARCH64_SYSROOT:-/usr/aarch64-linux-gnu}" >"$tmp/arm/emulator"
    plug arm
    rm "$tmp/arm/pushed"
    listed $secret "$address"
    call "$model" --tools "$tmp/arm_tools" --backend_so libQnnRef.so --num_inferences 2 --compose --output_dir "$tmp/arm_out" --keep
    is arm 0
    silent arm err
    private arm
    ticks arm start ok 'API level 34'
    says arm transcript 'equal to the expected files: 1'
    says arm transcript 'y = 30.5 0'
    check arm_pull "y differs" cmp "$tmp/arm_out/layer/y.raw" "$model/y.expected.raw"
    for name in qnnrt-run 03_compose; do
        check arm_program "$name on the phone is another" cmp "$tmp/arm_tools/$name" "$tmp/arm/root/data/local/tmp/qnnrt-phone/$name.arm64"
    done
    check arm_library "libQnnRef.so on the phone is another" \
        cmp "$tmp/arm_tools/libQnnRef.so" "$tmp/arm/root/data/local/tmp/qnnrt-phone/libQnnRef.so"
    if [ -n "${QNNRT_PHONE_TRANSCRIPT-}" ]; then cp "$tmp/transcript" "$QNNRT_PHONE_TRANSCRIPT"; fi
fi

# ---- a language model ---------------------------------------------------------------------------------------------

if [ -x "$build/examples/llm/export" ]; then
    fresh
    mkdir "$tmp/llm"
    "$build/examples/llm/export" "$data/llm/model" "$tmp/llm" --type w8a16 --shards 2 --backend_so "$build/libQnnRef.so" >/dev/null
    mkdir "$tmp/llm_made"
    "$build/qnnrt-llm" --ctx_dir "$tmp/llm" --backend_so "$build/libQnnRef.so" --prompt "And the 'LORD' " --max_gen 20 >"$tmp/llm_made/text.expected.txt" 2>"$tmp/err"
    "$build/qnnrt-run" --ctx_dir "$tmp/llm" --backend_so "$build/libQnnRef.so" --output_dir "$tmp/llm_made" >/dev/null
    head -n 1 "$tmp/llm_made/text.expected.txt" >"$tmp/line"
    write() { call "$tmp/llm" --libs "$tmp/libs" --libs "$tmp/skels" --tools "$tmp/tools_llm" --checker "$build/qnnrt-run" "$@"; }
    write --expected "$tmp/llm_made" --prompt "And the 'LORD' " --max_gen 20 --num_inferences 1
    is llm 0
    ticks llm text ok 'equals text.expected.txt'
    ticks llm memory ok 'registered with the device; '
    ticks llm resident ok 'one of 2 contexts'
    ticks llm restart 'not run'
    says llm transcript "$(cat "$tmp/line")"
    ticks llm output ok 'equal to the expected files'
    fresh
    before "case \"\$*\" in *prompt_file*) export QNNREF_FAULTS=restart=graphExecute:9 ;; esac"
    write --expected "$tmp/llm_made" --prompt "And the 'LORD' " --max_gen 20 --num_inferences 0
    is llm_restart 0
    ticks llm_restart restart ok 'the text went on'
    ticks llm_restart text ok 'equals text.expected.txt'
    fresh
    echo 'Something else' >"$tmp/llm/text.expected.txt"
    write --num_inferences 0 --max_gen 4
    is llm_differs 8
    ticks llm_differs text failed 'differs'
    says llm_differs err 'text.expected.txt'
else
    bad llm "$build/examples/llm/export is missing"
fi

# ---- broken phones ------------------------------------------------------------------------------------------------

# A phone that lies: what it says is neither a command of this computer's shell nor one of its terminal.
fresh
escape=$(printf 'Phone\033[31m\302\2338\342\200\256')
sed -i "s/Phone 8/$escape/" "$phone/props"
echo '?' >"$phone/page_size"
cat >"$phone/kernel" <<end
5.15.0
page_kb=PATH[\$(: >'$tmp/executed')]
free_kb=08
ro.build.version.sdk=34; echo
end
kept=$shell
if command -v bash >/dev/null 2>&1; then shell=bash; fi
go
shell=$kept
is liar 0
check liar_executes "a text of the phone was executed" test ! -e "$tmp/executed"
says liar_shown out 'Phone?[31m?8?'
lacks liar_terminal out "$(printf '\033')"
ticks liar start ok 'API level '
call "$model" --libs "$(printf '/\033[31m')"
is liar_names 2
says liar_names err 'no folder "/?[31m"'

# The desk.
fresh
for program in sh dash env printf cat sed awk grep od cmp tr head tail ls ln cp rm mkdir mktemp dirname date id wc diff cksum cut; do
    ln -sf "$(command -v $program || command -v true)" "$tmp/none/$program"
done
path=$tmp/none
broken no_adb 3 'adb is not installed' 'Install the platform tools'
path=''
broken no_tools 3 'no qnnrt-run for Android' 'build-ndk.sh' --tools "$tmp/none"
broken tools_of_desk 3 'is not for arm64' 'build-ndk.sh' --tools "$tmp/desk_tools"
broken no_checker 3 'cannot execute --checker' 'Run make' --checker "$tmp/none/qnnrt-run"

# Which phone.
listed
broken no_device 4 'no phone is connected' 'Switch on USB debugging'
plug strange unauthorized
listed $secret "$address"
broken unauthorized 4 'has not authorized this computer' 'Unlock the phone'
plug strange recovery
listed $secret "$address"
broken recovery 4 'the phone is in the state "recovery"' 'Start Android'
kill "$(cat "$tmp/strange/pid")"
adb -s $secret wait-for-disconnect
broken offline 4 'the phone is offline' 'Unplug the phone'
listed $secret 'no permissions (user in plugdev group; are your udev rules wrong?); see [http://developer.android.com/tools/device.html]'
broken no_udev 4 'may not open the USB device' 'Install the udev rules'
plug strange
listed $secret "$main" $other "$address"
broken two_devices 4 '2 phones are connected' 'Choose one with --serial'
broken other_serial 4 'no phone with this serial number' 'Compare --serial' --serial SERIAL-0000

# Which kind of phone, and which libraries.
fresh
sed -i 's/arm64-v8a/x86_64/' "$phone/props"
broken wrong_abi 4 'ABI is "x86_64"' 'Use a phone with a 64-bit Snapdragon'
fresh
echo 9999 >"$phone/root/sys/devices/soc0/soc_id"
sed -i 's/SM8650/MT6989/; s/=QTI/=Mediatek/' "$phone/props"
broken unknown_chip 4 'the chip "MT6989"' 'Add --dsp_arch XX'
fresh
echo 660 >"$phone/root/sys/devices/soc0/soc_id"
broken wrong_soc 5 'libQnnHtpV81Stub.so: missing: the device has NPU generation 81' 'lib/aarch64-android'
fresh
mv "$tmp/skels/libQnnHtpV75Skel.so" "$tmp/skel"
broken skel_missing 5 'libQnnHtpV75Skel.so: missing' 'lib/hexagon-v75/unsigned'
cp "$tmp/stale/libQnnHtpV75Skel.so" "$tmp/skels/"
broken skel_stale 5 'libQnnHtpV75Skel.so: release 2.48.40' 'one release'
printf 'version https://git-lfs.github.com/spec/v1\n' >"$tmp/skels/libQnnHtpV75Skel.so"
broken skel_pointer 5 'a pointer of git-lfs' 'git lfs pull'
mv "$tmp/skel" "$tmp/skels/libQnnHtpV75Skel.so"
call "$tmp/newer" --libs "$tmp/libs" --libs "$tmp/skels" --tools "$tmp/tools" --checker "$build/qnnrt-run"
is newer_model 5
says newer_model err 'made by release 2.52.0'
hinted newer_model '2.52 or newer'
echo 16384 >"$phone/page_size"
call "$model" --libs "$tmp/pages" --libs "$tmp/libs" --libs "$tmp/skels" --tools "$tmp/tools" --checker "$build/qnnrt-run"
is pages 5
says pages err 'aligned to 4096 bytes'
broken backend_missing 5 'libQnnNone.so is in no folder' 'Name the folder' --backend_so libQnnNone.so

# Storage, permissions, connection.
fresh
echo 1000 >"$phone/free_kb"
broken full 6 "the phone's storage is full: 16 MB needed, 0 MB free" 'Free 16 MB'
check full_pushed "it pushed" sh -c '! grep -q push "$1"' - "$phone/calls"
fresh
fault full:libQnnHtpV75Skel.so
broken full_at_push 6 "the phone's storage is full: pushing libQnnHtpV75Skel.so" 'Free storage'
clean full_at_push
fresh
fault 'denied:qnnrt-phone/qnnrt-run'
broken denied 6 'no permission to write' 'Remove /data/local/tmp/qnnrt-phone'
if [ "$(id -u)" != 0 ]; then
    fresh
    chmod a-w "$phone/root/data/local/tmp"
    broken denied_folder 6 'no permission to write' 'Remove /data/local/tmp/qnnrt-phone'
fi
fresh
fault broken:in/0.raw
broken push_fails 6 'adb push failed: in/0.raw' 'Try another USB cable'
fresh
fault 'broken:pull'
broken pull_fails 6 'adb pull failed' 'Free storage on this computer'
clean pull_fails
fresh
fault 'lost:libQnnSystem.so'
broken lost_at_push 6 'the connection to the phone was lost: pushing libQnnSystem.so' 'Plug the phone in again'
says lost_at_push out 'is still on the phone'
fresh
plug phone
main=$address
listed $secret "$main"
fault 'lost:--output_dir out'
broken lost_at_run 6 'the connection to the phone was lost: running the model' 'Plug the phone in again'
ticks lost_at_run start ok
rm "$phone/fault"
plug phone
main=$address
listed $secret "$main"
go
is after_lost 0
clean after_lost

# A program that does not end, and says where it is: adbd tells the shell alone that the computer has gone.
hangs='case "$*" in *"--output_dir out"*) echo $$ >"$PHONE/hangs"; echo "does not end"; trap "" HUP; exec sleep 300 ;; esac'
runs() { test "$(readlink "/proc/$(cat "$phone/hangs")/cwd")" = "$(cd "$phone/root/data/local/tmp/qnnrt-phone" && pwd -P)"; }
ended() { check "$1_ended" "process $(cat "$phone/hangs") still runs" sh -c '! readlink "/proc/$1/cwd"' - "$(cat "$phone/hangs")"; }
fresh
before "trap '' HUP; $hangs"
fault 'lost:--output_dir out'
go
is left 6
check left "the program ended by itself" runs
rm "$phone/fault" "$phone/before"
plug phone
main=$address
listed $secret "$main"
go
is left_before 0
ended left_before

# The script itself is stopped.
fresh
before "$hangs"
PATH="$desk" "$shell" tools/phone.sh "$model" --libs "$tmp/libs" --libs "$tmp/skels" --tools "$tmp/tools" --checker "$build/qnnrt-run" \
    --transcript "$tmp/transcript" >"$tmp/out" 2>"$tmp/err" </dev/null &
script=$!
until [ -s "$phone/hangs" ] || ! kill -0 $script 2>/dev/null; do sleep 0.1; done
check stopped "the program did not start" runs
kill -TERM $script
wait $script
status=$?
is stopped 3
ended stopped
clean stopped
says stopped transcript 'stopped by a signal'

# The phone does not answer, or does not end a program in time. For the script, time is over when the phone has come to
# that point: the program sleep of this computer waits for a sign, and ends once.
mkdir "$tmp/clock"
cat >"$tmp/clock/sleep" <<end
#!/bin/sh
echo "\$1" >>'$phone/naps'
until eval "\$SIGN" && mkdir '$phone/over'; do '$(command -v sleep)' 0.1; done
end
chmod +x "$tmp/clock/sleep"
# late SIGN NAME STATUS TEXT HINT [ARGUMENT ...]: time is over when the command SIGN succeeds
late() {
    SIGN=$1 watched=$phone path=$tmp/clock:$desk
    export SIGN watched
    shift
    rm -f "$phone/naps"
    broken "$@"
    clean "$1"
    path=''
}
# shellcheck disable=SC2016  # sleep expands it
{
    fresh
    fault deaf:ro.product.model
    late 'grep -qs ro.product.model "$watched/calls"' deaf_shell 6 'adb did not end within 660 s: asking for facts' 'Unlock the phone'
    fresh
    fault deaf:libQnnSystem.so
    late 'grep -qs "^push.*libQnnSystem.so" "$watched/calls"' deaf_push 6 'adb did not end within 660 s: pushing libQnnSystem.so' 'Unlock the phone'
    fresh
    fault deaf:pull
    late 'grep -qs "^pull" "$watched/calls"' deaf_pull 6 'adb did not end within 65 s: pulling the outputs' 'Unlock the phone' --timeout 5
    fresh
    before "$hangs"
    late '[ -s "$watched/hangs" ]' hang 7 'did not end within 5 s' 'Restart the phone' --timeout 5
    ended hang
    check hang "naps of $(sort -u "$phone/naps" | tr '\n' ' ')" grep -qx 5 "$phone/naps"
}
# The script does without the phone's timeout, whose statuses are not to be relied on.
check no_timeout "it uses timeout" sh -c '! grep -q "timeout " "$1"' - "$phone/calls"

# Programs.
fresh
# shellcheck disable=SC2016  # the fake program expands it
before 'echo "CANNOT LINK EXECUTABLE \"./qnnrt-run\": cannot locate symbol \"memfd_create\"" >&2; exit 1'
broken cannot_link 7 'memfd_create' 'API=34'
ticks cannot_link start failed
clean cannot_link
fresh
before 'exit 126'
broken cannot_execute 7 'no permission to execute' '/data/local/tmp allows programs'
fresh
# shellcheck disable=SC2016
before 'case $1 in run) kill -SEGV $$ ;; esac'
broken crash 7 'ended by signal 11' 'Send the transcript'
ticks crash start ok
fresh
before 'export QNNREF_FAULTS=fail=contextCreateFromBinary:1:0x138d'
broken refused 7 '0x138d' '.'
ticks refused load failed
says refused_logcat transcript 'libQnnHtpV75Skel.so'
lacks refused_logcat transcript unrelated
clean refused
fresh
before 'export QNNREF_FAULTS=fail=graphExecute:1:0x1770'
broken execute_fails 7 '0x1770' '.'
ticks execute_fails load ok
ticks execute_fails execute failed
fresh
cp "$model/y.expected.raw" "$tmp/y"
printf '\001' | dd of="$model/y.expected.raw" bs=1 seek=4 conv=notrunc 2>/dev/null
broken differs 8 'output "y" of layer: of 8 bytes, 1 bytes differ, the first at byte 4' 'with the same release'
ticks differs execute ok
ticks differs output failed 'of 8 bytes, 1 bytes differ'
clean differs
printf '\001' >>"$model/y.expected.raw"
broken size_differs 8 'has 8 bytes, expected 9' 'same release'
cp "$tmp/y" "$model/y.expected.raw"
cp "$tmp/y" "$model/z.expected.raw"
broken no_such_output 8 'no output is named "z"' 'same release'
rm "$model/z.expected.raw"

finish
