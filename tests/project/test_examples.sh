#!/bin/sh
# The output of the examples on the genuine libraries.
#     sh tests/project/test_examples.sh [BUILD_DIR [RELEASE_DIR]]
# Without the release folder its checks are skipped, or failed with QNNRT_REQUIRE_ALL=1.
suite=test_examples
. "$(dirname "$0")/../harness/tool.sh"
out=$tmp

"$build/examples/01_hello" >"$out/text" 2>&1
if [ $? -eq 2 ] && grep -q '^usage: ' "$out/text"; then good; else bad hello_usage "no usage line, or another status than 2"; fi
if "$build/examples/01_hello" /no/such/folder >"$out/text" 2>&1; then bad hello_fails "status 0 for a folder that is not there"
elif grep -q '/no/such/folder' "$out/text"; then good; else bad hello_fails "the folder is not named: $(cat "$out/text")"; fi

# 04 in two processes, against the reference backend.
restored() {
    "$build/examples/04_cnn_transformer" "$1" "$build/libQnnRef.so" "$out/a.bin" "$out/shared.bin" "$out/ref.bin" >"$out/text" 2>"$out/log" &&
        "$build/examples/04_cnn_transformer" "$1" "$build/libQnnRef.so" "$out/a.bin" "$out/shared.bin" "$out/ref.bin" run >"$out/text" 2>"$out/log"
}
lines=$(wc -l <examples/04_cnn_transformer.c)
if [ "$lines" -le 120 ]; then good; else bad cnn_transformer_is_short "$lines lines"; fi

# 07: four steps, and the answer that its comment explains; then the same from the folder.
two_backends() {
    "$build/examples/07_two_backends" "$1" "$2" "$out/mixed" >"$out/text" 2>"$out/log" &&
        [ "$(grep -cx 'best rows: 2 1 1' "$out/text")" = 2 ] &&
        grep -qx 'step 1: convert y: float16 -> float32, 48 bytes' "$out/text" && grep -qx 'step 3: host "find_best"' "$out/text"
}
if two_backends "$build/libQnnRef.so" "$build/libQnnRef.so"; then good; else bad two_backends "$(cat "$out/text" "$out/log")"; fi

# 08: an operator on the CPU, X2X, and a module with a pattern for each operator, near what plain C computes.
mobile() {
    "$build/examples/08_mobile_backend" "$@" >"$out/text" 2>"$out/log" &&
        grep -qx 'step 0: host "Embedding"' "$out/text" &&
        grep -qx 'step 1: convert embedding: float16 -> float32, 256 bytes' "$out/text" &&
        grep -q '^step 2: graph "block" of context 0 on ' "$out/text" && grep -q '^largest difference from plain C: 0\.0[01]' "$out/text"
}
if mobile "$build/libQnnRef.so"; then good; else bad mobile "$(cat "$out/text" "$out/log")"; fi
if mobile "$build/libQnnRef.so" debug && [ "$(grep -c ' largest value ' "$out/text")" = 11 ]; then good
else bad mobile_debug "$(cat "$out/text" "$out/log")"; fi
# mistake NAME TEXT: an error, before anything is built
mistake() {
    if "$build/examples/08_mobile_backend" "$build/libQnnRef.so" "$1" >"$out/text" 2>"$out/log"; then bad "mobile_$1" "status 0"
    elif [ ! -s "$out/text" ] && grep -qF -- "$2" "$out/log"; then good
    else bad "mobile_$1" "no '$2' in: $(cat "$out/text" "$out/log")"; fi
}
mistake scale 'tensor "down.weight" (sfixed8): scale is not positive'
mistake twice 'two tensors are named "up"'
mistake unknown 'no pattern for operator 2, Mystery'
mistake unwritten 'no node writes OUTPUT tensor "y"'

# 09: usage, and a model that is not there. With a library: what was chosen, and the outputs.
"$build/examples/09_session" >"$out/text" 2>&1
if [ $? -eq 2 ] && grep -q '^usage: ' "$out/text"; then good; else bad session_usage "no usage line, or another status than 2"; fi
if "$build/examples/09_session" /no/such.onnx >"$out/text" 2>&1; then bad session_fails "status 0 for a model that is not there"
elif grep -q '/no/such.onnx' "$out/text"; then good; else bad session_fails "the file is not named: $(cat "$out/text")"; fi
session() {
    "$build/examples/09_session" "$@" >"$out/text" 2>"$out/log" && grep -q '^<InferenceSession model=.* engine=qnn device=' "$out/text"
}
if "$build/examples/03_compose" "$build/libQnnRef.so" "$out/layer.bin" >"$out/text" 2>&1 &&
    session "$out/layer.bin" qnn.library_path="$build/libQnnRef.so" engine=qnn device=cpu && grep -q '^y: 2 values, mean ' "$out/text"
