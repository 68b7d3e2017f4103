#!/bin/sh
# Run a model on an Android phone, compare its outputs, and write one transcript that can be sent. See --help.
#
# The script needs adb, a POSIX shell and the tools of a desk (awk, sed, od, cmp), as Linux and macOS have them; on the
# phone it uses toybox.
# Everything that comes from the user or from the phone is quoted: q() quotes words for the phone's shell.
set -u
LC_ALL=C
export LC_ALL

usage() {
    cat <<'end'
Run a model on an Android phone with a Snapdragon, and write a transcript.

  tools/phone.sh DIR --libs FOLDER [options]
      tools/phone.sh model_dir --libs libs/arm64-v8a
      tools/phone.sh model_dir --libs "$SDK"
      tools/phone.sh model_dir --backend_so libQnnRef.so          without an NPU and without Qualcomm's libraries

DIR holds context binaries (*.bin), their JSON if there is any, NAME.raw for inputs, and NAME.expected.raw for
outputs to compare with. The script checks the phone and the libraries, pushes what is needed to
/data/local/tmp/qnnrt-phone, runs qnnrt-run and, for a language model, qnnrt-llm, pulls the outputs, compares them,
and removes what it pushed. The transcript has no serial number, no user name and no folder of this computer.

Options; a value is the next word:

  --libs FOLDER          Qualcomm's libraries for Android, the SDK's folder (lib/aarch64-android, lib/hexagon-vXX) or
                         that of an unpacked AAR; repeat it for the folder of the skels. Of several generations, the
                         phone gets its own; all of them, if its chip is a Snapdragon that no table knows
  --serial S             the phone, as adb devices lists it (default: the only one, or ANDROID_SERIAL)
  --tools FOLDER         qnnrt-run and qnnrt-llm for Android arm64 (default: build/android/arm64-v8a, build/android)
  --backend_so NAME      the backend (default: libQnnHtp.so)
  --dsp_arch XX          NPU generation, for a chip that this script does not know
  --expected FOLDER      what qnnrt-run --output_dir wrote elsewhere, or NAME.expected.raw; and text.expected.txt
                         (default: DIR)
  --prompt TEXT          what a language model continues (default: "The ")
  --tokens FILE          the same as token numbers, for models whose tokens are not bytes
  --max_gen N            most tokens to write (default: 64)
  --num_inferences N     inferences for timing; 0 leaves timing, power and memory out (default: 20)
  --compose              also build a graph on the phone (pushes libQnnHtpPrepare.so, 90 MB)
  --proves KEY           the model is of a kind that proves KEY, too: weights
  --timeout SECONDS      most time for one program on the phone (default: 600); adb itself gets a minute more
  --output_dir FOLDER    keep the outputs there
  --keep                 leave the files on the phone
  --checker FILE         qnnrt-run of this computer, which checks the libraries before they are pushed (default:
                         build/qnnrt-run; if there is none, qnnrt-run checks them on the phone)
  --transcript FILE      (default: qnnrt-phone.txt)
  --keys                 list the unproven things that a transcript ticks off
  --help

Exit status: 0 all is well, 2 wrong usage, 3 this computer (adb, tools), 4 the phone (none, not authorized, not
supported), 5 the libraries, 6 the transfer (storage, permission, connection), 7 a program failed on the phone,
8 an output differs.
end
}

# What is unproven until a transcript of a phone ticks it off. examples/android/README.md and the manual in qnnrt.h list the same keys.
keys() {
    cat <<'end'
start      the tools start on Android
load       Qualcomm's libraries open, and context binaries load on the NPU
execute    graphs execute on the NPU
output     the NPU's outputs equal the expected files
time       loading and executing are timed on a device
power      power presets are accepted, and their effect is timed
memory     tensors are registered with the device, and outputs stay the same
resident   contexts take turns on the NPU, and outputs stay the same
text       a language model writes text on the NPU
weights    a context with shared weights executes
compose    a graph is built on the device
restart    a language model goes on writing after a restart of the DSP
end
}

USAGE=2 DESK=3 PHONE=4 LIBS=5 TRANSFER=6 PROGRAM=7 DIFFERS=8
remote=/data/local/tmp/qnnrt-phone
top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd) || exit $DESK

# ---- what is said and written ---------------------------------------------------------------------------------

# What controls a terminal, or changes the direction of text, becomes a question mark.
shown() {
    awk '{ gsub(/[\001-\010\013-\037\177]|\302[\200-\237]|\342\200[\216\217\252-\256]|\342\201[\246-\251]/, "?"); print }'
}

say() { printf 'phone.sh: %s\n' "$*" | shown; }

# note LINE ...: into the body of the transcript
note() { printf '%s\n' "$@" >>"$tmp/body"; }

section() { printf '\n== %s\n' "$*" >>"$tmp/body"; }

# lines_of FILE [MOST]: its lines, indented, into the transcript
lines_of() {
    awk -v most="${2:-400}" 'NR <= most { print "  " $0 } END { if (NR > most) print "  (" NR - most " more lines)" }' "$1" >>"$tmp/body"
}

# tick KEY STATE TEXT: STATE is ok, failed or "not run"
tick() {
    eval "state_$1=\$2 text_$1=\$3"
}

# Replace what is private in standard input: the serial number, folders of this computer, the user's name in a path.
scrub() {
    PRIVATE="$private" awk '
        BEGIN {
            count = split(ENVIRON["PRIVATE"], list, "\n")
            for (i = 1; i <= count; ++i) {
                at = index(list[i], "\t")
                word[i] = substr(list[i], 1, at - 1); what[i] = substr(list[i], at + 1)
            }
        }
        {
            line = $0
            for (i = 1; i <= count; ++i) {
                if (word[i] == "") continue
                done = ""
                while ((at = index(line, word[i])) > 0) {
                    done = done substr(line, 1, at - 1) what[i]
                    line = substr(line, at + length(word[i]))
                }
                line = done line
            }
            print line
        }'
}

# hide WORD REPLACEMENT: WORD is private, unless it is shorter than 4 characters
hide() {
    case $1 in ????*) ;; *) return ;; esac
    private="$private$1	$2
"
}

