#!/bin/sh
# make mac-check: do the headers and the tools compile and link for macOS on arm64? Nothing of it is run.
#
# The compiler and the stubs of Apple's libraries are those of the package ziglang, by pinned version and hash, in
# build/zig (Linux x86-64; 100 MB). Its headers are not all of those that Xcode has.
cd "$(dirname "$0")/../.." || exit 1
suite=mac-check
. tests/harness/tool.sh
python=${PYTHON:-python3}

zig=$build/zig/ziglang/zig
if [ ! -x "$zig" ]; then
    echo 'ziglang==0.17.0 --hash=sha256:97079827064a7492cce5541ceb438ae8003ce1e54e399676da2d62fb7a5dc08b' >"$tmp/wanted"
    if ! "$python" -m pip download --quiet --no-deps --require-hashes -r "$tmp/wanted" -d "$tmp" >"$tmp/log" 2>&1 ||
        ! "$python" -m zipfile -e "$tmp"/ziglang-*.whl "$build/zig" || ! chmod +x "$zig"; then
        skip zig "ziglang 0.17.0 was not fetched: $(tail -n 1 "$tmp/log")"
        finish
        exit
    fi
fi
ZIG_GLOBAL_CACHE_DIR=$tmp/zig ZIG_LOCAL_CACHE_DIR=$tmp/zig
export ZIG_GLOBAL_CACHE_DIR ZIG_LOCAL_CACHE_DIR
# mac WORD ...: compile for macOS
mac() { "$zig" cc -target aarch64-macos -std=c99 -O0 -fno-sanitize=all -Wall -Wextra -Wpedantic -Werror -I. -Itools -Itools/engines "$@"; }

# Each header of tools/headers with its implementation.
awk '!/^#/ && NF && $3 != "-" { print $1, $2, $7 ~ /friend/ ? "-DQNNRT_IMPLEMENTATION" : "" }' tools/headers >"$tmp/headers"
while read -r header prefix friend; do
    echo "#include \"$header\"" >"$tmp/header.c"
    # shellcheck disable=SC2086  # friend may be nothing
    step "$header" mac -D"${prefix}_IMPLEMENTATION" $friend -c -o "$tmp/header.o" "$tmp/header.c"
done <"$tmp/headers"

# The tools and the reference backend, linked: names that macOS lacks would be missing here.
step qnnrt-run mac -o "$tmp/qnnrt-run" tools/run/*.c tools/run/*/*.c tools/cli/*.c
step qnnrt-llm mac -o "$tmp/qnnrt-llm" tools/llm/*.c tools/cli/*.c
step libQnnRef mac -ffp-contract=off -D_POSIX_C_SOURCE=200809L -fvisibility=hidden -shared -o "$tmp/libQnnRef.dylib" tools/refbackend/*.c
# Mach-O of 64 bits, arm64, a program (2) or a library (6)
for name in qnnrt-run:2 qnnrt-llm:2 libQnnRef.dylib:6; do
    head=$(od -An -tx4 -N16 "$tmp/${name%:*}" | tr -s ' ')
    case $head in
    " feedfacf 0100000c "*" 0000000${name#*:}") good ;;
    *) bad "${name%:*}" "not a Mach-O file for arm64: $head" ;;
    esac
done
finish