then good; else bad session_ref "$(cat "$out/text" "$out/log")"; fi

# The output that tools/engines/README.md shows.
ort=build/engines/onnxruntime-1.31.1
sed -n '/^<!-- the output of 09_session -->$/,/^[^ <]/p' tools/engines/README.md | sed -n 's/^    //p' >"$out/shown"
if ls "$ort"/libonnxruntime.so.* >/dev/null 2>&1; then
    "$build/examples/09_session" tests/data/onnx/mlp.onnx device=cpu onnxrt.library_path=$ort >"$out/text" 2>&1
    if [ "$(wc -l <"$out/shown")" -gt 5 ] && cmp -s "$out/shown" "$out/text"; then good
    else bad session_prints_what_the_document_shows "$(diff "$out/shown" "$out/text")"; fi
elif [ "${QNNRT_REQUIRE_ALL:-0}" = 1 ]; then bad session_readme "no ONNX Runtime in $ort: make engine-libs"
else skipped=$((skipped + 1)); fi

if [ -f "$release/libQnnHtp.so" ]; then
    if session tests/data/ctx/qairt2.51/mlp_u8 qnn.npu_path="$release/libQnnHtp.so" &&
        grep -q '^y: 128 values, mean ' "$out/text" && grep -qx 'input     x: float32 \[4, 48\]' "$out/text"; then good
    else bad session_genuine "$(cat "$out/text" "$out/log")"; fi
    if mobile "$release/libQnnHtp.so" && grep -q ' on HTP_QTI_AISW$' "$out/text"; then good
    else bad mobile_genuine "$(cat "$out/text" "$out/log")"; fi
    cpu=$build/qnn/2.47/onnxruntime_qnn/libQnnCpu.so
    if two_backends "$release/libQnnHtp.so" "$cpu" && grep -q '^step 2: .* on CPU_QTI_AISW$' "$out/text"; then good
    else bad two_genuine_backends "$(cat "$out/text" "$out/log")"; fi
    # One system library reads both binaries, although the role "cpu" alone would mean libQnnRef.so.
    if "$build/qnnrt-run" plan "$out/mixed" --system_so "$release/libQnnSystem.so" >"$out/text" 2>"$out/log" &&
        grep -q 'on cpu (CPU)$' "$out/text" &&
        [ "$(sed -n 's/^device    about \([0-9]*\)\.\([0-9]\) KiB;.*/\1\2/p' "$out/text")" -lt 645 ]; then good      # without the CPU's 1.4 KiB
    else bad two_backends_are_planned "$(cat "$out/text" "$out/log")"; fi
    if "$build/examples/01_hello" tests/data/ctx/qairt2.51/mlp_u8 "$release/libQnnHtp.so" >"$out/text" 2>"$out/log" &&
        grep -q '^y (ufixed8, 128 elements): ' "$out/text"; then good
    else bad hello_runs "$(cat "$out/text" "$out/log")"; fi
    # Qualcomm's own language-model runtime made the first text: tests/data/llm/expected.json.
    expected='And the LORD said unto |him, What is the son of Abraham, and the son of Abimelech the so'
    if "$build/examples/02_prefill_decode" "$build/data/llm/w8a16_one" "$build/data/llm/w8a16_four" "$release/libQnnHtp.so" \
        >"$out/text" 2>"$out/log" && grep -qxF "$expected" "$out/text"; then good
    else bad prefill_decode_writes_the_known_text "$(cat "$out/text" "$out/log")"; fi
    if grep -q 'one arena of [0-9]* bytes' "$out/log"; then good; else bad prefill_decode_plans_one_arena "$(cat "$out/log")"; fi
    if restored "$release/libQnnHtp.so" && grep -q '^largest difference: 0\.00' "$out/text"; then good
    else bad cnn_transformer_is_near_the_reference "$(cat "$out/text" "$out/log")"; fi
    whole=$(sed -n "s|^$out/a.bin: \([0-9]*\) bytes, of which graphs share 0$|\1|p" "$out/text")
    shared=$(sed -n "s|^$out/shared.bin: \([0-9]*\) bytes, of which graphs share [1-9][0-9]*$|\1|p" "$out/text")
    if [ "${shared:-0}" -gt 0 ] && [ "$shared" -lt "${whole:-0}" ]; then good
    else bad cnn_transformer_shares_weights "'$shared' bytes, not less than '$whole': $(cat "$out/text")"; fi
    if grep -q '^refused: .*shares its weights with other graphs' "$out/text"; then good
    else bad cnn_transformer_refuses_shared_weights "$(cat "$out/text")"; fi
elif [ "${QNNRT_REQUIRE_ALL:-0}" = 1 ]; then bad genuine "no libQnnHtp.so in $release: make qnn-libs"
else skipped=$((skipped + 10)); fi

finish