write_transcript() {
    [ -n "$transcript" ] || return 0
    {
        echo "qnnrt phone transcript, format 1"
        echo "date       $(date -u +%Y-%m-%dT%H:%MZ)"
        echo "result     $result"
        [ -z "$cure" ] || echo "hint       $cure"
        echo
        echo "== unproven things"
        number=0
        while read -r key text; do
            number=$((number + 1))
            eval "state=\$state_$key why=\$text_$key"
            printf '%2d %-9s %-8s %s\n' $number "$key" "$state" "${why:-$text}"
        done <"$tmp/keys"
        cat "$tmp/body"
    } | scrub | shown >"$tmp/transcript" && cp -- "$tmp/transcript" "$transcript" &&
        say "wrote the transcript: $transcript" && return
    say "cannot write the transcript: $transcript" >&2
}

# End what runs on the phone, remove what was pushed, write the transcript, and end.
finish() {
    trap - EXIT INT TERM HUP
    if [ -n "$job" ]; then kill -9 "$job" 2>/dev/null; fi
    if [ -n "$dog" ]; then end_dog; fi
    if [ -n "$pushed" ] && [ -n "$keep" ]; then
        limited 60 adb -s "$serial" shell "$stop"
    elif [ -n "$pushed" ]; then
        if ! limited 60 adb -s "$serial" shell "$stop
rm -rf $remote"; then
            note "" "the folder $remote is still on the phone"
            say "$remote is still on the phone; the next run removes it"
        fi
    fi
    write_transcript
    rm -rf "$tmp"
    exit "$1"
}

# die STATUS TEXT HINT: it cannot go on
die() {
    result="failed: $2" cure=$3
    printf 'phone.sh: %s\nhint: %s\n' "$2" "$3" | shown >&2
    finish "$1"
}

wrong() {
    printf 'phone.sh: %s\nhint: %s\n' "$1" "${2:-Run tools/phone.sh --help.}" | shown >&2
    exit $USAGE
}

# ---- the phone's shell ---------------------------------------------------------------------------------------

# q WORD: the word as the phone's shell reads it
q() { printf "'%s'" "$(printf '%s\n' "$1" | sed "s/'/'\\\\''/g")"; }

# limited SECONDS COMMAND ...: run the command with what it says in $tmp/raw, and end it after SECONDS; then there is a
# file $tmp/expired.$turn. Not every computer has a program timeout.
limited() {
    seconds=$1 turn=$((turn + 1))
    shift
    "$@" </dev/null >"$tmp/raw" 2>&1 &
    job=$!
    {
        # At first $! is the command. A signal before the trap is lost, but not the file; one that comes between fork
        # and exec can be lost, but not -9.
        trap 'if [ $! != $job ]; then kill -9 $!; wait $!; fi; exit' TERM
        if [ -e "$tmp/ended.$turn" ]; then exit; fi
        sleep "$seconds" &
        wait $!
        : >"$tmp/expired.$turn"
        kill -9 $job
    } </dev/null >/dev/null 2>&1 &
    dog=$!
    wait $job 2>/dev/null
    ended=$?
    end_dog
    job=''
    if [ -e "$tmp/expired.$turn" ]; then return 124; fi
    return $ended
}

end_dog() {
    : >"$tmp/ended.$turn"
    kill $dog 2>/dev/null
    dog=''
}

# End if adb was too slow. what: what was going on
check_expired() {
    if [ -e "$tmp/expired.$turn" ]; then
        die $TRANSFER "adb did not end within $seconds s: $1" \
            "Unlock the phone, or start it again, run adb kill-server, and run the same command again."
    fi
}

# Ask whether the phone is still there; end if it is not. what: what was going on
check_connection() {
    check_expired "$1"
    limited 60 adb -s "$serial" get-state
    check_expired "$1"
    state=$(cat "$tmp/raw")
    if [ "$state" != device ]; then
        die $TRANSFER "the connection to the phone was lost: $1" \
            "Plug the phone in again, and run the same command; it removes what is left on the phone."
    fi
}

# What the phone's shell runs to end a program of $remote, whose number is in the file pid: adbd tells the shell alone
# that this computer went away. Another process that got the number later works elsewhere.
# shellcheck disable=SC2016  # the phone's shell expands it
stop='p=$(cat '$remote'/pid 2>/dev/null) n=0
while [ -n "$p" ] && [ $n -lt 50 ] && [ "$(readlink "/proc/$p/cwd" 2>/dev/null)" = '$remote' ]; do
    kill -9 "$p"; sleep 0.1; n=$((n + 1))
done'

# phone COMMAND WHAT [SECONDS]: run it on the phone. status, and its output in $tmp/said. With SECONDS, the status is 124
# after this time. An old adb reports no status and writes CR LF; a lost connection gives no status.
phone() {
    limited "${3:-$((limit + 60))}" adb -s "$serial" shell "$1
echo qnnrt-status:\$?"
    status=$(SAID="$tmp/said" awk '
        BEGIN { printf "" > ENVIRON["SAID"] }
        { sub(/\r+$/, ""); marked = match($0, /qnnrt-status:[0-9][0-9]?[0-9]?$/) }
        marked { status = substr($0, RSTART + 13) + 0; $0 = substr($0, 1, RSTART - 1) }
        !marked || $0 != "" { print > ENVIRON["SAID"] }
        END { print status }' "$tmp/raw")
    if [ -z "$status" ] && [ -n "${3-}" ] && [ -e "$tmp/expired.$turn" ]; then status=124; fi
    if [ -z "$status" ]; then
        section "adb shell"
        lines_of "$tmp/said" 20
        check_connection "$2"
        die $TRANSFER "adb shell did not finish: $2" "Update adb, and run the same command again."
    fi
}

# push FILE NAME BYTES: to $remote/NAME
push() {
    printf '  %12s bytes  %s\n' "$3" "$2" >>"$tmp/body"
    if limited $((limit + 60 + $3 / 1000000)) adb -s "$serial" push "$1" "$remote/$2"; then return; fi
    section "adb push"
    lines_of "$tmp/raw" 20
    case $(cat "$tmp/raw") in
    *'No space left'*)
        die $TRANSFER "the phone's storage is full: pushing $2 ($3 bytes) failed" \
            "Free storage on the phone, and run the same command again." ;;
    *'Permission denied'* | *'Read-only'*)
        die $TRANSFER "no permission to write $remote/$2 on the phone" \
            "Remove $remote with adb shell, as the user who made it, and run the same command again." ;;
    esac
    check_connection "pushing $2"
    die $TRANSFER "adb push failed: $2: $(tail -n 1 "$tmp/raw")" "Try another USB cable or port, and run the same command again."
}

# size_of FILE: in bytes
size_of() { ls -lnL -- "$1" 2>/dev/null | awk 'NR == 1 { print $5 }'; }

# absolute FOLDER: without a link in it; empty: there is no such folder
absolute() { CDPATH='' cd -- "$1" 2>/dev/null && pwd; }

