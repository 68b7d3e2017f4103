#!/bin/sh
# qnnrt-run doctor, on made-up libraries (tests/cli/make_libs.py) and on the genuine ones.
#
#   sh tests/cli/test_doctor.sh [BUILD_DIR [RELEASE_DIR]]
#
# BUILD_DIR (default build) holds qnnrt-run; RELEASE_DIR (default: 2.51 below it) holds the genuine
# libraries, without which their cases are skipped. A check that passes prints nothing.
suite=test_doctor
. "$(dirname "$0")/../harness/tool.sh"

if [ ! -e "$tool" ]; then
    bad build "$tool is missing"
    finish
    exit
fi
python=
if command -v python3 >/dev/null 2>&1; then python=python3; fi

# look ARGUMENT ...: read files, and load nothing
look() { run doctor --no_load "$@"; }

# fault NAME TEXT HINT: the last run found it, and its last line is a hint with that text
fault() { found fault "$@"; }
warning() { found warning "$@"; }
found() {
    if awk -v kind="  $1 " -v text="$3" -v hint="$4" '
        /^  [a-z]/ { seen = index($0, kind) == 1 && index($0, text) }
        seen && index($0, "           hint: ") == 1 && index($0, hint) { good = 1 }
        END { exit !good }' "$tmp/out"; then good; else bad "$2" "no $1 '$3' with '$4' in: $(cat "$tmp/out")"; fi
}

# ---- usage ------------------------------------------------------------------------------------------

wrong platform '"windows"' doctor --platform windows .
wrong page '--page_size' doctor --page_size 100 .
wrong arch '--dsp_arch' doctor --dsp_arch v75 .
wrong run_unloaded '--no_load' doctor . --run --no_load
wrong two_documents '--json' doctor . --json --report -
wrong libs '"libs"' libs .
hinted libs_hint 'qnnrt-run doctor'
look "$tmp/none"
is folder_missing 1
fault folder_missing "$tmp/none" 'Name a folder'
look "$data/ctx/qairt2.51/mlp_u8/forward_0.bin"
fault folder_is_file 'a file, expected a folder' 'qnnrt-run extract'
run doctor --help
says help out '--page_size'

# ---- made-up folders ----------------------------------------------------------------------------------

if [ -z "$python" ]; then
    skip made_up "python3 is missing"
