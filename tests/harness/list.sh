#!/bin/sh
# Write a list of tests for run.sh: rows of the table tests/index, as one set of configurations runs them.
#
#   tests/harness/list.sh KIND [PART]     KIND: check, cover, test, all or oom
#                                         PART: only labels that contain it; with a /, files that contain it
#
# check is the unit tests in the configuration "check", cover the same for tests/project/coverage.sh; test is the list
# of `make test`; all adds the configurations m32 and aarch64 and more releases; oom is the tests in which every
# allocation fails.
# A line is "label seconds goals command": goals are the targets that make builds first, joined by commas,
# or "-". It reads the variables that the Makefile exports (B, LIMIT, PYTHON, TEST_RELEASES, ...).
set -u
LC_ALL=C
export LC_ALL

kind=${1:?usage: tests/harness/list.sh KIND [PART]}
part=${2-}
B=${B:-build} PYTHON=${PYTHON:-python3} CC=${CC:-cc}
# Limits for programs that hang; a busy machine may take ten times as long as an idle one.
limit=${LIMIT:-900} limit_slow=${LIMIT_SLOW:-1800} limit_real=${LIMIT_REAL:-1800} limit_all_cores=3600,anycore
arm_cc=${AARCH64_CC:-aarch64-linux-gnu-gcc} arm_root=${AARCH64_SYSROOT:-/usr/aarch64-linux-gnu}
qemu=${QEMU:-qemu-aarch64-static}
asan_env=UBSAN_OPTIONS=print_stacktrace=1
make="MAKEFLAGS= MAKELEVEL= ${MAKE:-make} -o $B/.flags"
fetch="say 'make qnn-libs' (needs python3 with pip, and a network)"

python=
if command -v "$PYTHON" >/dev/null 2>&1; then python=1; fi
all=
if [ "$kind" = all ]; then all=1; fi

# put SECONDS LABEL LIMIT GOALS COMMAND: with the seconds in front, for sort
put() {
    case $part in */*) named="$2 $file" ;; *) named=$2 ;; esac
    case $named in *"$part"*) printf '%s %s %s %s %s\n' "$@" ;; esac
}
skip() { put 0 "$1" skip "$2" "$3"; }

# True if a word is in a list that is joined by commas.
has() { case ,$2, in *,"$1",*) return 0 ;; esac; return 1; }

# goals CONFIG PROGRAM: the targets that a test needs in this configuration
goals() {
    list=$2
    case $1 in check | aarch64 | m32) fakes=$1/fake ;; *) fakes=fake ;; esac
    for word in $(echo "$needs" | tr ',' ' '); do
        case $word in
        - | anycore | arm | asanall | c++ | c++all | counts | cpu | htp | nojson | oom | refops | testall | tools) continue ;;
        qnn)
            # The plug-in was not unpacked before.
            for word in .stamp onnxruntime_qnn/libonnxruntime_providers_qnn.so; do
                if [ ! -f "$B/qnn/2.51/$word" ]; then list=$list,qnn; fi
            done
            continue ;;
        engines)
            for engine in onnxruntime-1.31.1 openvino-2026.4.1; do
                if [ ! -f "$B/engines/$engine/.stamp" ]; then list=$list,engines; fi
            done
            continue ;;
        all | symbols-programs) list=$list,$word; continue ;;
        fakeort) word=$fakes/libFakeOrt.so ;;
        fake) word=$fakes/libQnnFake.so ;;
        cdsprpc) list=$list,$B/$fakes/old/libcdsprpc.so word=$fakes/libcdsprpc.so ;;
        openvino) word=$fakes/openvino/libopenvino_c.so.9990 ;;
        ref) case $1 in c99 | c++11 | script | cover) word=libQnnRef.so ;; *) word=$1/libQnnRef.so ;; esac ;;
        locale) word=locale/.made ;;
        *.py)
            if [ -z "$python" ]; then continue; fi
            word=${word##*/} word=oracle/${word%.py}.txt ;;
        esac
        list=$list,$B/$word
    done
    list=${list#,}
    echo "${list:--}"
}

# before CONFIG: the prefix of the command
before() {
    for word in $(echo "$needs" | tr ',' ' '); do
        case $word in
        locale) printf 'LOCPATH=%s/locale ' "$B" ;;
        *.py)
            word=${word##*/}
            if [ -n "$python" ]; then printf 'QNNRT_ORACLE=%s/oracle/%s.txt ' "$B" "${word%.py}"; fi ;;
        esac
    done
    case $1 in
    asan) printf '%s ' "$asan_env" ;;
    cover) printf 'LLVM_PROFILE_FILE=%s/cover/%%p.profraw ' "$B" ;;
    aarch64) printf '%s -L %s ' "$qemu" "$arm_root" ;;
    esac
}

# The reason why a configuration does not run; empty: it runs.
no_arm=
for program in "$arm_cc" "$qemu"; do
    command -v "$program" >/dev/null 2>&1 || no_arm="$program is not installed"
done
if [ -z "$no_arm" ] && [ ! -d "$arm_root" ]; then no_arm="there is no $arm_root"; fi
no_m32=
if [ -n "$all" ]; then
    mkdir -p "$B"
    if ! echo 'int main(void) { return 0; }' | $CC -m32 -x c - -o "$B/probe32.$$" 2>/dev/null; then
        no_m32="$CC -m32 does not work (on Debian: gcc-12-multilib)"
    fi
    rm -f "$B/probe32.$$"