# ---- options ---------------------------------------------------------------------------------------------------

model='' serial=${ANDROID_SERIAL-} tools='' backend=libQnnHtp.so arch='' expected='' prompt='' tokens='' max_gen=64
inferences=20 compose='' proves='' limit=600 output_dir='' keep='' checker=$top/build/qnnrt-run
transcript=qnnrt-phone.txt prompted='' pushed='' checker_given='' misfit='' misfit_hint='' turn=0 job='' dog='' result='' cure='' private='' said_differs=''
tmp=$(mktemp -d "${TMPDIR:-/tmp}/qnnrt-phone.XXXXXX") || exit $DESK
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/stage"
: >"$tmp/body"
keys >"$tmp/keys"
while read -r key text; do tick "$key" "not run" ''; done <"$tmp/keys"

# number VALUE OPTION LEAST: VALUE is a number
number() {
    case $1 in '' | *[!0-9]* | ???????*) wrong "$2 needs a number, not \"$1\"" ;; esac
    if [ "$1" -lt "$3" ]; then wrong "$2 needs at least $3, not $1"; fi
}

# stage FOLDER: its libraries, also in the folders of an SDK or an AAR, unless an earlier folder has the name
stage() {
    folder=$(absolute "$1")
    if [ -z "$folder" ]; then wrong "--libs: no folder \"$1\"" "Check the name of the folder."; fi
    for file in "$folder"/lib*.so "$folder"/lib*.so.* "$folder"/jni/arm64-v8a/lib*.so \
        "$folder"/lib/aarch64-android/lib*.so "$folder"/lib/hexagon-v*/unsigned/lib*.so; do
        if [ -e "$file" ] && [ ! -e "$tmp/stage/${file##*/}" ]; then ln -s "$file" "$tmp/stage/"; fi
    done
    hide "$folder" LIBS
}

libs=''
while [ $# -gt 0 ]; do
    option=$1
    case $option in
    --help) usage; exit 0 ;;
    --keys) keys; exit 0 ;;
    --keep) keep=1; shift; continue ;;
    --compose) compose=1; shift; continue ;;
    --libs | --serial | --tools | --backend_so | --dsp_arch | --expected | --prompt | --tokens | --max_gen | \
        --num_inferences | --proves | --timeout | --output_dir | --checker | --transcript)
        if [ $# -lt 2 ]; then wrong "$option needs a value"; fi
        value=$2
        shift 2 ;;
    -*) wrong "unknown option $option" ;;
    *)
        if [ -n "$model" ]; then wrong "unexpected argument \"$option\""; fi
        model=$option
        shift
        continue ;;
    esac
    case $option in
    --libs) stage "$value"; libs=1 ;;
    --serial) serial=$value ;;
    --tools) tools=$value ;;
    --backend_so) backend=$value ;;
    --dsp_arch) number "$value" "$option" 10; arch=$value ;;
    --expected) expected=$value ;;
    --prompt) prompt=$value prompted=1 ;;
    --tokens) tokens=$value ;;
    --max_gen) number "$value" "$option" 1; max_gen=$value ;;
    --num_inferences) number "$value" "$option" 0; inferences=$value ;;
    --proves) proves=$value ;;
    --timeout) number "$value" "$option" 1; limit=$value ;;
    --output_dir) output_dir=$value ;;
    --checker) checker=$value checker_given=1 ;;
    --transcript) transcript=$value ;;
    esac
done

