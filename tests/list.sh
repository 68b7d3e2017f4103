#!/bin/sh
# Write a list of tests for tests/run.sh.
#
#   tests/list.sh KIND [PART]     KIND: check, cover, test, all or oom; PART: only labels that contain it
#
# check is the unit tests in the configuration "check", cover the same for tests/coverage.sh; test is the list
# of `make test`; all adds the configurations m32 and aarch64 and more releases; oom is the tests in which every
# allocation fails.
# A line is "label seconds goals command": goals are the targets that make builds first, joined by commas,
# or "-". It reads the variables that the Makefile exports (B, LIMIT, PYTHON, TEST_RELEASES, ...).
set -u
LC_ALL=C
export LC_ALL

kind=${1:?usage: tests/list.sh KIND [PART]}
part=${2-}
B=${B:-build} PYTHON=${PYTHON:-python3} CC=${CC:-cc}
# Limits for programs that hang; a busy machine may take ten times as long as an idle one.
limit=${LIMIT:-900} limit_slow=${LIMIT_SLOW:-1800} limit_real=${LIMIT_REAL:-1800}
arm_cc=${AARCH64_CC:-aarch64-linux-gnu-gcc} arm_root=${AARCH64_SYSROOT:-/usr/aarch64-linux-gnu}
qemu=${QEMU:-qemu-aarch64-static}
oom_tests='oom compose compose_more llm_roles'
asan_env=UBSAN_OPTIONS=print_stacktrace=1

python=
if command -v "$PYTHON" >/dev/null 2>&1; then python=1; fi
all=
if [ "$kind" = all ]; then all=1; fi

# put SECONDS LABEL LIMIT GOALS COMMAND: with the seconds in front, for sort
put() {
    case $2 in *"$part"*) printf '%s %s %s %s %s\n' "$@" ;; esac
}
skip() { put 0 "$1" skip "$2" "$3"; }

# True if a word is in a list that is joined by commas.
has() { case ,$2, in *,"$1",*) return 0 ;; esac; return 1; }

# goals CONFIG NEEDS PROGRAM: the targets that a test needs in this configuration
goals() {
    list=$3
    for word in $(echo "$2" | tr ',' ' '); do
        case $word in
        - | c++ | c++all | asanall | testall | oracle) continue ;;
        qnn)
            # The plug-in was not unpacked before.
            for file in .stamp onnxruntime_qnn/libonnxruntime_providers_qnn.so; do
                if [ ! -f "$B/qnn/2.51/$file" ]; then list=$list,qnn; fi
            done
            continue ;;
        engines)
            for engine in onnxruntime-1.31.1 openvino-2026.4.1; do
                if [ ! -f "$B/engines/$engine/.stamp" ]; then list=$list,engines; fi
            done
            continue ;;
        fakeort) case $1 in check | aarch64 | m32) word=$1/fake/libFakeOrt.so ;; *) word=fake/libFakeOrt.so ;; esac ;;
        fake) case $1 in check | aarch64 | m32) word=$1/fake/libQnnFake.so ;; *) word=fake/libQnnFake.so ;; esac ;;
        cdsprpc)
            case $1 in check | aarch64 | m32) word=$1/fake ;; *) word=fake ;; esac
            list=$list,$B/$word/old/libcdsprpc.so word=$word/libcdsprpc.so ;;
        ref) case $1 in c99 | c++11 | script | cover) word=libQnnRef.so ;; *) word=$1/libQnnRef.so ;; esac ;;
        openvino)
            case $1 in check | aarch64 | m32) word=$1/fake ;; *) word=fake ;; esac
            word=$word/openvino/libopenvino_c.so.9990 ;;
        locale) word=locale/.made ;;
        all) list=$list,all; continue ;;
        esac
        list=$list,$B/$word
    done
    if has oracle "$2" && [ -n "$python" ]; then list=$list,$B/oracle_$name.txt; fi
    list=${list#,}
    echo "${list:--}"
}

# before CONFIG NEEDS: the prefix of the command
before() {
    if has oracle "$2" && [ -n "$python" ]; then printf 'QNNRT_ORACLE=%s/oracle_%s.txt ' "$B" "$name"; fi
    if has locale "$2"; then printf 'LOCPATH=%s/locale ' "$B"; fi
    case $1 in
    asan) printf '%s ' "$asan_env" ;;
    cover) printf 'LLVM_PROFILE_FILE=%s/cover/%%p.profraw ' "$B" ;;
    aarch64) printf '%s -L %s ' "$qemu" "$arm_root" ;;
    esac
}