fi

# one CONFIG FACTOR LIMIT: a unit test in one configuration, FACTOR times as long as it takes there
one() {
    label=$1/$name
    if [ "$1" = check ]; then label=$name; fi
    put $(($2 * seconds)) "$label" "$3" "$(goals "$1" "$B/$1/$name")" "$(before "$1")$B/$1/$name"
}

unit() {
    case $kind in
    check) one check 1 "$limit" ;;
    cover) one cover 1 "$limit_slow" ;;
    oom) if has oom "$needs"; then one asan 4 "$limit_slow"; fi ;;
    *)
        one c99 1 "$limit"
        if has c++ "$needs" || { [ -n "$all" ] && has c++all "$needs"; }; then one c++11 1 "$limit"; fi
        if [ -n "$all" ] || ! has asanall "$needs"; then one asan 4 "$limit_slow"; fi
        if [ -n "$all" ]; then
            # On 32 bits qnnrt.h refuses every backend: tests that need one are left out.
            if [ -z "$no_m32" ] && ! has fake "$needs" && ! has ref "$needs"; then one m32 1 "$limit"; fi
            if [ -z "$no_arm" ]; then one aarch64 10 "$limit_slow"; fi
        fi ;;
    esac
}

fuzz() {
    put $((2 * seconds)) "asan/$name" "$limit_slow" "$(goals asan "$B/asan/$name")" \
        "QNNREF_LEDGER=strict $asan_env $B/asan/$name tests/fuzz/corpus/${name#fuzz_}.pack"
}

# A genuine test on each release, and with ASan on the newest; slow ones have ASan in test-all only.
real() {
    name=real_$name
    for release in ${TEST_RELEASES-2.47 2.51}; do
        # The longest test in make test on the newest release alone.
        if [ -z "$all" ] && [ "$seconds" -gt 30 ] && [ "$release" != 2.51 ]; then continue; fi
        folder=$B/qnn/$release
        if [ -f "$folder/.stamp" ]; then
            put "$seconds" "$name@$release" "$limit_real" "$(goals c99 "$B/c99/$name,$B/data/.made")" \
                "$B/c99/$name $folder/onnxruntime_qnn $B/data"
        else
            skip "$name@$release" qnn "$folder is missing: $fetch"
        fi
    done
    if [ -f "$B/qnn/2.51/.stamp" ] && { [ -n "$all" ] || [ "$seconds" -le 8 ]; }; then
        put $((2 * seconds)) "asan/$name@2.51" "$limit_real" "$(goals asan "$B/asan/$name,$B/data/.made")" \
            "ASAN_OPTIONS=detect_leaks=0 $asan_env $B/asan/$name $B/qnn/2.51/onnxruntime_qnn $B/data"
    fi
    if [ -z "$all" ] || [ -n "$no_arm" ]; then return; fi
    folder=$B/qnn/2.51-aarch64
    if [ -f "$folder/.stamp" ]; then
        put $((5 * seconds)) "aarch64/$name@2.51" "$limit_real" "$(goals aarch64 "$B/aarch64/$name,$B/data/.made")" \
            "QNNRT_NO_DEVICE=1 $qemu -L $arm_root -E LD_LIBRARY_PATH=$folder/onnxruntime_qnn $B/aarch64/$name $folder/onnxruntime_qnn $B/data"
    else
        skip "aarch64/$name@2.51" qnn-aarch64 "$folder is missing: say 'make qnn-libs QNN_RELEASES=aarch64'"
    fi
}

script() {
    label=script/${file##*/}
    case $file in
    *.sh) put "$seconds" "$label" "$limit_slow" "$(goals script "$B/data/.made")" "${all:+QNNRT_TEST_ALL=1 }sh tests/$file" ;;
    *)
        if [ -n "$python" ]; then
            put "$seconds" "$label" "$limit" "$(goals script "$B/data/.made")" "$PYTHON tests/$file"
        else
            skip "$label" - "$PYTHON is missing"
        fi ;;
    esac
}

# Targets of the Makefile; one that counts nothing is one test.
make() {
    for word in 2.47:cpu 2.51:htp; do
        if has "${word#*:}" "$needs" && [ ! -f "$B/qnn/${word%:*}/.stamp" ]; then
            skip "$file" qnn "$B/qnn/${word%:*} is missing: $fetch"
            return
        fi
    done
    if has arm "$needs" && [ -n "$no_arm" ]; then return; fi
    command=$(printf '%s\n' "$about" | sed "s|\\bmake |$make |g")
    if ! has counts "$needs"; then command="$command && echo '1 passed, 0 failed'"; fi
    word=$limit_slow
    if has anycore "$needs"; then word=$limit_all_cores; fi
    put "$seconds" "$file" "$word" "$(goals script "$B/data/.made")" "$command"
}

{
    while read -r file what seconds needs about; do
        case $file in '' | '#'*) continue ;; esac
        if has testall "$needs" && [ -z "$all" ]; then continue; fi
        name=${file##*/} name=${name%.*}
        case $what:$kind in
        unit:*) unit ;;
        program:*) ;;
        *:test | *:all) "$what" ;;
        esac
    done <tests/index
    file=-
    if [ -n "$all" ] && [ -n "$no_m32" ]; then skip m32 - "$no_m32"; fi
    if [ -n "$all" ] && [ -n "$no_arm" ]; then skip aarch64 - "$no_arm"; fi
} | sort -s -k1,1nr | sed 's/^[0-9]* //'