if [ -z "$model" ]; then wrong "the folder of the model is missing" "Write tools/phone.sh DIR --libs FOLDER."; fi
given=$model
model=$(absolute "$given")
if [ -z "$model" ]; then wrong "no folder \"$given\"" "Name the folder of the model's context binaries."; fi
given=${expected:-$model}
expected=$(absolute "$given")
if [ -z "$expected" ]; then wrong "--expected: no folder \"$given\"" "Check the name of the folder."; fi
case $backend in */* | '') wrong "--backend_so takes a name without a folder, not \"$backend\"" "Name its folder with --libs." ;; esac
case $proves in '' | weights) ;; *) wrong "--proves takes weights, not \"$proves\"" ;; esac
if [ -n "$tokens" ] && [ ! -f "$tokens" ]; then wrong "--tokens: no file \"$tokens\"" "Check the name of the file."; fi
npu=1
if [ "$backend" = libQnnRef.so ]; then npu=''; fi
if [ -z "$libs" ] && [ -n "$npu" ]; then wrong "the libraries are missing" "Name their folder with --libs FOLDER."; fi
binaries=0
for file in "$model"/*.bin; do if [ -f "$file" ]; then binaries=$((binaries + 1)); fi; done
if [ $binaries -eq 0 ]; then wrong "DIR has no *.bin" "Name the folder of the model's context binaries."; fi
for file in "$model"/* "$expected"/* "$tokens"; do
    case $file in *'
'* | *'	'*) wrong "a file or folder has a line feed or a tab in its name" "Rename it." ;; esac
done

# Folders within folders come first, because the first word that fits is replaced.
hide "$serial" SERIAL
hide "$model" MODEL
hide "$expected" EXPECTED
hide "$tmp" TMP
hide "$top" QNNRT
hide "${HOME-}" HOME
hide "$(pwd)" HERE
user=$(id -un 2>/dev/null)
hide "/$user/" /USER/
trap 'die $DESK "stopped by a signal" "Run the same command again; it removes what is left on the phone."' INT TERM HUP

# ---- this computer: adb, the tools for the phone -----------------------------------------------------------------

if ! command -v adb >/dev/null 2>&1; then
    die $DESK "adb is not installed" "Install the platform tools of the Android SDK (on Debian: apt install adb), and put adb into PATH."
fi
case $checker in /*) ;; *) checker=$(pwd)/$checker ;; esac
build_hint="Build it with sh examples/android/build-ndk.sh, or name its folder with --tools."
if [ -z "$tools" ]; then
    tools=$top/build/android
    if [ -f "$tools/arm64-v8a/qnnrt-run" ]; then tools=$tools/arm64-v8a; fi
fi
folder=$(absolute "$tools")
hide "$folder" TOOLS
if [ ! -f "$folder/qnnrt-run" ]; then
    die $DESK "no qnnrt-run for Android in the folder of the tools" "$build_hint"
fi
tools=$folder
# Byte 4: 2 for 64 bits; bytes 18 and 19: 183 for arm64.
elf=$(od -An -v -tu1 -N20 "$tools/qnnrt-run" | tr -s ' \n' '  ')
case $elf in
' 127 69 76 70 2 '*' 183 0 '*) ;;
*) die $DESK "qnnrt-run in the folder of the tools is not for arm64" "$build_hint" ;;
esac
if [ -z "$npu" ] && [ ! -e "$tmp/stage/$backend" ]; then ln -s "$tools/$backend" "$tmp/stage/"; fi
if [ ! -f "$tmp/stage/$backend" ]; then
    die $LIBS "$backend is in no folder of the libraries" "Name the folder that holds it with --libs."
fi
if [ ! -x "$checker" ]; then
    if [ -n "$checker_given" ]; then die $DESK "cannot execute --checker" "Run make, or leave the option out."; fi
    checker=''
fi

# ---- programs on the phone ---------------------------------------------------------------------------------------

folders="LD_LIBRARY_PATH=$remote ADSP_LIBRARY_PATH=$(q "$remote;/vendor/dsp/cdsp;/vendor/lib/rfsa/adsp")"

# program TITLE COMMAND: run a program in $remote; status, $tmp/said, took (seconds); all of it in the transcript. The
# limit is kept here: toybox's timeout returns other statuses than others up to 0.8.1, and 127 at random in 0.8.9.
program() {
    say "$1"
    section "$1"
    note "  $ $2"
    begin=$(date +%s)
    phone "$stop
cd $remote && $folders sh -c 'echo \$\$ >pid; exec \"\$@\"' sh $2" "$1" $limit
    took=$(($(date +%s) - begin))
    lines_of "$tmp/said"
    note "  status $status, $took s"
}

# Return what the last program says has failed, and its hint.
first_error() { sed -n 's/^qnnrt-run: //p; s/^qnnrt-llm: //p' "$tmp/said" | grep -v '^log ' | head -n 1; }
first_hint() { sed -n 's/^hint: //p' "$tmp/said" | head -n 1; }

# Describe the failure of the last program: why and remedy.
explain_failure() {
    remedy=
    if [ "$status" -eq 124 ]; then
        why="it did not end within $limit s"
        remedy="Restart the phone, because the DSP may hang, or allow more time with --timeout."
    elif grep -q 'CANNOT LINK EXECUTABLE' "$tmp/said"; then
        why=$(grep 'CANNOT LINK EXECUTABLE' "$tmp/said" | head -n 1)
        remedy="Build the tools for API level $sdk or lower: API=$sdk sh examples/android/build-ndk.sh."
    elif [ "$status" -eq 126 ]; then
        why="no permission to execute it: $(tail -n 1 "$tmp/said")"
        remedy="Use a phone whose /data/local/tmp allows programs to run; a managed work phone may forbid it."
    elif [ "$status" -gt 128 ]; then
        why="it was ended by signal $((status - 128))"
        remedy="Send the transcript: its last lines tell what was going on."
    else
        why=$(first_error)
        remedy=$(first_hint)
        if [ -z "$why" ]; then why="status $status: $(tail -n 1 "$tmp/said")"; fi
    fi
    if [ -z "$remedy" ]; then remedy="Run build/qnnrt-run explain with the code in this message, or send the transcript."; fi
}

# Add what the phone's log says about the DSP.
add_logcat() {
    phone "logcat -d -t 2000 2>/dev/null | grep -iE 'qnn|fastrpc|adsprpc|cdsprpc' | tail -n 60" "reading the log" 60
    section "logcat"
    lines_of "$tmp/said" 60
}

# Make the folder on the phone, without what an earlier run left there.
make_folder() {
    section "pushed to $remote"
    phone "$stop
rm -rf $remote && mkdir -p $remote/model $remote/in" "making a folder"
    if [ "$status" -ne 0 ]; then
        section "mkdir"
        lines_of "$tmp/said" 20
        die $TRANSFER "no permission to write $remote on the phone: $(tail -n 1 "$tmp/said")" \
            "Remove $remote with adb shell, as the user who made it, and run the same command again."
    fi
    pushed=1
}

# Does qnnrt-run start on the phone?
start_tool() {
    tick start failed ''
    program "starting qnnrt-run" "./qnnrt-run --version"
    if [ "$status" -ne 0 ]; then
        explain_failure
        die $PROGRAM "qnnrt-run does not start on the phone: $why" "$remedy"
    fi
    tick start ok "$(tail -n 1 "$tmp/said"), API level $sdk"
}

# ---- the phone: which one, and what it is ----------------------------------------------------------------------

say "looking for the phone"
if ! limited 60 adb devices; then
    check_expired "adb devices"
    section "adb devices"
    lines_of "$tmp/raw" 20
    die $DESK "adb devices failed: $(tail -n 1 "$tmp/raw")" "Run adb kill-server, then run the same command again."
fi
# A line for each phone after the title: serial number, which may have blanks, tab, state.
tr -d '\r' <"$tmp/raw" | awk 'listed && /\t/; /^List of devices/ { listed = 1 }' >"$tmp/devices"
while IFS='	' read -r name rest; do hide "$name" SERIAL; done <"$tmp/devices"
ready=0 state='' found=''
while IFS='	' read -r name rest; do
    if [ -n "$serial" ]; then
        if [ "$name" = "$serial" ]; then state=$rest found=$name; fi
        continue
    fi
    case $rest in device*) ready=$((ready + 1)) ;; esac
    case $rest in device*) found=$name state=$rest ;; *) if [ $ready -eq 0 ]; then found=$name state=$rest; fi ;; esac
done <"$tmp/devices"
if [ $ready -gt 1 ]; then
    die $PHONE "$ready phones are connected" "Choose one with --serial; adb devices lists them."
fi
if [ -z "$found" ] && [ -n "$serial" ]; then
    die $PHONE "no phone with this serial number is connected" "Compare --serial and ANDROID_SERIAL with the list of adb devices."
fi
case $state in
device*) ;;
'')
    die $PHONE "no phone is connected" \
        "Switch on USB debugging in the phone's developer options, and plug it in with a cable that carries data." ;;
unauthorized* | authorizing*)
    die $PHONE "the phone has not authorized this computer" \
        "Unlock the phone, and accept the question about USB debugging." ;;
offline*)
    die $PHONE "the phone is offline" "Unplug the phone and plug it in again, or run adb reconnect." ;;
no\ permissions*)
    die $PHONE "this user may not open the USB device of the phone" \
        "Install the udev rules (on Debian: apt install android-sdk-platform-tools-common), and plug the phone in again." ;;
*) die $PHONE "the phone is in the state \"$state\"" "Start Android on the phone, and run the same command again." ;;
esac
serial=$found

# shellcheck disable=SC2016  # the phone's shell expands it
phone 'for p in ro.product.manufacturer ro.product.model ro.build.version.release ro.build.version.sdk \
    ro.product.cpu.abi ro.soc.manufacturer ro.soc.model ro.board.platform; do echo "$p=$(getprop $p)"; done
echo "soc_id=$(cat /sys/devices/soc0/soc_id 2>/dev/null)"
echo "page_size=$(getconf PAGE_SIZE 2>/dev/null)"
echo "page_kb=$(sed -n "s/^KernelPageSize: *\([0-9]*\) kB.*/\1/p" /proc/self/smaps 2>/dev/null | head -n 1)"
echo "memory_kb=$(sed -n "s/^MemTotal: *\([0-9]*\) kB.*/\1/p" /proc/meminfo 2>/dev/null)"
echo "kernel=$(uname -r 2>/dev/null)"
echo "free_kb=$(df -k /data/local/tmp 2>/dev/null | tail -n 1 | sed "s/  */ /g" | cut -d " " -f 4)"
echo "cdsprpc=$(ls /vendor/lib64/libcdsprpc.so /system/vendor/lib64/libcdsprpc.so 2>/dev/null | head -n 1)"' "asking for facts"
section "phone"
lines_of "$tmp/said"
maker='' product='' soc_maker='' android='' sdk='' abi='' soc='' soc_id='' page='' page_kb='' free_kb=''
while IFS= read -r line; do
    value=${line#*=}
    case $line in
    ro.product.manufacturer=*) maker=$value ;;
    ro.product.model=*) product=$value ;;
    ro.build.version.release=*) android=$value ;;
    ro.build.version.sdk=*) sdk=$value ;;
    ro.product.cpu.abi=*) abi=$value ;;
    ro.soc.manufacturer=*) soc_maker=$value ;;
    ro.soc.model=*) soc=$value ;;
    soc_id=*) soc_id=$value ;;
    page_size=*) page=$value ;;
    page_kb=*) page_kb=$value ;;
    free_kb=*) free_kb=$value ;;
    esac
