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
        CC="$folder/clang --target=aarch64-linux-android$api"
    done
    if [ ! -x "${CC%% --target*}" ]; then
        echo "build-ndk.sh: no toolchains/llvm/prebuilt/*/bin/clang in $ANDROID_NDK" >&2
        exit 2
    fi
fi

# 16 KB pages: Android 15 and newer. One file serves phones with pages of 4 KB, too.
compile="$CC -std=c99 -O2 -Wall -Wextra -I. -Itools ${CFLAGS-}"
link='-Wl,-z,max-page-size=16384'

say() {
    echo "$*"
    "$@"
}

mkdir -p "$out"
for program in tools/qnnrt-run tools/qnnrt-llm examples/01_hello examples/02_prefill_decode examples/03_compose \
    examples/04_cnn_transformer examples/05_make_model examples/06_generate examples/llm/export \
    examples/host/host; do
    # shellcheck disable=SC2086  # compile and link are several words
    say $compile -o "$out/${program##*/}" "$program.c" $link -ldl -lm
done
# shellcheck disable=SC2086
say $compile -ffp-contract=off -D_POSIX_C_SOURCE=200809L -fPIC -fvisibility=hidden -shared \
    -Wl,-soname,libQnnRef.so -o "$out/libQnnRef.so" tools/refbackend/*.c $link -lm
