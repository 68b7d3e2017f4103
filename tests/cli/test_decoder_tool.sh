#!/bin/sh
# qnnrt-run compile MODEL_DIR: the model of tests/data/llm/model from its config.json alone, and what is refused.
#     sh tests/cli/test_decoder_tool.sh [BUILD_DIR [RELEASE_DIR]]
suite=test_decoder_tool
. "$(dirname "$0")/../harness/tool.sh"
texts
ref=$build/libQnnRef.so
model=$data/llm/model

# makes NAME LIBRARY OPTION ...: compile the model, and let it write $length bytes
makes() {
    name=$1
    shift
    makes_text "$name" "$model" "$@"
}

makes one "$ref" --verify 1
holds one "$tmp/said" 'LlamaForCausalLM: 4 layers of width 128, 4 heads, 2 of them with keys and values, 256 tokens'
holds one "$tmp/said" 'graph "token_ar1_cl128_1_of_1", 12 inputs, 9 outputs'
holds one "$out/qnnrt.json" '{"context": 0, "graph": "prompt_ar32_cl128_1_of_1"}'
holds one "$out/qnnrt.json" '"rope": {"theta": 10000.0, "pairs": "half"}'
holds one "$out/qnnrt.json" '"eos": [0]'
holds one "$out/qnnrt.json" '{"step": 0, "input": "input_ids", "low": 0, "high": 255}'
check one "$(ls "$out")" test "$(ls "$out" | wc -l)" -eq 3
# The folder is written again over itself; another pipeline takes other lengths.
run compile "$model" --output_dir "$out" --backend_so "$ref" --prefill 5 --context_lengths 100
is again 0
holds again "$out/qnnrt.json" '"graph": "prompt_ar5_cl100_1_of_1"'
for shards in 2 3 4; do makes "shards_$shards" "$ref" --shards $shards --verify 1; done
holds shards "$out/qnnrt.json" '{"context": 3, "graph": "token_ar1_cl128_4_of_4"}'
check shards "not one binary for each" test -e "$out/model_4_of_4.bin"
makes host "$ref" --embedding host --shards 2 --verify 1
holds host "$out/qnnrt.json" '"host": "embedding"'
check host "$(ls -l "$out")" test "$(wc -c <"$out/embeddings.raw")" -eq 131072
holds host "$tmp/said" 'no graph reads 1 of the 39 weights'
makes decode_alone "$ref" --prefill 0 --embedding host
makes prefill_alone "$ref" --prefill 7 --decode 0
# Several contexts: short texts run in the first ones, and the text stays the same.
makes contexts "$ref" --context_lengths 48,128,64 --shards 2 --verify 1
holds contexts "$out/qnnrt.json" '"graph": "token_ar1_cl48_2_of_2"'
holds contexts "$out/qnnrt.json" '"graph": "prompt_ar32_cl128_1_of_2"'
makes contexts_host "$ref" --context_lengths 64,128 --embedding host
# The last hidden state beside the logits; room for adapters, which are 0.
makes both "$ref" --outputs both --shards 2 --verify 1
makes lora "$ref" --lora 4:q_proj,down_proj --shards 2
run inspect "$out/model_2_of_2.bin" --backend_so "$ref"
is lora_inspect 0
holds lora_inspect "$tmp/out" 'model.layers.3.mlp.down_proj.lora_B.weight'
lacks lora_inspect out 'v_proj.lora_A'

# ---- several backends: the table of embeddings, and what else is pinned, is on the host ----
refs="--backends npu,cpu,host --backend_so npu=$ref --backend_so cpu=$ref"
# mixed NAME OPTION ...: compile for several backends, compare with the evaluator, and let it write
mixed() {
    name=$1
    shift
    # shellcheck disable=SC2086
    makes "$name" "$ref" $refs "$@" --verify 1
}
# makes() names one library: qnnrt-llm takes it for all roles
mixed embedded --embedding host
holds embedded "$tmp/said" '  step 0   host   1 nodes, "embedding" to "embedding"'
holds embedded "$out/qnnrt.json" '"rope": {"theta": 10000.0, "pairs": "half"}'
check embedded_table "$(ls -l "$out")" test "$(wc -c <"$out/model_host.raw")" -eq 131072
check embedded_steps "$(ls "$out")" test "$(ls "$out" | wc -l)" -eq 4
mixed embedded_weight_only --embedding host --fp16 --weight_bits 8
holds embedded_weight_only "$tmp/said" 'quantized 29 of 29 weights on npu: 1,638,400 bytes became '
mixed attention --pin scaled_dot_product_attention_35=host --pin linear_41=npu --pin embedding=npu
holds attention "$tmp/said" '  step 1   host   1 nodes, "scaled_dot_product_attention_35"'
# Shards of several backends are cut between layers, too.
mixed mixed_shards --embedding host --shards 2
check mixed_shards "$(ls "$out")" test -e "$out/model_npu_1.bin"
check mixed_shards_cut "$(cat "$out/qnnrt.json")" python3 -c 'import json, sys
edges = json.load(open(sys.argv[1]))["program"]["pipelines"][0]["edges"]
sys.exit(not 1 < len(edges) < 6)' "$out/qnnrt.json"
mixed head --pin logits=host --pin cat_30=cpu --prefill 5