# unit CONFIG FACTOR LIMIT: one unit test in one configuration, FACTOR times as long as it takes there
unit() {
    label=$1/test_$name
    if [ "$1" = check ]; then label=test_$name; fi
    put $(($2 * seconds)) "$label" "$3" "$(goals "$1" "$needs" "$B/$1/test_$name")" "$(before "$1" "$needs")$B/$1/test_$name"
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
    if ! echo 'int main(void) { return 0; }' | $CC -m32 -x c - -o "$B/probe32" 2>/dev/null; then
        no_m32="$CC -m32 does not work (on Debian: gcc-12-multilib)"
    fi
fi

# A genuine test on each release, and with ASan on the newest; slow ones have ASan in test-all only.
fetch="say 'make qnn-libs' (needs python3 with pip, and a network)"
real() {
    base=${name#real/}
    for release in ${TEST_RELEASES-2.47 2.51}; do
        # The longest test in make test on the newest release alone.
        if [ -z "$all" ] && [ "$seconds" -gt 30 ] && [ "$release" != 2.51 ]; then continue; fi
        folder=$B/qnn/$release
        if [ -f "$folder/.stamp" ]; then
            put "$seconds" "real_$base@$release" "$limit_real" "$(goals c99 "$needs" "$B/c99/real_$base")" \
                "$B/c99/real_$base $folder/onnxruntime_qnn tests/data"
        else
            skip "real_$base@$release" qnn "$folder is missing: $fetch"
        fi
    done
    if [ -f "$B/qnn/2.51/.stamp" ] && { [ -n "$all" ] || [ "$seconds" -le 8 ]; }; then
        put $((2 * seconds)) "asan/real_$base@2.51" "$limit_real" "$(goals asan "$needs" "$B/asan/real_$base")" \
            "ASAN_OPTIONS=detect_leaks=0 $asan_env $B/asan/real_$base $B/qnn/2.51/onnxruntime_qnn tests/data"
    fi
    if [ -z "$all" ] || [ -n "$no_arm" ]; then return; fi
    folder=$B/qnn/2.51-aarch64
    if [ -f "$folder/.stamp" ]; then
        put $((5 * seconds)) "aarch64/real_$base@2.51" "$limit_real" "$(goals aarch64 "$needs" "$B/aarch64/real_$base")" \
            "QNNRT_NO_DEVICE=1 $qemu -L $arm_root -E LD_LIBRARY_PATH=$folder/onnxruntime_qnn $B/aarch64/real_$base $folder/onnxruntime_qnn tests/data"
    else
        skip "aarch64/real_$base@2.51" qnn-aarch64 "$folder is missing: say 'make qnn-libs QNN_RELEASES=aarch64'"
    fi
}

# The tests that do not have their own program.
others() {
    make="MAKEFLAGS= MAKELEVEL= ${MAKE:-make} -o $B/.flags"
    summary='echo "1 passed, 0 failed"'
    # This test runs compilers on all cores; SILENT=all: in all combinations.
    combinations=$all
    if [ "${SILENT-}" = all ]; then combinations=1; fi
    put 200 silent 3600,anycore - "sh tests/silent.sh${combinations:+ --all}"
    # Benches run nowhere else: they must compile.
    put 3 benches "$limit" - "for file in tests/bench/bench_*.c; do $CC -std=c99 -fsyntax-only -Wall -Wextra -Werror -I. -Itests -Itools -Itools/engines -D_POSIX_C_SOURCE=200809L \$file || exit 1; done && $summary"
    put 2 symbols "$limit" symbols-programs "CC='$CC' sh tests/symbols.sh qnnrt.h $B/symbols/qnnrt.o $B/symbols/qnnrt_static.o $B/symbols/qnnrt_hidden.o $B/qnnrt-llm"
    put 5 make-host "$limit_slow" "$B/examples/host/host,$B/examples/llm/export,$B/libQnnRef.so" "$make host && $summary"
    oracle=
    if [ -n "$python" ]; then oracle="--oracle $B/oracle_ops.txt"; fi
    if [ -n "$all" ]; then
        put 40 asan/ops "$limit_slow" "$B/asan/ops,$B/asan/libQnnRef.so${oracle:+,$B/oracle_ops.txt}" \
            "$asan_env $B/asan/ops $B/asan/libQnnRef.so - $oracle"
    fi
    if [ -f "$B/qnn/2.47/.stamp" ] && [ -f "$B/qnn/2.51/.stamp" ]; then
        put 40 ops "$limit_real" "$B/c99/ops,$B/libQnnRef.so${oracle:+,$B/oracle_ops.txt}" \
            "$B/c99/ops $B/libQnnRef.so $B/qnn $oracle${oracle:+ --golden tests/golden/ops.txt}"
    else
        skip ops qnn "$B/qnn/2.47 or 2.51 is missing: $fetch"
    fi
    if [ -f "$B/qnn/2.51/.stamp" ]; then
        put 15 make-run@2.51 "$limit_slow" all "$make run && $make run BACKEND=htp && $summary"
        put 10 make-llm@2.51 "$limit_slow" all "$make llm && $make llm BACKEND=htp && $summary"
    fi
    if [ -n "$all" ]; then put 60 tsan "$limit_slow" "$B/tsan/tsan,$B/tsan/libQnnRef.so" "$B/tsan/tsan"; fi
    if [ -n "$all" ] && [ -z "$no_arm" ]; then
        put 100 aarch64/make-run "$limit_real" all \
            "$make run && $make run-aarch64 | grep -F '$B/run/ref: the same bytes' && $summary"
    fi
}

{
    while read -r name seconds needs about; do
        case $name in
        '' | '#'*) continue ;;
        real/*)
            if has testall "$needs" && [ -z "$all" ]; then continue; fi
            case $kind in test | all) real ;; esac
            continue ;;
        fuzz/*)
            case $kind in test | all)
                put $((2 * seconds)) "asan/fuzz_${name#fuzz/}" "$limit_slow" "$(goals asan "$needs" "$B/asan/fuzz_${name#fuzz/}")" \
                    "QNNREF_LEDGER=strict $asan_env $B/asan/fuzz_${name#fuzz/} tests/fuzz/corpus/${name#fuzz/}/*" ;;
            esac
            continue ;;
        *.sh | *.py)
            if has testall "$needs" && [ -z "$all" ]; then continue; fi
            case $kind in test | all) ;; *) continue ;; esac
            case $name in
            *.sh) put "$seconds" "script/$name" "$limit_slow" "$(goals script "$needs" '')" "${all:+QNNRT_TEST_ALL=1 }sh tests/$name" ;;
            *)
                if [ -n "$python" ]; then
                    put "$seconds" "script/$name" "$limit" "$(goals script "$needs" '')" "$PYTHON tests/$name"
                else
                    skip "script/$name" - "$PYTHON is missing"
                fi ;;
            esac
            continue ;;
        esac
        case $kind in
        check) unit check 1 "$limit" ;;
        cover) unit cover 1 "$limit_slow" ;;
        oom) case " $oom_tests " in *" $name "*) unit asan 4 "$limit_slow" ;; esac ;;
        *)
            unit c99 1 "$limit"
            if has c++ "$needs" || { [ -n "$all" ] && has c++all "$needs"; }; then unit c++11 1 "$limit"; fi
            if [ -n "$all" ] || ! has asanall "$needs"; then unit asan 4 "$limit_slow"; fi
            if [ -n "$all" ]; then
                # On 32 bits qnnrt.h refuses every backend: tests that need one are left out.
                if [ -z "$no_m32" ] && ! has fake "$needs" && ! has ref "$needs"; then unit m32 1 "$limit"; fi
                if [ -z "$no_arm" ]; then unit aarch64 10 "$limit_slow"; fi
            fi ;;
        esac
    done <tests/index
    case $kind in test | all) others ;; esac
    if [ -n "$all" ] && [ -n "$no_m32" ]; then skip m32 - "$no_m32"; fi
    if [ -n "$all" ] && [ -n "$no_arm" ]; then skip aarch64 - "$no_arm"; fi
} | sort -s -k1,1nr | sed 's/^[0-9]* //'
