#!/bin/sh
# The engine "openvino" on genuine libraries: 2026.4.1, and 2024.6.0 with QNNRT_TEST_ALL=1.
#     sh tests/session/test_engine_openvino.sh [BUILD_DIR]
# A library that is missing is skipped, or a failure with QNNRT_REQUIRE_ALL=1: make engine-libs.
set -u
LC_ALL=C
export LC_ALL
build=${1:-build}
passed=0 failed=0 skipped=0
for release in 2026.4.1 ${QNNRT_TEST_ALL:+2024.6.0}; do
    folder=$build/engines/openvino-$release
    if [ ! -f "$folder/.stamp" ]; then
        if [ "${QNNRT_REQUIRE_ALL-}" = 1 ]; then failed=$((failed + 1)); else skipped=$((skipped + 1)); fi
        echo "engine_openvino: skipped: $folder is missing: say 'make engine-libs ENGINES=openvino-$release'"
        continue
    fi
    out=$("$build/c99/engine_openvino" "$folder" 2>&1)
    status=$?
    printf '%s\n' "$out"
    # shellcheck disable=SC2046  # two words
    set -- $(printf '%s\n' "$out" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed.*/\1 \2/p' | tail -n 1)
    passed=$((passed + ${1:-0})) failed=$((failed + ${2:-1}))
    if [ $status -ne 0 ] && [ "${2:-0}" -eq 0 ]; then failed=$((failed + 1)); fi
done
if [ $skipped -gt 0 ]; then echo "$passed passed, $failed failed, $skipped skipped"; else echo "$passed passed, $failed failed"; fi
[ $failed -eq 0 ]
