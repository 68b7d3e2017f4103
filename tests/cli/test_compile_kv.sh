#!/bin/sh
# qnnrt-run compile --kv_rows: the sample model as transformers exports it, with caches that index_copy updates.
#     sh tests/cli/test_compile_kv.sh [BUILD_DIR]
suite=test_compile_kv
. "$(dirname "$0")/../harness/tool.sh"
ref=$build/libQnnRef.so
model=$data/llm/model
out=$tmp/o
g=$tmp/g
prompt='And the LORD said unto '
# What torch writes, see tests/exports/export_llama.py.
expected=$(sed -n '/"prompt": "And the LORD said unto "/{n;s/.*"text": "\(.*\)"$/\1/p;}' "$data/llm/torch.json" | head -n 1)

check expected "no text of 48 bytes in torch.json: '$expected'" test "${#expected}" -eq 48
mkdir "$g"
cp "$data/ir/trained_prefill.json" "$g/prefill.json"
cp "$data/ir/trained_decode.json" "$g/decode.json"

# kv OPTION ...: compile both graphs
kv() {
    rm -rf "$out"
    run compile "$g/prefill.json" "$g/decode.json" --weights "$model" --rope_base 10000 --rope_plain --kv_rows \
        --backend_so "$ref" --output_dir "$out" "$@"
}

# makes NAME OPTION ...: the folder writes torch's text
makes() {
    name=$1
    shift
    kv "$@"
    is "$name" 0
    "$build/qnnrt-llm" --ctx_dir "$out" --backend_so "$ref" --prompt "$prompt" --max_gen 48 >"$tmp/text" 2>"$tmp/err"
    check "$name" "wrote '$(cat "$tmp/text")': $(head -n 3 "$tmp/err")" test "$(cat "$tmp/text")" = "$expected"
}

# refuses NAME STATUS TEXT OPTION ...: nothing is written
refuses() {
    name=$1 wanted=$2 text=$3
    shift 3
    kv "$@"
    is "$name" "$wanted"
    says "$name" err "$text"
    check "$name" "left $out" test ! -e "$out"
}

# change NAME FROM TO: a graph in which FROM, a regular expression, became TO; it is an error if nothing changed
change() {
    sed "s/$2/$3/" "$data/ir/trained_$1.json" >"$g/$1.json"
    check "change_$1" "no '$2'" sh -c '! cmp -s "$1" "$2"' - "$data/ir/trained_$1.json" "$g/$1.json"
}
manifest() { check "$1" "no '$2' in $(grep '"llm"' "$out/qnnrt.json")" grep -qF -- "$2" "$out/qnnrt.json"; }

# ---- what it writes ----
makes plain
says plain out "prefill.json: 4 layers, 32 tokens per call, 96 past rows"
says plain out "decode.json: 4 layers, 1 token per call, 127 past rows"
says plain out 'graph "decode", '
check plain "an end token, and no config.json" sh -c '! grep -q eos "$1"' - "$out/qnnrt.json"
check plain "no past_key_3_in in the metadata" grep -q past_key_3_in "$out/prefill_json.json"
check plain "$(ls "$out")" test "$(ls "$out" | wc -l)" -eq 3
makes contexts --shards 2
check contexts "$(ls "$out")" test -s "$out/prefill_2_of_2.bin"
makes verify --verify 1
makes mixed --backends npu,host --pin embedding=host --verify 1
says mixed out '  step 0   host   1 nodes, "embedding" to "embedding"'
check mixed "no host.json" test -s "$out/host.json"

# ---- tokens that end a text ----
# The text stops before the first end token: 44 is the comma.
kv --eos 7,44
is eos 0
manifest eos '"eos": [7, 44]'
"$build/qnnrt-llm" --ctx_dir "$out" --backend_so "$ref" --prompt "$prompt" --max_gen 48 >"$tmp/text" 2>"$tmp/err"
check eos_ends "wrote '$(cat "$tmp/text")': $(head -n 3 "$tmp/err")" test "$(cat "$tmp/text")" = "${expected%%,*}"
for value in '' x -1 1,, 2147483648 1.5; do refuses "eos_$value" 2 '--eos' --eos "$value"; done
refuses eos_many 2 '--eos' --eos "$(seq 1 65 | paste -sd, -)"
run compile "$g/prefill.json" --weights "$model" --eos 1 --backend_so "$ref" --output_dir "$out"
is eos_alone 2
says eos_alone err '--eos is for language models, compiled with --kv_rows'
cp "$model/config.json" "$g/"
makes config
manifest config '"eos": [0]'
kv --eos 5
manifest eos_before_config '"eos": [5]'
sed 's/"eos_token_id": 0/"eos_token_id": "end"/' "$model/config.json" >"$g/config.json"
refuses config_word 1 'config.json: "eos_token_id"'
head -c 100 "$model/config.json" >"$g/config.json"
refuses config_cut 1 'config.json: '
rm "$g/config.json"
mkdir "$g/config.json"
refuses config_folder 1 'cannot read'
rmdir "$g/config.json"

# ---- graphs that are refused ----
# Attention of the last layer reads the cache of the first one, as it was before.
change decode '"inputs":\[{"name":"index_copy__6","shape":\(\[1,2,128,32\]\),"dtype":"float32","producer_node":"index_copy__6"' \
    '"inputs":[{"name":"caches_0","shape":\1,"dtype":"float32","producer_node":"caches_0"'
refuses read_elsewhere 1 'decode.json: node "index_copy_" (index_copy.default) is not the only reader of cache "caches_0"'
change decode '{"name":"index_copy__7","shape":\[1,2,128,32\],"dtype":"float32"}\],"weights"' \
    '{"name":"index_copy__6","shape":[1,2,128,32],"dtype":"float32"}],"weights"'
refuses no_output 1 'writes a cache that is no output of the graph: "caches_7"'
cp "$data/ir/tiny_cnn.json" "$g/decode.json"
refuses no_caches 1 'decode.json has no caches of keys and values'
cp "$data/ir/tiny_decode.json" "$g/decode.json"
refuses other_context 1 'decode.json has 4 caches and context'

finish
