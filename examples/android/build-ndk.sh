#!/bin/sh
# Build the tools, the reference backend and the examples for Android phones (arm64-v8a), with nothing except the NDK.
#
#     ANDROID_NDK=FOLDER [API=24] sh examples/android/build-ndk.sh [OUT]
#
# API: the lowest API level that the programs run on, from 21. OUT: build/android unless given. CC and CFLAGS may be
# set, too. The lines are printed before they run, so that they can be copied.
set -eu
cd "$(dirname "$0")/../.."
api=${API:-24} out=${1:-build/android}

if [ -z "${CC-}" ]; then
    if [ -z "${ANDROID_NDK-}" ]; then
        echo "build-ndk.sh: ANDROID_NDK is not set: it names the folder of the NDK, .../ndk/<version>" >&2
        exit 2
    fi
    for folder in "$ANDROID_NDK"/toolchains/llvm/prebuilt/*/bin; do
        clang=$folder/clang
    done
    if [ ! -x "$clang" ]; then
        echo "build-ndk.sh: no toolchains/llvm/prebuilt/*/bin/clang in $ANDROID_NDK" >&2
        exit 2
    fi
    set -- "$clang" "--target=aarch64-linux-android$api"
else
    # shellcheck disable=SC2086  # CC may be several words
    set -- $CC
fi

# 16 KB pages: Android 15 and newer. One file serves phones with pages of 4 KB, too.
# shellcheck disable=SC2086  # CFLAGS are several words
set -- "$@" -std=c99 -O2 -Wall -Wextra -I. -Itools ${CFLAGS-}
link='-Wl,-z,max-page-size=16384'

# say WORD ...: print the command, with quotes around words that need them, and run it
say() {
    for word in "$@"; do
        case $word in
        *[!A-Za-z0-9_./=,:+-]*) printf "'%s' " "$(printf '%s\n' "$word" | sed "s/'/'\\\\''/g")" ;;
        *) printf '%s ' "$word" ;;
        esac
    done
    echo
    "$@"
}

mkdir -p "$out"
# sources PROGRAM: its files; the tools are made of units in folders
sources() {
    case $1 in
    tools/qnnrt-run) echo tools/run/*.c tools/run/*/*.c tools/cli/*.c ;;
    tools/qnnrt-llm) echo tools/llm/*.c tools/cli/*.c ;;
    examples/llm/export) echo examples/llm/export.c tools/cli/*.c ;;
    *) echo "$1.c" ;;
    esac
}

for program in tools/qnnrt-run tools/qnnrt-llm examples/01_hello examples/02_prefill_decode examples/03_compose \
    examples/04_cnn_transformer examples/05_make_model examples/06_generate examples/llm/export \
    examples/server/server; do
    # shellcheck disable=SC2046  # names of files without blanks
    say "$@" -o "$out/${program##*/}" $(sources "$program") $link -ldl -lm
done
say "$@" -ffp-contract=off -D_POSIX_C_SOURCE=200809L -fPIC -fvisibility=hidden -shared \
    -Wl,-soname,libQnnRef.so -o "$out/libQnnRef.so" tools/refbackend/*.c $link -lm