else
    r=2.51.0.260929181845
    stamp=260929181845
    # whole FOLDER: lines for a complete one for v75
    whole() {
        echo "$1/libQnnHtp.so release=$r"
        echo "$1/libQnnSystem.so stamp=$stamp"
        echo "$1/libQnnHtpV75Stub.so release=$r"
        echo "$1/libQnnHtpV75Skel.so for=hexagon arch=75 release=$r symbol=qnn_2_51_0_skel_handle_invoke"
    }
    t=$tmp
    # A later line replaces a file of an earlier one.
    {
        for name in good old lfs cut swapped mixed stale symbol pages bundled glibc renamed host64 empty text many fat hole crowd dir x86 system; do whole "$t/$name"; done
        echo "$t/good/libQnnHtpV73Stub.so release=$r"
        echo "$t/good/libQnnHtpV73Skel.so for=hexagon arch=73 aisw=2.51.0"
        echo "$t/good/libQnnHtpPrepare.so release=$r id=00ff10"
        echo "$t/good/libQnnHtpV75CalculatorStub.so"
        echo "$t/good/libQnnNetRunDirectV75Skel.so for=hexagon arch=75 release=$r"
        echo "$t/good/libapp.so sections=300 bytes=1000"
        echo "$t/good/README.txt text=x"
        echo "$t/lfs/libQnnHtpV75Skel.so text=version%20https://git-lfs.github.com/spec/v1"
        echo "$t/cut/libQnnHtp.so release=$r cut=200"
        echo "$t/cut/libQnnSystem.so stamp=$stamp sections=1000"
        echo "$t/swapped/libQnnHtpV75Skel.so release=$r"
        echo "$t/mixed/libQnnHtpV73Stub.so release=$r"
        echo "$t/mixed/libQnnHtpV79Skel.so for=hexagon arch=79 release=$r"
        echo "$t/stale/libQnnHtpV75Skel.so for=hexagon arch=75 release=2.48.40.260702000000 symbol=qnn_2_48_40_skel_handle_invoke"
        echo "$t/system/libQnnSystem.so stamp=260702151143"
        echo "$t/symbol/libQnnHtpV75Skel.so for=hexagon arch=75 symbol=qnn_2_48_40_skel_handle_invoke"
        echo "$t/pages/libQnnHtp.so release=$r align=0x1000"
        echo "$t/bundled/libcdsprpc.so"
        echo "$t/bundled/libc++_shared.so"
        echo "$t/glibc/libQnnSystem.so for=linux stamp=$stamp"
        echo "$t/renamed/libQnnHtpV75Skel.so for=hexagon arch=73 release=$r symbol=qnn_2_51_0_skel_handle_invoke"
        echo "$t/host64/libQnnSystem.so for=hexagon arch=75 stamp=$stamp"
        echo "$t/empty/libQnnHtp.so text="
        echo "$t/text/libQnnHtpV75Stub.so text=<!DOCTYPE%20html>"
        echo "$t/fat/libQnnHtpV75Skel.so for=hexagon arch=75 release=$r bytes=287309824"
        echo "$t/hole/libQnnSystem.so stamp=$stamp bytes=1099511627776"
        echo "$t/crowd/libQnnSystem.so stamp=$stamp dynamics=65533"
        echo "$t/odd/forward_0.bin text=v2.51.0.$stamp;arch=75; bytes=1099511627776"
        echo "$t/wrong/libQnnSystem.so for=hexagon"
        echo "$t/x86/libQnnHtp.so for=x86_64 release=$r"
        echo "$t/linux/libQnnHtp.so for=linux release=$r"
        echo "$t/linux/libQnnSystem.so for=linux stamp=$stamp"
        echo "$t/linux/libQnnHtpV75Stub.so for=linux release=$r"
        echo "$t/linux/libQnnHtpV75Skel.so for=hexagon arch=75 release=$r"
        echo "$t/bare/libQnnSystem.so stamp=$stamp"
        echo "$t/cuts each=cut id=0123456789abcdef release=$r stamp=$stamp sections=100"
        echo "$t/flips each=flip id=0123456789abcdef release=$r stamp=$stamp"
        echo "$t/flips32 each=flip for=hexagon arch=75 release=$r"
        # The tool reads blocks of 1 MiB and 128 bytes.
        for pad in 1048600 1048640 1048690 1048704; do echo "$t/pads/$pad.bin pad=$pad text=v2.51.0.$stamp;arch=75;"; done
        echo "$t/ctx/forward_0.bin text=xv2.51.0.$stamp;soc_type=SM8650;min_arch=68;arch=75;"
        echo "$t/newer/forward_0.bin text=xv2.52.0.$stamp;arch=75;"
        echo "$t/older/forward_0.bin text=xv2.47.0.$stamp;arch=73;"
        echo "$t/above/forward_0.bin text=xv2.47.0.$stamp;arch=81;"
        echo "$t/unmarked/forward_0.bin text=nothing"
    } | $python "$tests/cli/make_libs.py"
    rm "$t/dir/libQnnSystem.so"
    mkdir "$t/dir/libQnnSystem.so" "$t/none_in_it"

    look "$t/good"
    is good 0
    silent good err
    says good out 'Android arm64, 16 KB pages, release 2.51.0.260929181845'
    says good_skel out 'the Hexagon DSP v75, release 2.51.0.260929181845'
    says good_id out 'build id 00ff10, '
    says good_stamp out 'built 260929181845'
    says good_sum out '0 faults, 0 warnings'
    lacks good_folder out "$t"
    look "$t/good" --platform android --dsp_arch 75 --page_size 16384 "$t/ctx"
    is good_all 0
    says good_ctx out 'made by release 2.51.0.260929181845, for v75'
    whole_tool=$(cd "${tool%/*}" && pwd)/${tool##*/}
    # The libraries of an app: in its project, in an AAR, and installed on a phone.
    for folder in src/jniLibs/arm64-v8a aar/jni/arm64-v8a com.app/lib/arm64; do
        mkdir -p "$t/${folder%/*}"
        cp -R "$t/good" "$t/$folder"
        look "$t/$folder"
        is "app_$folder" 3
        warning "app_$folder" 'libQnnHtpV75Skel.so: the DSP'"'"'s files have 32 bits and segments of 16384 bytes' 'among the assets'
        check "app_$folder" "$(cat "$tmp/out")" test "$(grep -c 'stores refuse them' "$tmp/out")" -eq 3
        (cd "$t/$folder" && "$whole_tool" doctor --no_load . >"$tmp/out" 2>"$tmp/err")
        check "app_$folder" "$(cat "$tmp/out")" grep -qF 'stores refuse them' "$tmp/out"
        rm "$t/$folder/"*Skel.so
        look "$t/$folder"
        lacks "app_$folder" out 'stores refuse'
    done
    cp "$t/good/libQnnHtpV75Skel.so" "$t/com.app/lib/"
    look "$t/com.app/lib"
    lacks app_beside out 'stores refuse'
    look "$t/linux"
    is linux 0
    look "$t/linux" --platform android
    is linux_not_android 1
    fault linux_not_android 'libQnnHtp.so: for Linux arm64, expected Android arm64 (it needs glibc' 'lib/aarch64-android'

    look "$t/lfs"
    is lfs 1
    fault lfs 'libQnnHtpV75Skel.so: a pointer of git-lfs' 'git lfs pull'
    look "$t/cut"
    is cut 1
    fault cut 'libQnnHtp.so: cut short' 'Copy the file again'
    fault cut_sections 'libQnnSystem.so: cut short: its section headers begin at byte 1000' 'Copy the file again'
    look "$t/swapped"
    is swapped 1
    fault swapped 'libQnnHtpV75Skel.so: for Android arm64 (64 bits), expected a 32-bit file' 'lib/hexagon-v75/unsigned'
    look "$t/mixed"
    is mixed 1
    fault mixed_skel 'libQnnHtpV73Skel.so: missing: libQnnHtpV73Stub.so' 'lib/hexagon-v73/unsigned'
    fault mixed_stub 'libQnnHtpV79Stub.so: missing: libQnnHtpV79Skel.so' 'lib/aarch64-android'
    look "$t/mixed" --dsp_arch 75
    is mixed_75 0
    look "$t/mixed" --dsp_arch 73
    is mixed_73 1
    fault mixed_73 'libQnnHtpV73Skel.so: missing: the device has NPU generation 73' 'lib/hexagon-v73/unsigned'
    look "$t/mixed" --dsp_arch 81
    fault mixed_81 'libQnnHtpV81Stub.so: missing' 'lib/aarch64-android'
    fault mixed_81_skel 'libQnnHtpV81Skel.so: missing' 'lib/hexagon-v81'
    look "$t/stale"
    is stale 1
    fault stale 'libQnnHtpV75Skel.so: release 2.48.40.260702000000, and libQnnHtp.so has release 2.51.0.260929181845' 'one release'
    look "$t/system"
    is system 1
    fault system 'libQnnSystem.so: release built 260702151143' 'one release'
    look "$t/symbol"
    is symbol 1
    fault symbol 'its function is qnn_2_48_40_skel_handle_invoke' 'one release'
    look "$t/pages"
    is pages 3
    warning pages 'libQnnHtp.so: its segments are aligned to 4096 bytes' '16 KB pages'
    look "$t/pages" --page_size 16384
    is pages_16 1
    fault pages_16 'libQnnHtp.so: its segments are aligned to 4096 bytes, and a page of the device has 16384' '2.46'
    look "$t/pages" --page_size 4096
    is pages_4 0
    lacks pages_4 out 'warning  '
    look "$t/bundled"
    is bundled 1
    fault bundled 'libcdsprpc.so: it belongs to the device' 'Remove it'
    warning bundled_cxx 'libc++_shared.so' 'Remove it, unless'
    look "$t/glibc"
    is glibc 1
    fault glibc 'libQnnSystem.so: for Linux arm64, expected Android arm64' 'lib/aarch64-android'
    look "$t/renamed"
    is renamed 1
    fault renamed 'libQnnHtpV75Skel.so: made for v73, and its name says v75' 'lib/hexagon-v75'
    look "$t/host64"
    is host64 1
    fault host64 'libQnnSystem.so: for the Hexagon DSP, expected Android arm64' 'lib/aarch64-android'
    look "$t/empty"
    is empty 1
    fault empty 'libQnnHtp.so: empty' 'Copy the file again'
    look "$t/text"
    is text 1
    fault text 'libQnnHtpV75Stub.so: not a library' 'Copy the file again'
    look "$t/fat"
    is fat 3
    warning fat 'libQnnHtpV75Skel.so: 274 MB' 'about 14 MB'
    look "$t/hole"
    is hole 1
    fault hole 'libQnnSystem.so: 1099511627776 bytes' 'compare its size'
    look "$t/crowd"
    is crowd 0
    (cd "$t/many" && seq -f 'libx%.0f.so' 5000 | xargs touch)
    look "$t/many"
    is many 0
    says many out '5000 more libraries'
    look "$t/dir"
    is dir 1
    fault dir 'libQnnSystem.so: cannot be opened' 'Copy the file itself'
    look "$t/x86" --platform android
    is x86 1
    fault x86 'libQnnHtp.so: for Linux x86-64, expected Android arm64' 'lib/aarch64-android'
    look "$t/bare"
    is bare 1
    fault bare 'libQnnHtp.so: missing' 'lib/aarch64-android'
    fault bare_pairs 'missing for every XX' 'XX'
    look "$t/none_in_it"
    is none_in_it 1

    # ---- damaged in every place: named, and nothing worse ----
    look "$t/cuts"
    is cuts 1
    silent cuts err
    named=$(grep -c '^  fault    libQnnCut.*: \(cut short\|empty\|not a library\)' "$tmp/out")
    check cuts_all "$(head -n 3 "$tmp/out")" test "$named" -eq "$(ls "$t/cuts" | wc -l)"
    look "$t/flips"
    is flips 1
    silent flips err
    look "$t/flips32"
    is flips32 1
    silent flips32 err

    # ---- models ----
    look "$t/good" "$t/newer"
    is newer 1
    fault newer 'forward_0.bin: made by release 2.52.0, and libQnnHtp.so has the older release 2.51.0' 'release 2.52 or newer'
    look "$t/good" "$t/above"
    is above 1
    fault above 'libQnnHtpV81Skel.so: missing: forward_0.bin is compiled for v81' 'lib/hexagon-v81'
    look "$t/good" "$t/above" --dsp_arch 75
    is above_75 1
    fault above_75 'forward_0.bin: compiled for v81, and the device has v75' '--dsp_arch 75'
    look "$t/good" "$t/older" --dsp_arch 75
    is older_75 3
    warning older_75 'compiled for v73, and the device has v75; whether that runs is unproven' '--dsp_arch 75'
    look "$t/good" "$t/unmarked"
    is unmarked 0
    says unmarked out 'its release is not known'
    look "$t/good" "$t/pads"
    check pads "$(cat "$tmp/out")" sh -c '[ "$(grep -c "made by release 2.51.0.260929181845, for v75" "$1")" -eq 4 ]' - "$tmp/out"
    look "$t/good" "$t/none_in_it"
    is no_binaries 1
    fault no_binaries 'it has neither a context binary nor a library' 'context binaries'
    look "$t/good" "$tmp/none"
    is no_folder_of_model 1
    fault no_folder_of_model "$tmp/none: cannot be opened" 'Name a folder'
    ln -s /proc/self/pagemap "$t/odd/endless.bin"
    look "$t/good" "$t/odd"
    is odd 1
    says odd_hole out 'made by release 2.51.0.260929181845, for v75'
    fault odd_endless 'endless.bin: empty' 'Copy the file again'
    run doctor "$t/good" "$t/ctx" --system_so "$t/wrong/libQnnSystem.so"
    is wrong_system 1
    says wrong_system out 'ctx: cannot open the library'
    lacks wrong_system_lines out '\x0A'
    look "$t/good" "$data/ctx/qairt2.51/mlp_f32_io"
    is sample 0
    says sample out 'made by release 2.51.0.260929181845, for v75'
    cp -r "$data/llm/json" "$t/json"
    (cd "$t/json" && for n in 0 1 2 3; do mv w8a16_four_$n.json forward_${n}_json.json; done && rm -f ./*_one.json bad_*)
    look "$t/good" "$t/json"
    says json out 'forward_0'
    says json out 'made by v2.51.0'
    for n in 0 1 2 3; do fault "json_alone_$n" "forward_$n.bin: missing: there is only forward_${n}_json.json" 'Copy the context binary'; done
    check json_alone "$(cat "$tmp/out")" test "$(grep -c '^  fault ' "$tmp/out")" -eq 4
    for n in 0 1 2 3; do
        arch=81
        if [ $n = 0 ]; then arch=181; fi
        sed -i "s/\"dspArch\": 75/\"dspArch\": $arch/" "$t/json/forward_${n}_json.json"
    done
    look "$t/good" "$t/json"
    fault arch_81 'libQnnHtpV81Skel.so: missing' 'lib/hexagon-v81'
    fault arch_181 'libQnnHtpV181Skel.so: missing' 'lib/hexagon-v181'
fi

# ---- one folder, broken in 24 ways: each is named, and nothing else ---------------------------------------

# sound: the finding of the folder as it is; broken NAME LEVEL TEXT HINT [ARGUMENT ...]: the folder $d has this
# fault (or warning) and no other one.
device() { ADSP_LIBRARY_PATH=$skels run doctor "$d" --platform android --page_size 16384 --root "$root" "$@"; }
broken() {
    name=$1 level=$2 text=$3 hint=$4
    shift 4
    device "$@"
    if [ "$level" = fault ]; then is "broken_$name" 1; else is "broken_$name" 3; fi
    found "$level" "broken_$name" "$text" "$hint"
    count=$(grep -c '^  \(fault\|warning\) ' "$tmp/out")
    check "broken_${name}_alone" "$count findings: $(cat "$tmp/out")" test "$count" -eq 1
    silent "broken_${name}_err" err
    ways=$((ways + 1))
}
# fresh: $d is the sound folder again, and $root the sound device
fresh() {
    rm -rf "$d" "$root"
    cp -rl "$t/sound" "$d"
    cp -r "$t/phone" "$root"
}
# put FILE [NAME]: a prepared file takes the place of another; files are links to those of the sound folder
put() {
    rm -f "$d/${2:-${1#*/}}"
    cp "$t/parts/$1" "$d/${2:-${1#*/}}"
}
# edit N FROM TO: change the JSON of a shard
edit() { sed -i "s/$2/$3/" "$d/forward_$1_json.json"; }

