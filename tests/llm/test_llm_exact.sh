#!/bin/sh
# Models of examples/llm/export write the same text, however they are cut, named, kept, batched,
# rewound or restored: the tokens of numpy in float32, those of the first run in codes (tests/llm/llm_exact.c).
#     sh tests/llm/test_llm_exact.sh [BUILD_DIR]
suite=test_llm_exact
. "$(dirname "$0")/../harness/tool.sh"

exact=$build/c99/llm_exact
golden=$tests/golden/llm_tokens.txt
ref=$build/libQnnRef.so

# says_it NAME COUNT SOURCE MODEL REFERENCE OPTION ...: export, then compare; COUNT 80 is quick, 490 is all
says_it() {
    name=$1 count=$2 source=$3 model=$4 reference=$5 quick=
    shift 5
    if [ "$count" = 80 ]; then quick=--quick; fi
    rm -rf "$tmp/made"
    mkdir "$tmp/made"
    if ! "$build/examples/llm/export" "$source" "$tmp/made" --backend_so "$ref" "$@" >"$tmp/out" 2>&1; then
        bad "$name" "$(cat "$tmp/out")"
        return
    fi
    # shellcheck disable=SC2086
    "$exact" $quick "$tmp/made" "$ref" "$golden" "$model" $reference >"$tmp/out" 2>&1
    if [ "$(tail -n 1 "$tmp/out")" = "$count passed, 0 failed" ]; then passed=$((passed + count))
    else bad "$name" "$(tail -n 5 "$tmp/out")"; fi
}

trained=$data/llm/model codes=$tmp/codes
says_it hub_f32_1 80 "$trained" trained '' --type f32 --shards 1
says_it hub_w8a16_1 80 "$trained" trained "$codes" --shards 1
says_it hub_w8a16_4 80 "$trained" trained "$codes" --shards 4
says_it executorch_w8a16_2 80 "$trained" trained "$codes" --naming executorch --shards 2
# The other numbers of shards: make test-all.
if [ -n "${QNNRT_TEST_ALL-}" ]; then
    says_it hub_f32_1_all 490 "$trained" trained '' --type f32 --shards 1
    says_it hub_w8a16_2 80 "$trained" trained "$codes" --shards 2
    says_it hub_w8a16_4_all 490 "$trained" trained "$codes" --shards 4
    says_it executorch_w8a16_1 80 "$trained" trained "$codes" --naming executorch --shards 1
    says_it executorch_w8a16_2_all 490 "$trained" trained "$codes" --naming executorch --shards 2
    says_it executorch_w8a16_4 80 "$trained" trained "$codes" --naming executorch --shards 4
    for shards in 2 4; do says_it hub_f32_$shards 80 "$trained" trained '' --type f32 --shards $shards; done
    for shards in 1 2 4; do
        says_it executorch_f32_$shards 80 "$trained" trained '' --type f32 --naming executorch --shards $shards
    done
fi

# Sixteen layers in eight shards, with a tensor for each head, and other lengths of graphs.
mkdir "$tmp/deep"
check deep_is_made "it fails" "$build/examples/llm/random_model" "$tmp/deep" 16 7
says_it deep_8 80 "$tmp/deep" deep '' --type f32 --naming executorch --shards 8
says_it other_lengths 80 "$trained" trained '' --type f32 --prefill 13 --decode 2 --context_lengths 128 --shards 3

# The tokens of another model show that the comparison can fail.
if "$exact" "$tmp/made" "$ref" "$golden" tied >"$tmp/out" 2>&1; then bad comparison_can_fail "$(tail -n 2 "$tmp/out")"
elif grep -q '^  wrong: in chunks' "$tmp/out"; then good
else bad comparison_can_fail "$(tail -n 2 "$tmp/out")"; fi
finish
