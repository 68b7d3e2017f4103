#!/bin/sh
# The output of the engine of examples/host on the reference backend and on the genuine one.
#     sh tests/test_llm_host.sh [BUILD_DIR [RELEASE_DIR]]
# Without the release folder its checks are skipped, or failed with QNNRT_REQUIRE_ALL=1.
#
# 2.608475 is the perplexity of its text by a plain float64 Llama in numpy:
#     python3 tests/reference_llm.py --perplexity tests/data/llm/model \
#         "The voice of him that crieth in the wilderness, Prepare ye the way of the LORD, make straight"
suite=test_llm_host
. "$(dirname "$0")/tool.sh"

tool=$build/examples/host/host
export=$build/examples/llm/export
ref=$build/libQnnRef.so
model=$data/llm/model
perplexity=2.608475

# made FOLDER MODEL_DIR OPTION ...: exported for the reference backend
made() {
    folder=$1 from=$2
    shift 2
    mkdir "$tmp/$folder"
    check "made_$folder" "it is not exported" "$export" "$from" "$tmp/$folder" --backend_so "$ref" "$@"
}

# near NAME SHARE: the perplexity is right within this share
near() {
    found=$(sed -n 's/^perplexity of 93 bytes: \([0-9.]*\)$/\1/p' "$tmp/out")
    if awk -v a="$found" -v b=$perplexity -v share="$2" \
        'BEGIN { d = a / b - 1; exit !(a != "" && d <= share && -d <= share) }'; then good
    else bad "$1" "a perplexity of '$found', not $perplexity within $2 of it"; fi
}

# drafts NAME LABEL: some were accepted, some were refused, and each accepted one saved a step
drafts() {
    line=$(sed -n "s/^speculative decoding, drafts $2: \([0-9]*\) of \([0-9]*\) accepted, \([0-9]*\) tokens in \([0-9]*\) steps\$/\1 \2 \3 \4/p" "$tmp/out")
    if echo "$line" | awk 'NF == 4 && $1 > 0 && $1 < $2 && $1 + $4 == $3 { ok = 1 } END { exit !ok }'; then good
    else bad "$1" "accepted, drafted, tokens, steps: '$line'"; fi
}

# keeps NAME COUNT: the engine made this number of checks, and all passed
keeps() {
    is "$1" 0
    lacks "$1" out '  NO: '
    count=$(grep -c '^  yes: ' "$tmp/out")
    if [ "$count" -eq "$2" ]; then good; else bad "$1" "$count promises, not $2: $(cat "$tmp/out" "$tmp/err")"; fi
}

# The text of expected.json, which Qualcomm's own runtime writes too.
text=$(sed -n 's/.*"prompt": "And the LORD said unto ", "text": "\(.\{48\}\).*/\1/p' "$data/llm/expected.json" | head -n 1)

# engine NAME SHARE FOLDER LIBRARY: runs as it should
engine() {
    name=$1 share=$2
    shift 2
    run "$@"
    keeps "$name" $((5 + $#))
    near "$name" "$share"
    drafts "$name" 'looked up'
    says "$name" out "greedy: And the LORD said unto $text"
}

# ---- the reference backend --------------------------------------------------------------------------

if [ ${#text} -eq 48 ]; then good; else bad expected "no text of 48 bytes in expected.json: '$text'"; fi
mkdir "$tmp/three" "$tmp/turned"
cp "$model/model.safetensors" "$tmp/three/"
sed 's/"num_hidden_layers": 4/"num_hidden_layers": 3/' "$model/config.json" >"$tmp/three/config.json"
made f32 "$model" --type f32
made draft "$tmp/three" --type f32
made w8a16 "$model" --type w8a16 --shards 4
made decode "$model" --type f32 --prefill 0

engine ref_f32 0.0001 "$tmp/f32" "$ref"
engine ref_w8a16_in_four_shards 0.01 "$tmp/w8a16" "$ref"
if [ -n "${QNNRT_TEST_ALL-}" ]; then         # the slow ones: make test-all
    made heads "$model" --type w8a16 --shards 2 --naming executorch
    made prefill "$model" --type f32 --decode 0
    engine ref_a_tensor_per_head 0.01 "$tmp/heads" "$ref"
    engine ref_without_decode_graph 0.0001 "$tmp/prefill" "$ref"
fi
engine ref_draft_model 0.0001 "$tmp/f32" "$ref" "$tmp/draft"
drafts ref_draft_model 'of a model'

# A graph of one token neither checks nor needs drafts.
run "$tmp/decode" "$ref"
keeps ref_without_prefill_graph 7
near ref_without_prefill_graph 0.0001
says ref_without_prefill_graph out 'looked up: 0 of 0 accepted, 47 tokens in 47 steps'

# These checks can fail: with another theta fewer tokens are predicted.
cp "$tmp/f32/forward_0.bin" "$tmp/turned/"
echo '{ "llm": { "rope": { "theta": 300 } } }' >"$tmp/turned/qnnrt.json"
run "$tmp/turned" "$ref"
is ref_another_theta 0
found=$(sed -n 's/^perplexity of 93 bytes: \([0-9.]*\)$/\1/p' "$tmp/out")
check ref_another_theta "a perplexity of '$found', as with the right one" \
    awk -v a="$found" -v b=$perplexity 'BEGIN { exit !(a > 1.02 * b) }'

# ---- errors name their cause ------------------------------------------------------------------------

run
is usage 2
says usage err 'usage: host FOLDER'
run "$tmp/nowhere" "$ref"
is no_folder 1
says no_folder err nowhere
made short "$model" --type f32 --context 64
run "$tmp/short" "$ref"
is short_context 1
says short_context err 'the model remembers too few tokens'
run "$tmp/f32" "$ref" "$tmp/nowhere"
is no_draft 1
says no_draft err nowhere

# ---- the genuine backend ----------------------------------------------------------------------------

if [ -f "$release/libQnnHtp.so" ]; then
    engine htp_w8a16 0.01 "$data/llm/w8a16_one" "$release/libQnnHtp.so"
else
    skip htp_w8a16 "no libQnnHtp.so in $release: make qnn-libs"
fi
finish
