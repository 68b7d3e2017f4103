#!/bin/sh
# qnnrt-run compile MODEL.gguf: the model of tests/data/llm/model as GGUF, its tokenizer, and what is refused.
#     sh tests/cli/test_gguf_tool.sh [BUILD_DIR [RELEASE_DIR]]
suite=test_gguf_tool
. "$(dirname "$0")/../harness/tool.sh"
texts
ref=$build/libQnnRef.so
python=${PYTHON:-python3}
if ! command -v "$python" >/dev/null 2>&1; then
    skip gguf "no python3, which writes the files"
    finish
fi

# gguf NAME TYPE [WORDS]: write $tmp/NAME.gguf
gguf() { "$python" "$tests/cli/gguf_model.py" "$data/llm/model" "$tmp/$1.gguf" "$2" ${3:+"$3"} || bad "$1" "no file"; }
# makes NAME FILE LIBRARY OPTION ...: compile the file, and let it write $length bytes, those of the model as safetensors
makes() {
    name=$1 file=$2
    shift 2
    makes_text "$name" "$tmp/$file.gguf" "$@"
}

for type in f32 f16 q8_0 q4_0; do gguf $type $type; done
makes f32 f32 "$ref" --verify 1
holds f32 "$tmp/said" 'LlamaForCausalLM: 4 layers of width 128, 4 heads, 2 of them with keys and values, 256 tokens'
holds f32 "$out/qnnrt.json" '"rope": {"theta": 10000.0, "pairs": "half"}'
holds f32 "$out/qnnrt.json" '"eos": [0]'
check f32 "no file was to be called config.json" test ! -e "$out/config.json"
holds words "$out/tokenizer.json" '"type": "ByteLevel"'
holds words "$out/tokenizer.json" '"vocab": {"Ā": 0, '
holds words "$out/tokenizer.json" '"merges": []'
holds words "$out/tokenizer_config.json" '"chat_template": "{{ messages }}'
makes f16 f16 "$ref" --verify 1 --shards 2
makes q8_0 q8_0 "$ref" --verify 1
makes q8_0_host q8_0 "$ref" --embedding host
check q8_0_host "$(ls -l "$out")" test "$(wc -c <"$out/embeddings.raw")" -eq 65536
length=5                                         # then two words are nearly equal
makes q8_0_weight_only q8_0 "$ref" --fp16 --weight_bits 8 --keep_weight output.weight --verify 1
holds q8_0_weight_only "$tmp/said" 'quantized 28 of 29 weights'
# 4 bits write another text from byte 48 on, in stock llama.cpp as here.
length=48
makes q4_0 q4_0 "$ref" --verify 1
makes q4_0_blocks q4_0 "$ref" --fp16 --weight_bits 4 --weight_block 32 --verify 1
holds q4_0_blocks "$tmp/said" 'quantized 29 of 29 weights: 1,638,400 bytes became 512,000, no value changed'
makes mixed q4_0 "$ref" --backends npu,cpu,host --backend_so "npu=$ref" --backend_so "cpu=$ref" --embedding host
length=64

# The second time the files come from the cache, and so does a file with the same content; another tokenizer is written.
makes cached f16 "$ref" --cache "$tmp/cache"
gguf other f16 qwen2
makes cached_again other "$ref" --cache "$tmp/cache"
holds cached_again "$tmp/said" 'the files are in entry'
holds cached_again "$out/tokenizer.json" "(?i:'s|'t|'re"

gguf spm f16 spm
rm -rf "$out"
run compile "$tmp/spm.gguf" --output_dir "$out" --backend_so "$ref" --prefill 0
is spm 0
holds spm "$out/tokenizer.json" '"byte_fallback": true'
holds spm "$out/tokenizer.json" '"SpecialToken": {"id": "<s>", "type_id": 0}'
holds spm "$out/qnnrt.json" '"bos": 1'
holds spm "$out/qnnrt.json" '"eos": [2]'
# without WORDS TEXT: the model is compiled, and this says why it has no tokenizer
without() {
    gguf "$1" f16 "$1"
    run compile "$tmp/$1.gguf" --output_dir "$tmp/none" --backend_so "$ref" --prefill 0
    is "$1" 0
    says "$1" out "no tokenizer.json is written: $2"
    check "$1" "a tokenizer was written" test ! -e "$tmp/none/tokenizer.json"
    rm -rf "$tmp/none"
}
without viking '"tokenizer.ggml.pre" is "viking", known are gpt-2, qwen2, llama-bpe'
without spm-long 'token 4 has 257 bytes, expected at most 256'
without spm-nan 'the score of token 7 is not a number'