done <"$tmp/said"
# In bash, arithmetic executes commands that stand in the value of a variable.
case $page_kb in *[!0-9]* | 0* | ???????*) page_kb='' ;; esac
case $sdk in *[!0-9]*) sdk='' ;; esac
case $page in '' | *[!0-9]*) page=${page_kb:+$((page_kb * 1024))} ;; esac
say "$maker $product, Android $android, chip ${soc:-?} (${soc_id:-?}), pages of ${page:-?} bytes"
if [ "$abi" != arm64-v8a ]; then
    die $PHONE "the phone's ABI is \"$abi\", and the tools are built for arm64-v8a" "Use a phone with a 64-bit Snapdragon; emulators have no NPU."
fi
# qnnrt-run has the table of chips: by soc_id, or else by a name that ro.soc.model begins with. Without one for this
# computer that of the phone is asked.
if [ -n "$checker" ]; then
    "$checker" run --soc_model help >"$tmp/table" 2>/dev/null
else
    make_folder
    push "$tools/qnnrt-run" qnnrt-run "$(size_of "$tools/qnnrt-run")"
    phone "cd $remote && chmod 755 qnnrt-run" "making qnnrt-run executable"
    start_tool
    phone "cd $remote && ./qnnrt-run run --soc_model help 2>/dev/null" "reading the table of chips"
    cp "$tmp/said" "$tmp/table"
fi
chip='' known=''
SOC="$soc" ID="$soc_id" awk -F '  +' '
    $5 ~ /^v[0-9]+$/ {
        count = split($6, ids, " ")
        for (i = 1; i <= count; ++i) if (ids[i] == ENVIRON["ID"]) by_id = $3 " " substr($5, 2)
        if (index(ENVIRON["SOC"], $3) == 1 && by_name == "") by_name = $3 " " substr($5, 2)
    }
    END { print (by_id != "" ? by_id : by_name) }' "$tmp/table" >"$tmp/chip"
read -r chip known <"$tmp/chip"
# A Snapdragon that is newer than the table gets the skels of all generations: its library knows which one it wants.
if [ -n "$npu" ] && [ -z "$arch$chip" ] && [ "$soc_maker" = QTI ]; then
    for file in "$tmp"/stage/libQnnHtpV*Skel.so; do
        file=${file##*/libQnnHtpV} file=${file%Skel.so}
        case $file in *[!0-9]* | '') ;; *) arch="$arch $file" ;; esac
    done
    arch=${arch# }
elif [ -z "$arch" ]; then
    arch=$known
fi
if [ -n "$npu" ] && [ -z "$arch" ]; then
    die $PHONE "the chip \"$soc\" (soc_id \"$soc_id\") is not in the table of this script" \
        "Add --dsp_arch XX with the generation of its NPU, such as 75; a chip that is not a Snapdragon has none."
fi
if [ -z "$npu" ]; then arch=''; fi
note "chip=${chip:-unknown}" "dsp_arch=${arch:-none}"

# ---- the libraries -----------------------------------------------------------------------------------------------

# What doctor is asked, on this computer and on the phone
asked="--no_load --platform android"
case $arch in '' | *' '*) ;; *) asked="$asked --dsp_arch $arch" ;; esac
case $page in 4096 | 16384 | 65536) asked="$asked --page_size $page" ;; esac

# The first fault that doctor has found, and its hint
first_fault() { sed -n 's/^  fault    //p; s/^qnnrt-run: //p' "$tmp/said" | head -n 1; }
fault_hint() { awk '/^  fault    |^qnnrt-run: / { seen = 1 } seen && sub(/^ *hint: /, "") { print; exit }' "$tmp/said"; }

if [ -n "$npu" ] && [ -n "$checker" ]; then
    say "checking the libraries for NPU generation $arch"
    section "libraries"
    # shellcheck disable=SC2086  # several words
    (cd "$tmp/stage" && "$checker" doctor . "$model" $asked) >"$tmp/said" 2>&1 </dev/null
    status=$?
    lines_of "$tmp/said"
    case $status in 0 | 3) ;; *)           # 3: warnings alone
        hint=$(fault_hint)
        die $LIBS "the libraries do not fit: $(first_fault)" "${hint:-Run build/qnnrt-run doctor on their folder.}" ;;
    esac
fi

# ---- push -------------------------------------------------------------------------------------------------------