# ---- what is refused ----
# refuses NAME STATUS TEXT FOLDER OPTION ...: nothing is written
refuses() {
    name=$1 wanted=$2 text=$3 folder=$4
    shift 4
    rm -rf "$out"
    run compile "$folder" --output_dir "$out" --backend_so "$ref" "$@"
    is "$name" "$wanted"
    says "$name" err "$text"
    check "$name" "left $out" test ! -e "$out"
}
mkdir "$tmp/empty" "$tmp/m"
refuses no_config 1 'empty/config.json: No such file' "$tmp/empty"
hinted no_config 'config.json and model.safetensors'
refuses two 2 'compile takes one model, got 2' "$model" "$model"
refuses graph_option 2 '--rope_positions is not for folders' "$model" --positions 2
hinted graph_option 'Leave it out'
refuses weights 2 '--weights is not for folders' "$model" --weights "$model"
refuses eos 2 '--eos is not for folders' "$model" --eos 3
refuses block 2 '--weight_block needs weights of 4 bits' "$model" --weight_bits 8 --weight_block 16
refuses block_alone 2 '--weight_block needs weights of 4 bits' "$model" --weight_block 32
refuses keep 2 '--keep_weight needs quantized weights' "$model" --keep_weight lm_head.weight
refuses no_ranges 2 '--activation_bits needs ranges' "$model" --activation_bits 8
refuses encodings 2 '--encodings is not for folders' "$model" --encodings "$model/config.json"
refuses no_graph 2 '--prefill 0 and --decode 0 leave no graph' "$model" --prefill 0 --decode 0
refuses folder_option 2 '--context_lengths is for language models' "$data/ir/torch_cnn.json" --context 2
refuses shards_5 1 'a model of 4 layers cannot be cut into 5 parts' "$model" --shards 5
refuses contexts_twice 2 '--context_lengths takes up to 8 different numbers' "$model" --context_lengths 64,64
refuses contexts_word 2 '--context_lengths takes up to 8 different numbers' "$model" --context_lengths 64,
refuses contexts_room 1 'a graph of 32 tokens needs a context of more than that, got 20' "$model" --context_lengths 20,64
refuses outputs 2 '--outputs takes logits, hidden or both' "$model" --outputs all
refuses lora_rank 2 '--lora takes a rank' "$model" --lora 0:q_proj
refuses lora_empty 2 '--lora takes a rank' "$model" --lora 4:
refuses lora_name 1 'the model has no projection "qkv_proj"' "$model" --lora 4:v_proj,qkv_proj
hinted lora_name 'Name q_proj, k_proj'
refuses lora_verify 2 '--verify does not know the adapters of --lora' "$model" --lora 4 --verify 1
refuses lora_folder 2 '--lora is for language models' "$data/ir/torch_cnn.json" --lora 4
refuses no_room 1 'a graph of 32 tokens needs a context of more than that, got 32' "$model" --context_lengths 32
refuses long 1 'a context of 129 is more than "max_position_embeddings", 128' "$model" --context_lengths 129
refuses no_host 2 '--embedding host needs the host, which is not one of the --backends' "$model" --backends npu --embedding host
refuses embedding 2 '--embedding takes graph or host' "$model" --embedding file
# Former names of options are read, and shown nowhere.
makes old_names "$ref" --contexts 2 --context 64,128
holds old_names "$out/qnnrt.json" '"graph": "token_ar1_cl64_2_of_2"'
for page in "compile --help" --man "--completion bash" "--completion zsh" "--completion fish"; do
    # shellcheck disable=SC2086
    run $page
    check "old_names_in $page" "$(cat "$tmp/out")" sh -c '! grep -E -e "-(l |[\\]-|-)(context|contexts|positions)([^a-z_]|$)" "$1"' - "$tmp/out"
done
# config NAME TEXT SED: config.json, changed
config() {
    sed "$3" "$model/config.json" >"$tmp/m/config.json"
    refuses "$1" 1 "$2" "$tmp/m"
}
config no_weights 'safetensors' ''
cp "$model/model.safetensors" "$tmp/m/"
config architecture 'the architecture is "mamba"; known are LlamaForCausalLM, MistralForCausalLM' 's/"llama"/"mamba"/'
config huge '"num_hidden_layers": expected a whole number from 0 to 1024' 's/"num_hidden_layers": 4/"num_hidden_layers": 4000000000/'
config more_layers '"model.layers.4.input_layernorm.weight" [128] is missing' 's/"num_hidden_layers": 4/"num_hidden_layers": 5/'
config shape '"model.layers.0.mlp.gate_proj.weight" [385,128] is [384,128]' 's/384/385/'
config yarn 'positions are scaled by "yarn"' 's/"vocab_size"/"rope_scaling": {"type": "yarn", "factor": 2}, "vocab_size"/'
config cut 'config.json: byte ' 's/}//'
cp "$model/config.json" "$tmp/m/"
echo '{"eos_token_id": [5, 6]}' >"$tmp/m/generation_config.json"
rm -rf "$out"
run compile "$tmp/m" --output_dir "$out" --backend_so "$ref"
is generation 0
holds generation "$out/qnnrt.json" '"eos": [5, 6]'
echo '{"eos_token_id": 256}' >"$tmp/m/generation_config.json"
refuses generation_wrong 1 'generation_config.json: the end token is 256' "$tmp/m"

if [ -f "$release/libQnnHtp.so" ]; then
    makes htp "$release/libQnnHtp.so" --shards 2 --embedding host
    length=8                                     # the emulator takes 0.4 s for each
    makes htp_mixed "$release/libQnnHtp.so" --backends npu,host --embedding host --weight_bits 8 --verify 1
    holds htp_mixed "$tmp/said" '  step 1   npu    186 nodes, '
else skip htp "no libQnnHtp.so in $release: make qnn-libs"
fi
finish