if [ -n "$python" ]; then
    t=$tmp/ways d=$tmp/ways/app root=$tmp/ways/root skels=$tmp/ways/skels ways=0
    mkdir -p "$t/phone/sys/devices/soc0" "$t/phone/dev" "$t/phone/vendor/lib64"
    echo 557 >"$t/phone/sys/devices/soc0/soc_id"
    : >"$t/phone/dev/fastrpc-cdsp"
    : >"$t/phone/vendor/lib64/libcdsprpc.so"
    p=$t/parts
    {
        whole "$t/sound"
        echo "$skels/libQnnHtpV75Skel.so for=hexagon arch=75 release=$r"
        echo "$p/lfs/libQnnHtpV75Skel.so text=version%20https://git-lfs.github.com/spec/v1"
        echo "$p/cut/libQnnHtpV75Stub.so release=$r cut=200"
        echo "$p/class/libQnnHtpV75Skel.so release=$r"
        echo "$p/flags/libQnnHtpV75Skel.so for=hexagon arch=73 release=$r"
        echo "$p/stale/libQnnHtpV75Skel.so for=hexagon arch=75 release=2.48.40.260702151143"
        echo "$p/digits/libQnnSystem.so stamp=260702151143"
        echo "$p/pages/libQnnHtpV75Stub.so release=$r align=0x1000"
        echo "$p/rpc/libcdsprpc.so"
        echo "$p/glibc/libQnnHtpV75Stub.so for=linux release=$r"
        echo "$p/x86/libQnnSystem.so for=x86_64 stamp=$stamp"
        echo "$p/fat/libQnnHtpV75Skel.so for=hexagon arch=75 release=$r bytes=73400320"
        echo "$p/cxx/libc++_shared.so"
        echo "$p/html/libQnnHtpV75Stub.so text=<!DOCTYPE%20html>"
        echo "$p/library/forward_3.bin release=$r"
        echo "$p/pointer/forward_2.bin text=version%20https://git-lfs.github.com/spec/v1"
    } | $python "$tests/cli/make_libs.py"
    cp "$data"/llm/w8a16_four/forward_*.bin "$t/sound"
    for n in 0 1 2 3; do cp "$data/llm/json/w8a16_four_$n.json" "$t/sound/forward_${n}_json.json"; done
    mkdir "$p/short"
    head -c 100000 "$data/llm/w8a16_four/forward_1.bin" >"$p/short/forward_1.bin"
    head -c -20 "$data/llm/json/w8a16_four_1.json" >"$p/short/forward_1_json.json"
    cp "$data/llm/bad_mixed_shards/forward_0.bin" "$p/mixed_0.bin"
    cp "$data/llm/json/bad_mixed_0.json" "$p/mixed_0.json"

    fresh
    device --no_load
    is sound 0
    silent sound err
    lacks sound_json out 'not looked at'
    says sound_hash out 'SHA-256: not compared: there is none in qnnrt.json for 4 of 4 binaries'
    says sound_soc out 'SM8650 (chip number 557), NPU v75, VTCM 8 MiB'
    says sound_wired out 'token_ar1_cl128: 4 steps, 3 edges with equal types and encodings, an arena of'

    # ---- files of the vendor ----
    put lfs/libQnnHtpV75Skel.so
    broken pointer fault 'libQnnHtpV75Skel.so: a pointer of git-lfs with 42 bytes' 'git lfs pull' --no_load
    fresh; put cut/libQnnHtpV75Stub.so
    broken cut fault 'libQnnHtpV75Stub.so: cut short' 'Copy the file again' --no_load
    fresh; put class/libQnnHtpV75Skel.so
    broken class fault 'libQnnHtpV75Skel.so: for Android arm64 (64 bits), expected a 32-bit file' 'hexagon-v75' --no_load
    fresh; put flags/libQnnHtpV75Skel.so
    broken flags fault 'libQnnHtpV75Skel.so: made for v73, and its name says v75' 'hexagon-v75' --no_load
    fresh; rm "$d/libQnnHtpV75Stub.so"
    broken stub fault 'libQnnHtpV75Stub.so: missing' 'lib/aarch64-android' --no_load
    fresh; rm "$d/libQnnHtpV75Skel.so"
    broken skel fault 'libQnnHtpV75Skel.so: missing' 'hexagon-v75' --no_load
    fresh; put stale/libQnnHtpV75Skel.so
    broken stale fault 'libQnnHtpV75Skel.so: release 2.48.40.260702151143' 'one release' --no_load
    fresh; put digits/libQnnSystem.so
    broken system fault 'libQnnSystem.so: release built 260702151143' 'one release' --no_load
    fresh; put pages/libQnnHtpV75Stub.so
    broken pages fault 'libQnnHtpV75Stub.so: its segments are aligned to 4096 bytes' '2.46' --no_load
    fresh; put rpc/libcdsprpc.so
    broken rpc fault 'libcdsprpc.so: it belongs to the device' 'Remove it' --no_load
    fresh; put glibc/libQnnHtpV75Stub.so
    broken glibc fault "libQnnHtpV75Stub.so: for Linux arm64, expected Android arm64 (it needs glibc's libc.so.6)" 'aarch64-android' --no_load
    fresh; put x86/libQnnSystem.so
    broken x86 fault 'libQnnSystem.so: for Linux x86-64, expected Android arm64' 'aarch64-android' --no_load
    fresh; put fat/libQnnHtpV75Skel.so
    broken symbols warning 'libQnnHtpV75Skel.so: 70 MB' 'about 14 MB' --no_load
    fresh; put cxx/libc++_shared.so
    broken runtime warning 'libc++_shared.so: ' 'Remove it, unless' --no_load
    fresh; put html/libQnnHtpV75Stub.so
    broken page fault 'libQnnHtpV75Stub.so: not a library' 'Copy the file again' --no_load

    # ---- the model ----
    fresh; put short/forward_1.bin
    broken short fault 'forward_1.bin: cut short: its head declares 1097728 bytes, and the file has 100000' 'Copy the file again' --no_load
    fresh; rm "$d"/forward_1*
    broken shard fault 'app: shard 1 is missing: found forward_2.bin' 'Put the missing file there' --no_load
    fresh; put pointer/forward_2.bin
    broken model_pointer fault 'forward_2.bin: a pointer of git-lfs' 'git lfs pull' --no_load
    fresh; put library/forward_3.bin
    broken library fault 'forward_3.bin: a library, not a context binary' 'Put the context binary there' --no_load
    fresh; edit 3 'v2.51.0.260929181845' 'v2.52.0.260929181845'
    broken newer fault 'forward_3.bin: made by release 2.52.0, and libQnnHtp.so has the older release 2.51.0' '2.52 or newer' --no_load
    fresh; edit 3 '"vtcmSize": 4' '"vtcmSize": 16'
    broken vtcm fault 'forward_3.bin: it asks for 16777216 bytes of VTCM, and SM8650 has 8 MiB' '--vtcm_mb' --no_load
    fresh; edit 3 '"dspArch": 75' '"dspArch": 79'
    broken arch fault 'forward_3.bin: compiled for v79, and the device has v75' '--dsp_arch 75' --no_load
    fresh; edit 2 '"spillFillBufferSize": 0' '"spillFillBufferSize": 3700000000'
    broken memory warning 'memory of the NPU: 4 contexts need about 3,7' '--resident one' --no_load
    fresh; rm "$d/forward_2.bin"
    broken binary fault 'app: found forward_2_json.json, but not its binary forward_2.bin' 'Copy the folder again' --no_load
    # 100 bytes of weights, of which the fingerprint has none: only the SHA-256 tells.
    fresh
    run inspect "$d" --manifest --metadata json
    cp "$tmp/out" "$d/qnnrt.json"
    device --no_load
    is hashes 0
    for n in 0 1 2 3; do says "hashes_$n" out "forward_$n.bin: it has the SHA-256 of qnnrt.json"; done
    rm "$d"/forward_*_json.json
    device --no_load
    says hashes_alone out 'forward_3.bin: it has the SHA-256 of qnnrt.json'
    wanted=$($python -c 'import hashlib, sys
data = bytearray(open(sys.argv[1], "rb").read())
at = (len(data) - 256) // 63 * 40 + 256
open(sys.argv[2], "wb").write(data[:at] + bytes(x ^ 1 for x in data[at:at + 100]) + data[at + 100:])
print(hashlib.sha256(data).hexdigest())' "$t/sound/forward_2.bin" "$p/short/forward_2.bin")
    put short/forward_2.bin
    found=$($python -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())' "$d/forward_2.bin")
    broken weights fault "forward_2.bin: has the SHA-256 $found, but qnnrt.json expects $wanted" 'Copy the file again' --no_load
    cp "$t"/sound/forward_*_json.json "$d"
    broken weights_json fault "forward_2.bin: has the SHA-256 $found, but qnnrt.json expects $wanted" 'Copy the file again' --no_load
    fresh; put short/forward_1_json.json
    broken json fault 'forward_1.bin: forward_1_json.json: byte 38869: ' 'Make it again' --no_load

    # ---- the device ----
    fresh; rm "$root/dev/fastrpc-cdsp"
    broken node fault '/dev: it has no node of the DSP' 'FastRPC' --no_load
    fresh; rm "$root/vendor/lib64/libcdsprpc.so"
    broken transport fault 'libcdsprpc.so: no such file' 'uses-native-library' --no_load
    fresh; mv "$root/dev/fastrpc-cdsp" "$root/dev/fastrpc-cdsp-secure"
    broken domain warning 'process domain: only a node for signed ones' 'ls -l /dev' --no_load
    fresh; rm -r "$root/sys"
    broken chip fault 'SoC: no number of a chip' 'Run it on the device' --no_load --dsp_arch 75
    fresh; skels=$t/none:$t/skels
    broken separator fault 'ADSP_LIBRARY_PATH: its folders are separated by' "Separate its folders with ';'" --no_load
    fresh; skels=$t/phone
    broken skel_path fault 'ADSP_LIBRARY_PATH: libQnnHtpV75Skel.so is in none of its folders' 'libQnnHtpV75Skel.so' --no_load
    fresh; skels=$t/skels

    # Both pipelines of the model have this cut, so there are two findings.
    put mixed_0.bin forward_0.bin
    put mixed_0.json forward_0_json.json
    device --no_load
    is cut_of_shards 1
    fault cut_of_shards 'token_ar1_cl128: not wired: output "_model_embed_tokens_Gather_output_0" of step 0' ''
    check cut_of_shards_alone "$(cat "$tmp/out")" test "$(grep -c '^  \(fault\|warning\) .* do not fit$' "$tmp/out")" -eq 2
    fresh
    if [ -f "$release/libQnnSystem.so" ]; then
        system=$release/libQnnSystem.so
        device --system_so "$system"
        is sound_read 0
        says sound_agree out 'forward_2_json.json: it agrees with forward_2.bin'
        edit 2 '0.0030243387445807457' '0.0040243387445807457'
        broken disagree fault 'forward_2.bin: graph "prompt_ar32_cl128_3_of_4": input' 'Make the JSON again' --system_so "$system"
    fi
    check ways "$ways ways" test $ways -ge 24

    # generation, name, numbers of /sys/devices/soc0/soc_id
    while read -r generation chip ids; do
        for id in $ids; do
            echo "$id" >"$root/sys/devices/soc0/soc_id"
            look --root "$root"
            says "chip_$id" out "SoC: $chip (chip number $id), NPU v$generation"
        done
    done <<'end'
68 SM8350  439
68 SM7325  475 499
68 QCM6490 497
68 QCS6490 498
69 SM8450  457 480 482
69 SM8475  530 531 540
73 SM8550  519
73 SM8635  614 642
73 SM7675  632 643
73 QCS8550 603
73 QCM8550 604
73 QCS9100 667
73 QCS9075 676
75 SM8650  557 577
75 QCS8300 674
75 QCS8275 675
79 SM8750  618 639
81 SM8850  660
81 SM8845  685
end
    mkdir -p "$root/sys/devices/system/soc/soc0"
    echo 618 >"$root/sys/devices/system/soc/soc0/id"
    look --root "$root" --dsp_arch 75
    warning chip_first 'SoC: SM8750 (chip number 618) has NPU v79, and --dsp_arch says v75' 'Leave out'
    echo 4000000000x >"$root/sys/devices/system/soc/soc0/id"
    echo 9999 >"$root/sys/devices/soc0/soc_id"
    look --root "$root"
    warning chip_unknown 'SoC: chip number 9999 is not in the table' '--dsp_arch'
fi

# ---- the genuine libraries ------------------------------------------------------------------------------

if [ ! -f "$release/libQnnHtp.so" ]; then
    skip genuine "$release/libQnnHtp.so is missing"
else
    look "$release" "$data/ctx/qairt2.47/mlp_u8" --system_so "$release/libQnnSystem.so"
    is genuine 0
    check genuine_release "no release: $(cat "$tmp/out")" grep -qE 'libQnnHtp.so: Linux x86-64, release 2\.[0-9]+\.[0-9]+\.[0-9]{12}, build id [0-9a-f]{8}, 1[0-9.]+ MiB$' "$tmp/out"
    says genuine_made out 'made by release 2.47.0'
    run doctor "$release" --report "$tmp/full.txt"
    says genuine_add out "hint: Add --backend_so $release/libQnnHtp.so to load it too."
    check genuine_full "$(cat "$tmp/full.txt")" grep -qE 'libQnnHtp.so: .*, build id [0-9a-f]{40}, [0-9,]+ bytes$' "$tmp/full.txt"
    check genuine_columns "$(cat "$tmp/out")" awk 'length > 100 && !/hint: / { long = 1 } END { exit long }' "$tmp/out"
    look "$release" --platform android
    is genuine_not_android 1
    fault genuine_not_android 'libQnnHtp.so: for Linux x86-64, expected Android arm64' 'lib/aarch64-android'
    older=$(dirname "$(dirname "$release")")/2.47/onnxruntime_qnn
    if [ -f "$older/libQnnHtp.so" ] && [ "$older" != "$release" ]; then
        mkdir "$tmp/two"
        ln -s "$(cd "$older" && pwd)/libQnnHtp.so" "$tmp/two/libQnnHtp.so"
        ln -s "$(cd "$release" && pwd)/libQnnSystem.so" "$tmp/two/libQnnSystem.so"
        look "$tmp/two" "$data/ctx/qairt2.51/mlp_u8"
        is genuine_two 1
        fault genuine_two 'libQnnSystem.so: release built' 'one release'
        fault genuine_older 'forward_0.bin: made by release 2.51.0, and libQnnHtp.so has the older release 2.47.0' '2.51 or newer'
    fi
fi

# ---- what is loaded ---------------------------------------------------------------------------------------

# A library that crashes, hangs or ends the program is a finding, too.
cat >"$tmp/bad.c" <<'end'
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(void)
{
#if HOW == 0
    abort();
#elif HOW == 1
    for (;;) pause();
#elif HOW == 2
    exit(5);
#endif
}
end
for how in 0 1 2 3; do ${CC:-cc} -shared -fPIC -DHOW=$how -o "$tmp/libQnnBad$how.so" "$tmp/bad.c" 2>"$tmp/cc" || bad compiler "$(cat "$tmp/cc")"; done
run doctor --backend_so "$tmp/libQnnBad0.so" "$data/ctx/qairt2.51/mlp_u8"
is crash 1
fault crash 'libQnnBad0.so: it crashed (signal 6) while loading and starting libQnnBad0.so' 'report it to its maker'
says crash_model out '  ok       forward_0.bin: made by '
lacks crash_is_a_finding err 'probably within a library'
run run "$data/ctx/qairt2.51/mlp_u8" --backend_so "$tmp/libQnnBad0.so"
is crash_of_run 134
says crash_of_run err 'qnnrt-run: crashed while a backend library was opened or closed, probably within a library'
says crash_of_run err 'hint: Run qnnrt-run doctor'
# One of this program, while it reads a file, of which nothing more comes.
mkfifo "$tmp/graph.json"
exec 8<>"$tmp/graph.json"
(exec 8<&- "$tool" compile "$tmp/graph.json" --output_dir "$tmp/made" --backend_so "$build/libQnnRef.so") >"$tmp/out" 2>"$tmp/err" &
reads=$!
# The shell before exec has the file open, too.
waits() { [ "/proc/$reads/exe" -ef "$tool" ] && ls -l "/proc/$reads/fd" 2>/dev/null | grep -qF "$tmp/graph.json"; }
while kill -0 $reads 2>/dev/null && ! waits; do sleep 0.1; done
kill -SEGV $reads
wait $reads 2>/dev/null
status=$?
exec 8<&-
is crash_of_our_own 139
says crash_of_our_own err 'qnnrt-run: crashed while files were read or written, in this program'
says crash_of_our_own err 'hint: Report it with this command and its files'
run doctor --backend_so "$tmp/libQnnBad1.so" --timeout 1
is hang 1
fault hang 'libQnnBad1.so: it did not answer within 1 s while loading and starting libQnnBad1.so' 'report it to its maker'
run doctor --backend_so "$tmp/libQnnBad2.so"
is ends 1
fault ends 'libQnnBad2.so: it ended the program (status 5) while loading and starting libQnnBad2.so' 'report it to its maker'
run doctor --backend_so "$tmp/libQnnBad3.so"
is symbol 1
fault symbol 'QnnInterface_getProviders' '.'
run doctor --backend_so "$tmp/none.so"
is no_library 1
fault no_library 'none.so: cannot open the library' '.'
QNNFAKE=core=3.0 run doctor --backend_so "$fake"
is api 1
fault api 'libQnnFake.so: ' '.'
QNNFAKE=fail=backendCreate:4000 run doctor --backend_so "$fake"
is start 1
fault start 'backendCreate answered 0xfa0' '.'
run doctor --backend_so "$fake"
is fake 0
says fake_symbols out 'symbols: QnnInterface_getProviders, QnnSystemInterface_getProviders'

# A model of another backend; and one that runs.
ref=$build/libQnnRef.so
if [ -f "$ref" ]; then
    run doctor --backend_so "$ref" "$data/ctx/qairt2.51/mlp_u8"
    is ref_reads_htp 1
    mkdir "$tmp/ref"
    if [ -x "$build/examples/03_compose" ] && "$build/examples/03_compose" "$ref" "$tmp/ref/layer.bin" >"$tmp/said" 2>&1; then
        run doctor --backend_so "$ref" "$tmp/ref" --run
        is ref 0
        says ref_run out 'executed in '
        says ref_finite out 'all outputs are finite'
    fi
fi

# ---- the report and the document ------------------------------------------------------------------------

home=$tmp/home/alice
mkdir -p "$home/models" "$tmp/home/bob"
cp -r "$data/ctx/qairt2.51/mlp_u8" "$home/models/mlp"
cp "$tmp/libQnnBad0.so" "$tmp/home/bob/"
HOME=$home USER=alice LOGNAME=alice ADSP_LIBRARY_PATH=/home/carol/skels run doctor "$home/models/mlp" "$home/none" --backend_so "$home/none/libQnnHtp.so" --report "$tmp/report.txt"
is report 1
says report_home report.txt '~/none'
says report_finding report.txt '  ok       forward_0.bin: made by '
says report_hint report.txt 'hint: Name a folder that exists.'
says report_variable report.txt 'ADSP_LIBRARY_PATH=/home/USER/skels'
for word in alice carol "$home"; do lacks "report_$word" report.txt "$word"; done
check report_size "$(wc -c <"$tmp/report.txt") bytes" test "$(wc -c <"$tmp/report.txt")" -lt 20000
run doctor "$home/models/mlp" --no_load --report -
says report_stdout out 'qnnrt-run doctor, qnnrt '
run doctor "$home/models/mlp" --no_load --report "$tmp/none/report.txt"
is report_nowhere 1
says report_nowhere err 'cannot write'
if [ -n "$python" ]; then
    odd=$(printf 'a\n"<b>\033[31m\377')
    mkdir "$tmp/$odd"
    cp "$data/ctx/qairt2.51/mlp_u8/forward_0.bin" "$tmp/$odd/x.bin"
    : >"$tmp/$odd/$odd.bin"
    : >"$tmp/$odd/libQnn$odd.so"
    run doctor "$tmp/$odd" "$tmp/none$odd" --no_load --json
    is json 1
    cp "$tmp/out" "$tmp/doc"
    check json_shape "$(head -n 5 "$tmp/doc")" $python -c 'import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8", errors="strict"))
levels = [f["level"] for f in d["findings"]]
assert d["format"] == "qnnrt-run.doctor" and d["version"] == 1
assert d["faults"] == levels.count("fault") >= 3 and d["warnings"] == levels.count("warning")
assert all(set(f) == {"area", "level", "what", "found", "fix"} for f in d["findings"])
assert all(f["fix"] for f in d["findings"] if f["level"] in ("warning", "fault"))' "$tmp/doc"
    run doctor "$tmp/$odd" "$tmp/none$odd" --no_load --report "$tmp/report.txt"
    for file in out report.txt; do
        check "odd_$file" "a control character in $file" sh -c '! LC_ALL=C tr -d "\n\040-\176" <"$1" | grep -q .' - "$tmp/$file"
    done
fi

# ---- good folders: no fault and no warning ----------------------------------------------------------------

# good_folder NAME DIR ARGUMENT ...
good_folder() {
    name=$1
    shift
    run doctor "$@"
    is "sample_$name" 0
    lacks "sample_${name}_warning" out '  warning '
}
samples=${QNNRT_SAMPLES:-$data}
for dir in "$samples"/ctx/qairt2.*/*/ "$samples"/llm/w8a16_one "$samples"/llm/w8a16_four "$samples"/llm/f32io_one; do
    if [ ! -e "$dir/forward_0.bin" ]; then bad samples "no binaries in $dir"; continue; fi
    good_folder "$(basename "$dir")_unread" "$dir" --no_load
    if [ -f "$release/libQnnHtp.so" ]; then good_folder "$(basename "$dir")" "$dir" --backend_so "$release/libQnnHtp.so"; fi
done
if [ -f "$release/libQnnHtp.so" ]; then
    run doctor "$data/ctx/qairt2.51/mlp_f32_io" --backend_so "$release/libQnnHtp.so" --run
    is genuine_run 0
    says genuine_run out 'executed in '
    says genuine_loaded out 'loaded, named by --backend_so'
    says genuine_facts out '  Linux x86-64, release 2.'
    says genuine_sizes out '  file 56.0 KiB, VTCM '
    run doctor "$data/llm/bad_weight_shared" --backend_so "$release/libQnnHtp.so"
    is shared 1
    fault shared 'its graphs share weights, and the x86-64 library cannot load that' 'Run it on a device'
    run doctor "$data/llm/bad_mixed_shards" --backend_so "$release/libQnnHtp.so"
    is mixed_shards 1
    fault mixed_shards 'not wired: output "_model_embed_tokens_Gather_output_0" of step 0' '.'
    if [ -f "$older/libQnnHtp.so" ] && [ "$older" != "$release" ]; then
        run doctor "$data/ctx/qairt2.51/mlp_u8" --backend_so "$older/libQnnHtp.so"
        is older_loaded 1
        fault older_loaded 'forward_0.bin: made by release 2.51.0, and libQnnHtp.so has the older release 2.47.0' '2.51 or newer'
    fi
fi

# Fetched by make qnn-libs QNN_RELEASES=aarch64: stubs and skels.
arm=$build/qnn/2.51-aarch64/onnxruntime_qnn
if [ -f "$arm/libQnnHtp.so" ]; then
    look "$arm" --platform linux --page_size 65536
    is genuine_arm 0
    says genuine_arm out 'the Hexagon DSP v81, release 2.51.0.260929181845'
    lacks genuine_arm out 'warning  '
    look "$arm" --dsp_arch 85
    is genuine_arm_85 1
    fault genuine_arm_85 'libQnnHtpV85Skel.so: missing' 'lib/hexagon-v85'
fi

finish