# Two lists of lines "NAME<tab>FILE": what is pushed, in this order.
: >"$tmp/files"
add() { printf '%s\t%s\n' "$2" "$1" >>"$tmp/files"; }
if [ -n "$checker" ]; then add "$tools/qnnrt-run" qnnrt-run; fi
llm=''
if [ -f "$tools/qnnrt-llm" ]; then llm=1; add "$tools/qnnrt-llm" qnnrt-llm; fi
add "$tmp/stage/$backend" "$backend"
for name in libQnnSystem.so $(for xx in $arch; do echo "libQnnHtpV${xx}Stub.so" "libQnnHtpV${xx}Skel.so"; done); do
    if [ -n "$npu" ] && [ -f "$tmp/stage/$name" ]; then add "$tmp/stage/$name" "$name"; fi
done
if [ -n "$compose" ]; then
    if [ ! -f "$tools/03_compose" ] || { [ -n "$npu" ] && [ ! -f "$tmp/stage/libQnnHtpPrepare.so" ]; }; then
        die $DESK "--compose needs 03_compose for Android and libQnnHtpPrepare.so" \
            "Build the examples with sh examples/android/build-ndk.sh, and add the library to --libs."
    fi
    add "$tools/03_compose" 03_compose
    if [ -n "$npu" ]; then add "$tmp/stage/libQnnHtpPrepare.so" libQnnHtpPrepare.so; fi
fi
for file in "$model"/*.bin "$model"/*.json; do
    if [ -f "$file" ]; then add "$file" "model/${file##*/}"; fi
done
# Files of constants, which a program in qnnrt.json names, are no inputs.
: >"$tmp/constants"
if [ -f "$model/qnnrt.json" ]; then
    tr -d '\n' <"$model/qnnrt.json" | grep -o '"file"[[:space:]]*:[[:space:]]*"[^"\\/]*"' |
        sed 's/^.*"\([^"]*\)"$/\1/' | sort -u >"$tmp/constants"
fi
while IFS= read -r name; do
    case $name in *.bin | *.json) continue ;; esac
    if [ -f "$model/$name" ]; then add "$model/$name" "model/$name"; fi
done <"$tmp/constants"
# Inputs get numbers as names, because --input ends the name at the last '='.
: >"$tmp/inputs"
count=0
for file in "$model"/*.raw; do
    case $file in *.expected.raw) continue ;; esac
    if [ ! -f "$file" ]; then continue; fi
    name=${file##*/}
    if grep -qxF -e "$name" "$tmp/constants"; then continue; fi
    add "$file" "in/$count.raw"
    printf ' --input %s' "$(q "${name%.raw}=in/$count.raw")" >>"$tmp/inputs"
    count=$((count + 1))
done
if [ -n "$llm" ]; then
    if [ -n "$tokens" ]; then
        add "$tokens" prompt.tokens
    else
        if [ -z "$prompted" ]; then prompt='The '; fi
        printf %s "$prompt" >"$tmp/prompt.txt"
        add "$tmp/prompt.txt" prompt.txt
    fi
fi

total=0
while IFS='	' read -r name file; do
    bytes=$(size_of "$file")
    if [ -z "$bytes" ] || [ ! -r "$file" ]; then die $DESK "cannot read the file $name" "Check the permissions of the file."; fi
    total=$((total + bytes))
    printf '%s\t%s\t%s\n' "$bytes" "$name" "$file" >>"$tmp/sized"
done <"$tmp/files"
need_kb=$((total / 1024 + 16384))
case $free_kb in
'' | *[!0-9]* | 0?* | ???????????????*) ;;
*)
    if [ "$free_kb" -lt $need_kb ]; then
        die $TRANSFER "the phone's storage is full: $((need_kb / 1024)) MB needed, $((free_kb / 1024)) MB free in /data/local/tmp" \
            "Free $(((need_kb - free_kb) / 1024 + 1)) MB on the phone, and run the same command again."
    fi ;;
esac

say "pushing $((total / 1048576)) MB"
if [ -z "$pushed" ]; then make_folder; fi
begin=$(date +%s)
while IFS='	' read -r bytes name file <&3; do push "$file" "$name" "$bytes"; done 3<"$tmp/sized"
note "  $total bytes in $(($(date +%s) - begin)) s"
phone "cd $remote && chmod 755 qnnrt-run${llm:+ qnnrt-llm}${compose:+ 03_compose}" "making programs executable"
if [ -n "$checker" ]; then
    start_tool
elif [ -n "$npu" ]; then
    # Here doctor ends nothing: what it finds explains a model that does not run.
    program "checking the libraries on the phone" "./qnnrt-run doctor . model $asked"
    case $status in 0 | 3 | 124) ;; *) misfit=$(first_fault) misfit_hint=$(fault_hint) ;; esac
fi

# ---- run --------------------------------------------------------------------------------------------------------

libraries="--backend_so $(q "./$backend")"
if [ -z "$npu" ]; then libraries="$libraries --system_so $(q "./$backend")"; fi

run="./qnnrt-run run model $libraries --log_level warn$(cat "$tmp/inputs")"
program "running the model" "$run --output_dir out"
cp "$tmp/said" "$tmp/first"
loaded=$(sed -n 's/.* create \([0-9.]*\) ms.*/\1/p' "$tmp/said" | awk '{ sum += $1 } END { if (NR) printf "%d (%.1f ms)", NR, sum }')
provider=$(sed -n 's/^ *provider \([^,]*, build [^,]*\),.*/\1/p' "$tmp/said" | head -n 1)
if [ "$status" -ne 0 ]; then
    explain_failure
    first=$why cure_first=$remedy
    if [ -n "$npu" ]; then
        if grep -q '^run ' "$tmp/said"; then
            tick load ok "context binaries: $loaded, $provider"
            tick execute failed "$first"
        else
            tick load failed "$first"
        fi
    fi
    add_logcat
    if [ -n "$misfit" ]; then
        die $LIBS "the libraries do not fit: $misfit; the model does not run on the phone: $first" "${misfit_hint:-$cure_first}"
    fi
    die $PROGRAM "the model does not run on the phone: $first" "$cure_first"
fi
if [ -n "$npu" ]; then
    tick load ok "context binaries: $loaded, $provider"
    tick execute ok "pipelines: $(grep -c '^run ' "$tmp/first"), NPU generation $arch"
fi

# ---- outputs ----------------------------------------------------------------------------------------------------