# chat.py finds the tokenizer beside the model; a tokenizer of bytes is in place of the package.
cat >"$tmp/tokenizers.py" <<'end'
import json
class Tokenizer:
    def from_file(path):
        assert json.load(open(path, encoding="utf-8"))["model"]["type"] == "BPE"
        return Tokenizer()
    def encode(self, text, add_special_tokens):
        encoding = lambda: None
        encoding.ids = list(text.encode())
        return encoding
    def decode(self, tokens):
        return bytes(tokens).decode(errors="replace")
end
makes chat q8_0 "$ref"
echo "$prompt" | PYTHONPATH="$tmp" PYTHONDONTWRITEBYTECODE=1 "$python" "$tests/../examples/llm/chat.py" -- \
    "$build/qnnrt-llm" --ctx_dir "$out" --backend_so "$ref" --max_gen 20 >"$tmp/out" 2>"$tmp/err"
check chat "$(cat "$tmp/out" "$tmp/err")" test "$(cat "$tmp/out")" = "$(printf %.20s "$expected")"

# ---- what is refused ----
# refuses NAME STATUS TEXT FILE OPTION ...: nothing is written
refuses() {
    name=$1 wanted=$2 text=$3 file=$4
    shift 4
    rm -rf "$out"
    run compile "$tmp/$file.gguf" --output_dir "$out" --backend_so "$ref" "$@"
    is "$name" "$wanted"
    says "$name" err "$text"
    check "$name" "left $out" test ! -e "$out"
}
refuses two 2 'compile takes one model, got 2' f16 "$tmp/f32.gguf"
refuses weights 2 '--weights is not for folders and .gguf files' f16 --weights "$tmp/f32.gguf"
refuses none 1 'nowhere.gguf: No such file' nowhere
head -c 900000 "$tmp/f16.gguf" >"$tmp/cut.gguf"
refuses cut 1 'the file has' cut
hinted cut 'Download or copy the file again: it is cut short.'
head -c 90 "$tmp/f16.gguf" >"$tmp/head.gguf"
refuses head 1 'goes beyond the end of the file, byte 90' head
# changed NAME TEXT SED: a file with other bytes of the same number
changed() {
    sed "$3" "$tmp/f16.gguf" >"$tmp/$1.gguf"
    refuses "$1" 1 "$2" "$1"
}
changed architecture 'the architecture is "mamba"; known are llama, qwen2 and qwen3' '1s/\(general.architecture.\{12\}\)llama/\1mamba/'
hinted architecture 'Compile the folder of the checkpoint'
changed no_key '"llama.block_count" is missing' '1s/llama.block_count/llama.block_couna/'
changed type '"llama.attention.head_count_kv": expected' '1s/\(llama.attention.head_count_kv\)\x04/\1\x06/'
changed weight '"blk.3.ffn_up.weight" [384,128] is missing' 's/blk.3.ffn_up.weight/blk.3.ffn_ux.weight/'
cp "$tmp/f16.gguf" "$tmp/old.gguf"
printf '\001' | dd of="$tmp/old.gguf" bs=1 seek=4 conv=notrunc 2>"$tmp/err"
refuses old 1 'GGUF of version 1' old
hinted old convert_hf_to_gguf.py

if [ -f "$release/libQnnHtp.so" ]; then
    makes htp f16 "$release/libQnnHtp.so" --soc_model 57
    length=48
    makes htp_blocks q4_0 "$release/libQnnHtp.so" --soc_model 57 --weight_bits 4 --weight_block 32
    holds htp_blocks "$tmp/said" 'quantized 29 of 29 weights: 1,638,400 bytes became 512,000, no value changed'
else skip htp "no libQnnHtp.so in $release: make qnn-libs"
fi
finish
