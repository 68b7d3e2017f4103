#!/bin/sh
# A language model whose table of embeddings is on the host: examples/05_make_model --host_embedding, qnnrt-llm and
# qnnrt-run, on libQnnRef.so and on Qualcomm's library.
#     sh tests/cli/test_llm_table.sh [BUILD_DIR [RELEASE_DIR]]
suite=test_llm_table
. "$(dirname "$0")/../harness/tool.sh"

make_model=$build/examples/05_make_model
ref=$build/libQnnRef.so
prompt='And the LORD said unto '
expected=$(sed -n 's/.*"prompt": "And the LORD said unto ", "text": "\([^"]*\)".*/\1/p' "$data/llm/expected.json")

llm() {
    tool=$build/qnnrt-llm
    run "$@"
    tool=$build/qnnrt-run
}
# wrote NAME: standard output is the expected text
wrote() {
    is "$1" 0
    check "$1" "'$(cat "$tmp/out")', not '$expected'" test "$(cat "$tmp/out")" = "$expected"
}
# folder NAME LIBRARY: make the model
folder() {
    mkdir "$tmp/$1"
    check "make_$1" "$1 was not made" "$make_model" "$data/llm/model" "$tmp/$1" "$2" --host_embedding
}

# Without --host_embedding, qnnrt-llm knows the roles, too.
mkdir "$tmp/plain"
check make_plain "plain was not made" "$make_model" "$data/llm/model" "$tmp/plain" "$ref"
llm --ctx_dir "$tmp/plain" --backend_so "$ref" --prompt "$prompt" --max_gen 64
wrote plain
lacks plain_has_theta err 'no file gives the RoPE theta'
llm "$tmp/plain" --backend_so "$ref" --prompt "$prompt" --max_gen 64
wrote bare_folder

folder model "$ref"
check table "embeddings.bin is not float32 [256, 128]" test "$(wc -c <"$tmp/model/embeddings.bin")" -eq 131072
check three_contexts "the table is a context, too" test ! -e "$tmp/model/forward_3.bin"

llm --ctx_dir "$tmp/model" --backend_so "$ref" --prompt "$prompt" --max_gen 64 --stats "$tmp/stats"
wrote text
llm --ctx_dir "$tmp/model" --backend_so "$ref" --prompt "$prompt" --max_gen 64 --kv shift_pointer
wrote text_of_shift_pointer
llm --ctx_dir "$tmp/model" --describe --backend_so "$ref"
is describe 0
says describe out 'host "embedding"'
says describe out 'constant'

# An engine on qnnrt_llm.h: sequences, drafts, states.
"$build/examples/server/server" --check "$tmp/model" "$ref" >"$tmp/out" 2>"$tmp/err"
status=$?
is host 0
says host out 'rewound, it is written again'

# qnnrt-run does not have the function, but reads, plans and draws the program.
run inspect "$tmp/model" --backend_so "$ref"
is inspect 0
says inspect out 'host "embedding"'
run plan "$tmp/model" --backend_so "$ref"
is plan 0
run --ctx_dir "$tmp/model" --backend_so "$ref"
is run_without_the_function 1
says run_without_the_function err '"embedding"'

# Damaged folders: nothing opens half.
cp -r "$tmp/model" "$tmp/short"
head -c 131071 "$tmp/model/embeddings.bin" >"$tmp/short/embeddings.bin"
llm --ctx_dir "$tmp/short" --backend_so "$ref" --prompt "$prompt"
is short_table 1
says short_table err 'embeddings'
rm "$tmp/short/embeddings.bin"
llm --ctx_dir "$tmp/short" --backend_so "$ref" --prompt "$prompt"
is missing_table 1
says missing_table err 'embeddings.bin'
sed 's/\[256, 128\]/[255, 128]/g' "$tmp/model/qnnrt.json" >"$tmp/short/qnnrt.json"
cp "$tmp/model/embeddings.bin" "$tmp/short/"
echo '65 255' >"$tmp/tokens"
llm --ctx_dir "$tmp/short" --backend_so "$ref" --tokens "$tmp/tokens"
is token_outside_the_table 1
says token_outside_the_table err '"input_ids"[1] is 255'
llm --ctx_dir "$tmp/short" --backend_so "$ref" --prompt "$prompt" --max_gen 64
wrote text_of_a_smaller_table
sed 's/"host": "embedding"/"host": "lookup"/' "$tmp/model/qnnrt.json" >"$tmp/short/qnnrt.json"
llm --ctx_dir "$tmp/short" --backend_so "$ref" --prompt "$prompt"
is unknown_function 1
says unknown_function err '"lookup"'

# A program of graphs alone, whose two contexts are not shards of one another.
mkdir "$tmp/prompt" "$tmp/token" "$tmp/apart"
check export_prompt 'prompt is not exported' "$build/examples/llm/export" "$data/llm/model" "$tmp/prompt" --backend_so "$ref" --decode 0
check export_token 'token is not exported' "$build/examples/llm/export" "$data/llm/model" "$tmp/token" --backend_so "$ref" --prefill 0
mv "$tmp/prompt/forward_0.bin" "$tmp/apart/prompt.bin"
mv "$tmp/token/forward_0.bin" "$tmp/apart/token.bin"
cat >"$tmp/apart/qnnrt.json" <<'END'
{ "program": { "version": 1, "backends": ["npu"],
  "contexts": [{ "file": "prompt.bin", "backend": "npu" }, { "file": "token.bin", "backend": "npu" }],
  "pipelines": [{ "name": "prompt", "steps": [{ "context": 0, "graph": "prompt_ar32_cl128_1_of_1" }] },
                { "name": "token", "steps": [{ "context": 1, "graph": "token_ar1_cl128_1_of_1" }] }] },
  "llm": { "rope": { "theta": 10000 } } }
END
llm --ctx_dir "$tmp/apart" --backend_so "$ref" --prompt "$prompt" --max_gen 64
wrote text_of_two_files

if [ -f "$release/libQnnHtp.so" ]; then
    # A folder of the reference backend on HTP: no sentence contradicts another.
    mkdir "$tmp/foreign"
    cp "$tmp/plain/forward_0.bin" "$tmp/foreign/model.bin"
    llm --ctx_dir "$tmp/foreign" --backend_so "$release/libQnnHtp.so" --prompt "$prompt"
    is foreign 1
    says foreign err 'can be opened; the last one: model.bin is no context binary of this library'
    says foreign err 'hint: Open it with libQnnRef.so, or compile the model for this library.'
    lacks foreign err 'of another kind'
    folder htp "$release/libQnnHtp.so"
    llm --ctx_dir "$tmp/htp" --backend_so "$release/libQnnHtp.so" --prompt "$prompt" --max_gen 64
    wrote htp
    llm --ctx_dir "$tmp/htp" --backend_so "$release/libQnnHtp.so" --prompt "$prompt" --max_gen 64 --resident one
    is htp_resident 0
else
    skip htp "no libQnnHtp.so in $release: make qnn-libs"
fi
finish