# pull FOLDER TO
pull() {
    rm -rf "$2"
    say "pulling the outputs"
    if ! limited $((limit + 60)) adb -s "$serial" pull "$remote/$1" "$2" || [ ! -d "$2" ]; then
        section "adb pull"
        lines_of "$tmp/raw" 20
        check_connection "pulling the outputs"
        die $TRANSFER "adb pull failed: $(tail -n 1 "$tmp/raw")" "Free storage on this computer, try another cable, and run the same command again."
    fi
}

# What to compare with, a line for each file: GRAPH or nothing, tab, NAME, tab, FILE. Only a folder that --expected
# names can be one that qnnrt-run --output_dir wrote.
: >"$tmp/wanted"
for file in "$expected"/*.expected.raw "$expected"/*/*.expected.raw "$expected"/*/*.raw; do
    if [ ! -f "$file" ]; then continue; fi
    name=${file##*/} graph=${file#"$expected"/}
    case $graph in */*) graph=${graph%%/*} ;; *) graph='' ;; esac
    case $name in
    *.expected.raw) name=${name%.expected.raw} ;;
    *) if [ "$expected" = "$model" ]; then continue; fi; name=${name%.raw} ;;
    esac
    printf '%s\t%s\t%s\n' "${graph:--}" "$name" "$file" >>"$tmp/wanted"
done
sort -u "$tmp/wanted" >"$tmp/sorted" && mv "$tmp/sorted" "$tmp/wanted"

# Compare the outputs with them. equal and unequal count; differences go to $tmp/differences
compare() {
    equal=0 unequal=0
    : >"$tmp/differences"
    while IFS='	' read -r graph name wanted; do
        compared=0
        for made in "$tmp/out"/*/"$name.raw"; do
            if [ ! -f "$made" ]; then continue; fi
            of=${made%/*} of=${of##*/}
            if [ "$graph" != - ] && [ "$graph" != "$of" ]; then continue; fi
            compared=1
            if cmp -s "$made" "$wanted"; then
                equal=$((equal + 1))
                continue
            fi
            unequal=$((unequal + 1))
            if [ "$(size_of "$made")" != "$(size_of "$wanted")" ]; then
                echo "output \"$name\" of $of has $(size_of "$made") bytes, expected $(size_of "$wanted")" >>"$tmp/differences"
            else
                differ=$(cmp -l "$made" "$wanted" |
                    awk 'NR == 1 { first = $1 - 1 } END { printf "%d bytes differ, the first at byte %d", NR, first }')
                echo "output \"$name\" of $of: of $(size_of "$made") bytes, $differ" >>"$tmp/differences"
            fi
        done
        if [ $compared -eq 0 ]; then
            unequal=$((unequal + 1))
            echo "no output is named \"$name\"$(if [ "$graph" != - ]; then echo " in $graph"; fi)" >>"$tmp/differences"
        fi
    done <"$tmp/wanted"
}

# sums FOLDER TO: a line for each file in it, on the phone
sums() {
    phone "cd $remote/$1 && find . -type f -exec cksum {} + | sort -k 3" "reading checksums"
    cp "$tmp/said" "$2"
}

section "outputs"
sums out "$tmp/sums"
lines_of "$tmp/sums" 200
mkdir "$tmp/out"
if [ -s "$tmp/wanted" ] || [ -n "$output_dir" ]; then pull out "$tmp/out"; fi
if [ -n "$output_dir" ]; then
    if ! mkdir -p -- "$output_dir" || ! cp -R "$tmp/out/." "$output_dir/"; then
        die $DESK "cannot write --output_dir" "Choose a folder that exists, has room, and is writable."
    fi
fi
compare
lines_of "$tmp/differences" 100
if [ $unequal -gt 0 ]; then
    said_differs=$(head -n 1 "$tmp/differences")
    if [ -n "$npu" ]; then tick output failed "$said_differs"; fi
elif [ $equal -gt 0 ]; then
    note "  equal to the expected files: $equal"
    if [ -n "$npu" ]; then tick output ok "equal to the expected files: $equal"; fi
    if [ "$proves" = weights ] && [ -n "$npu" ]; then tick weights ok "equal to the expected files: $equal"; fi
else
    note "  nothing to compare with"
    tick output "not run" "nothing to compare with was given"
fi
say "outputs equal to the expected files: $equal, different: $unequal"

# ---- times, power, memory, residency --------------------------------------------------------------------------

exec_times() { sed -n 's/^  time .*exec min \(.*\) over.*/\1/p' "$tmp/said" | tr '\n' ';' | sed 's/;$//; s/;/; /g'; }

# look WHEN: heat and battery of the phone, in the transcript and in heat. What Android does not say is left out.
look() {
    # shellcheck disable=SC2016  # the phone's shell expands it
    phone 'dumpsys battery 2>/dev/null; dumpsys thermalservice 2>/dev/null
for z in /sys/class/thermal/thermal_zone*; do echo "zone $(cat "$z/type" 2>/dev/null) $(cat "$z/temp" 2>/dev/null)"; done
echo "saver $(settings get global low_power 2>/dev/null)"' "reading heat and battery $1" 60
    heat=$(awk '
        function hottest(name, value) {
            if (value ~ /^[0-9]+[.]?[0-9]*$/ && value > 0 && value < 150 && value + 0 > hot[name] + 0) hot[name] = value
        }
        # The first of each alone: vendors add logs of events.
        /^  level: [0-9]+$/ && level == "" { level = $2 }
        /^  scale: [0-9]+$/ && scale == "" { scale = $2 }
        /^  temperature: [0-9]+$/ && battery == "" { battery = $2 / 10 }
        /^  [A-Za-z]+ powered: true$/ { powered = powered ", " $1 " power" }
        /^Thermal Status: [0-9]$/ { status = $3 }
        # Those before this line are old ones.
        /^Current temperatures from HAL:$/ { now = 1; next }
        /^[^ \t]/ { now = 0 }
        now && match($0, /mValue=[^,]*, mType=[0-9]+/) {
            split(substr($0, RSTART, RLENGTH), part, /[=,]/)
            type = part[4]
            name = type == 0 ? "CPU" : type == 1 ? "GPU" : type == 3 ? "skin" : type == 9 ? "NPU" : ""
            if (name != "") { hottest(name, part[2]); hal = 1 }
        }
        # In thousandths; vendors name the zones.
        /^zone / && NF == 3 && $3 ~ /^[0-9]+$/ {
            name = $2 ~ /nsp|cdsp|npu/ ? "NPU" : !hal && $2 ~ /^cpu/ ? "CPU" : !hal && $2 ~ /skin/ ? "skin" : ""
            if (name != "") hottest(name, $3 / 1000)
        }
        $1 == "saver" && $2 == 1 { saver = ", battery saver" }
        END {
            count = split("none light moderate severe critical emergency shutdown", word, " ")
            line = "throttling " (status == "" || status >= count ? "unknown" : word[status + 1])
            count = split("CPU GPU NPU skin", word, " ")
            for (i = 1; i <= count; ++i) if (word[i] in hot) line = line sprintf(", %s %.1f C", word[i], hot[word[i]])
            if (battery != "") line = line sprintf(", battery %.1f C", battery)
            if (level != "") line = line sprintf(", charge %d %%", scale > 0 ? level * 100 / scale : level)
            print line powered saver
        }' "$tmp/said")
    note "  $1: $heat"
    case $heat in 'throttling none'* | 'throttling unknown'*) ;; *) say "the phone is hot $1: its times are those of slower clocks" ;; esac
}

