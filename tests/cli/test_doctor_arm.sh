#!/bin/sh
# qnnrt-run doctor as a program for 64-bit Arm, with Qualcomm's genuine libraries for it, under qemu: a machine
# without a DSP, one with a chip of Qualcomm's and no transport, and one whose skels are not found.
#
#   sh tests/cli/test_doctor_arm.sh [BUILD_DIR]
suite=test_doctor_arm
. "$(dirname "$0")/../harness/tool.sh"

cc=${AARCH64_CC:-aarch64-linux-gnu-gcc} root=${AARCH64_SYSROOT:-/usr/aarch64-linux-gnu} qemu=${QEMU:-qemu-aarch64-static}
arm=$build/qnn/2.51-aarch64/onnxruntime_qnn
if ! command -v "$cc" >/dev/null 2>&1 || ! command -v "$qemu" >/dev/null 2>&1; then
    skip arm "$cc or $qemu is missing"
    finish
    exit
elif [ ! -f "$arm/libQnnHtp.so" ]; then
    skip arm "$arm is missing: say 'make qnn-libs QNN_RELEASES=aarch64'"
    finish
    exit
fi
"$cc" -std=c99 -O1 -I. -Itools -o "$tmp/qnnrt-run" tools/run/*.c tools/run/*/*.c tools/cli/*.c -ldl -lm 2>"$tmp/err" || bad build "$(head -n 3 "$tmp/err")"
unset ADSP_LIBRARY_PATH

# doctor PREFIX ARGUMENT ...: with the files below PREFIX as those of the machine
doctor() {
    prefix=$1
    shift
    "$qemu" -L "$prefix" -E LD_LIBRARY_PATH="$arm" "$tmp/qnnrt-run" doctor "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
}
# fault NAME TEXT HINT; warning: likewise
fault() { found fault "$@"; }
warning() { found warning "$@"; }
found() {
    if awk -v kind="  $1 " -v text="$3" -v hint="$4" '
        /^  [a-z]/ { seen = index($0, kind) == 1 && index($0, text) }
        seen && index($0, "           hint: ") == 1 && index($0, hint) { good = 1 }
        END { exit !good }' "$tmp/out"; then good; else bad "$2" "no $1 '$3' with '$4' in: $(cat "$tmp/out")"; fi
}

model=$data/ctx/qairt2.51/mlp_u8
doctor "$root" "$arm" "$model" --backend_so "$arm/libQnnHtp.so"
is no_dsp 1
fault no_dsp 'DSP: no DSP: this machine has no chip of Qualcomm' 'Run it on the device, or use the x86-64 library'
fault no_dsp_backend 'cannot start the backend of' 'Run it on the device'
says no_dsp_log out 'No Snapdragon SOC detected'
says no_dsp_model out 'forward_0.bin: made by v2.51.0.260929181845 for HTP, NPU v68'
says no_dsp_libs out 'libQnnHtpV75Skel.so: the Hexagon DSP v75, release 2.51.0.260929181845'
check no_dsp_alone "$(grep '^  \(fault\|warning\) ' "$tmp/out")" test "$(grep -c '^  \(fault\|warning\) ' "$tmp/out")" -eq 2

# A chip that the library knows, and nothing else of a device.
mkdir -p "$tmp/board/sys/devices/system/soc/soc0"
for entry in "$root"/*; do ln -s "$entry" "$tmp/board/${entry##*/}"; done
echo 557 >"$tmp/board/sys/devices/system/soc/soc0/id"
doctor "$tmp/board" "$arm" --backend_so "$arm/libQnnHtp.so"
is no_transport 1
says chip out 'SoC: SM8650 (chip number 557), NPU v75, VTCM 8 MiB'
fault no_transport 'libcdsprpc.so: libcdsprpc.so: cannot open shared object file' 'uses-native-library'
fault no_transport_backend 'deviceCreate answered 0x36b1' '.'
fault no_node '/dev: it has no node of the DSP' '/dev/fastrpc-cdsp'
warning no_path 'ADSP_LIBRARY_PATH: not set' 'libQnnHtpV75Skel.so'

# The stub of another generation is there, and that of the chip is not.
mkdir "$tmp/libs"
for file in libQnnHtp.so libQnnSystem.so libQnnHtpV73Stub.so libQnnHtpV73Skel.so; do ln -s "$(cd "$arm" && pwd)/$file" "$tmp/libs/$file"; done
doctor "$tmp/board" "$tmp/libs" --no_load
is other_generation 1
fault other_stub 'libQnnHtpV75Stub.so: missing: the device has NPU generation 75' 'Add it from'
fault other_skel 'libQnnHtpV75Skel.so: missing: the device has NPU generation 75' 'lib/hexagon-v75/unsigned'

finish