# again KEY TITLE OPTIONS: run once more, with outputs, which must be the same as before
again() {
    program "$2" "$run $3 --output_dir again"
    if [ "$status" -ne 0 ]; then
        explain_failure
        tick "$1" failed "$why"
        return 1
    fi
    cp "$tmp/said" "$tmp/printed"
    sums again "$tmp/sums_again"
    phone "rm -rf $remote/again" "removing outputs"
    if cmp -s "$tmp/sums" "$tmp/sums_again"; then return 0; fi
    tick "$1" failed "the outputs are not those of the first run"
    return 1
}

if [ "$inferences" -gt 0 ]; then
    phone "cd $remote && $folders ./qnnrt-run run --help" "reading the help"
    cp "$tmp/said" "$tmp/help"
    section "heat"
    look "before timing"
    cool=$heat
    program "timing $inferences inferences" "$run --num_inferences $inferences"
    plain=$(exec_times) timed=$status
    program "timing with the power preset burst" "$run --num_inferences $inferences --perf_profile burst"
    cp "$tmp/said" "$tmp/burst"
    burst=$status
    section "heat"
    look "after timing"
    cp "$tmp/burst" "$tmp/said"
    status=$burst
    if [ "$timed" -eq 0 ] && [ -n "$npu" ]; then
        tick time ok "loading $loaded; execution $plain; before: $cool; after: $heat"
    fi
    if [ -n "$npu" ]; then
        if [ "$status" -ne 0 ]; then
            explain_failure
            tick power failed "$why"
        elif grep -q '^power .* applied' "$tmp/said" && ! grep -qE '^power .*(refused|not available)' "$tmp/said"; then
            tick power ok "burst: $(exec_times); without: $plain"
        else
            tick power failed "$(grep '^power ' "$tmp/said" | head -n 1)"
        fi
    fi
    if grep -q -- '--memory ' "$tmp/help" && again memory "sharing memory with the device" "--memory shared" && [ -n "$npu" ]; then
        # "  memory    rpcmem, 12 of 12 tensors registered with the device" for each pipeline
        registered=$(sed -n 's/^  memory  *\(.* registered with the device.*\)/\1/p' "$tmp/printed" | tr '\n' ';' | sed 's/;$//; s/;/; /g')
        case ", $registered" in
        ', ' | *', 0 of '*) tick memory failed "${registered:-the output does not say what is registered}" ;;
        *) tick memory ok "$registered" ;;
        esac
    fi
    if [ $binaries -lt 2 ]; then
        tick resident "not run" "the model has one context"
    elif grep -q -- '--resident ' "$tmp/help" && again resident "one context at a time" "--resident one" && [ -n "$npu" ]; then
        tick resident ok "the same outputs with one of $binaries contexts at a time"
    fi
fi

# ---- a language model --------------------------------------------------------------------------------------------

if [ -n "$llm" ]; then
    program "looking for a language model" "./qnnrt-llm --ctx_dir model $libraries --describe"
    if [ "$status" -ne 0 ]; then
        tick text "not run" "this is not a language model"
    else
        from='--prompt_file prompt.txt'
        if [ -n "$tokens" ]; then from='--tokens prompt.tokens'; fi
        program "writing text" "./qnnrt-llm --ctx_dir model $libraries $from --max_gen $max_gen 2>figures"
        cp "$tmp/said" "$tmp/text"
        text_status=$status
        phone "cat $remote/figures" "reading the figures"
        lines_of "$tmp/said"
        status=$text_status
        restarted=''
        if grep -q 'the DSP restarted: loading the model again' "$tmp/said" && [ -n "$npu" ]; then
            restarted=1
            if [ "$status" -eq 0 ]; then tick restart ok "the text went on"; else tick restart failed "the text ended"; fi
        fi
        if [ "$status" -ne 0 ]; then
            explain_failure
            if [ -n "$npu" ]; then tick text failed "$why"; fi
            if [ -z "$tokens$prompted" ]; then
                tick text "not run" "add --prompt TEXT or --tokens FILE: $why"
            else
                add_logcat
                die $PROGRAM "the language model writes no text on the phone: $why" "$remedy"
            fi
        elif [ ! -f "$expected/text.expected.txt" ]; then
            if [ -n "$npu" ]; then tick text ok "$(size_of "$tmp/text") bytes, not compared: no text.expected.txt was given"; fi
        elif [ "$(cat "$tmp/text")" = "$(cat "$expected/text.expected.txt")" ]; then
            note "  the text equals text.expected.txt"
            if [ -n "$npu" ]; then tick text ok "the text equals text.expected.txt"; fi
        else
            note "  the text differs from text.expected.txt"
            if [ -n "$restarted" ]; then tick restart failed "the text differs from text.expected.txt"; fi
            if [ -n "$npu" ]; then tick text failed "the text differs from text.expected.txt"; fi
            said_differs=${said_differs:-the text differs from text.expected.txt}
        fi
    fi
fi

# ---- a graph built on the phone -------------------------------------------------------------------------------

if [ -n "$compose" ]; then
    program "building a graph" "./03_compose $(q "./$backend") layer.bin"
    if [ "$status" -eq 0 ] && grep -q '^y = 30.5 0$' "$tmp/said"; then
        if [ -n "$npu" ]; then tick compose ok "y = 30.5 0, as built and as opened"; fi
    else
        explain_failure
        if [ -n "$npu" ]; then tick compose failed "$why"; fi
    fi
fi

if [ -n "$said_differs" ]; then
    die $DIFFERS "an output differs: $said_differs" \
        "Run the model on this computer with the same release, compare, and send the transcript with both outputs (--output_dir)."
fi
result=ok
say "all is well"
finish 0
