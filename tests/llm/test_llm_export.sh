#!/bin/sh
# Models of examples/llm/export compute the result of their weights: with both namings, in all numbers
# of shards, compared with the tokens and logits of a plain computation (tests/golden/llm_tokens.txt).
#     sh tests/llm/test_llm_export.sh [BUILD_DIR [RELEASE_DIR]]
# Without the release folder its checks are skipped, or failed with QNNRT_REQUIRE_ALL=1.
suite=test_llm_export
. "$(dirname "$0")/../harness/tool.sh"

tool=$build/examples/llm/export
plain=$build/c99/llm_plain
golden=$tests/golden/llm_tokens.txt
trained=$data/llm/model
deep=$tmp/deep
ref=$build/libQnnRef.so

# made NAME MODEL_DIR OPTION ...: export into $tmp/made
made() {
    name=$1 model=$2
    shift 2
    rm -rf "$tmp/made"
    mkdir "$tmp/made"
    run "$model" "$tmp/made" "$@"
    is "$name" 0
}

# computes NAME LIBRARY MODEL THETA AGREE TOLERANCE [LOGITS.raw]: as in the golden file
computes() {
    name=$1 library=$2
    shift 2
    if "$plain" "$tmp/made" "$library" "$golden" "$@" >"$tmp/out" 2>"$tmp/err"; then good
    else bad "$name" "$(cat "$tmp/out" "$tmp/err")"; fi
}

# make test-all takes all of them.
counts='1 4' executorch_counts=4 deep_counts=8 tied_counts=2
if [ -n "${QNNRT_TEST_ALL-}" ]; then counts='1 2 4' executorch_counts='1 2 4' deep_counts='1 8' tied_counts='1 2'; fi
counts_of() { if [ "$1" = hub ]; then echo "$counts"; else echo "$executorch_counts"; fi; }

# Float32: every token, and logits that differ in the last digits only.
for naming in hub executorch; do
    for shards in $(counts_of $naming); do
        made "${naming}_f32_$shards" "$trained" --type f32 --naming $naming --shards $shards
        computes "${naming}_f32_$shards" "$ref" trained 10000 100 0.0002
    done
done

# Sixteen layers. A wrong theta shows that positions matter, and that the comparison can fail.
mkdir "$deep"
check random_model_is_made "it fails" "$build/examples/llm/random_model" "$deep" 16 7
for shards in $deep_counts; do
    made "deep_f32_$shards" "$deep" --type f32 --naming executorch --shards $shards
    computes "deep_f32_$shards" "$ref" deep 1 100 0.0002
done
made deep_hub_f32 "$deep" --type f32 --shards 3
computes deep_hub_f32 "$ref" deep 50000 100 0.0002
if "$plain" "$tmp/made" "$ref" "$golden" deep 10000 100 0.0002 >"$tmp/out" 2>&1; then bad comparison_can_fail "$(cat "$tmp/out")"
elif grep -q FAILED "$tmp/out"; then good
else bad comparison_can_fail "$(cat "$tmp/out")"; fi

# One head of keys and values for all, and a head that is the table of embeddings.
mkdir "$tmp/tied"
check random_model_is_made "it fails" "$build/examples/llm/random_model" "$tmp/tied" 3 5 1 tied
for naming in hub executorch; do
    for shards in $tied_counts; do
        made "tied_${naming}_$shards" "$tmp/tied" --type f32 --naming $naming --shards $shards
        computes "tied_${naming}_$shards" "$ref" tied 50000 100 0.0002
    done
done
check random_model_wants_equal_groups "3 heads of keys for 4" sh -c '! "$1" "$2" 3 5 3' - "$build/examples/llm/random_model" "$tmp/tied"

# Codes: nearly every token; and cuts and names change not one bit of any logit.
for naming in hub executorch; do
    for shards in $(counts_of $naming); do
        made "${naming}_w8a16_$shards" "$trained" --naming $naming --shards $shards
        computes "${naming}_w8a16_$shards" "$ref" trained 10000 97 0.3 "$tmp/logits_${naming}_$shards"
        check "${naming}_w8a16_${shards}_is_like_one" "other logits than in one shard with hub names" \
            cmp "$tmp/logits_hub_1" "$tmp/logits_${naming}_$shards"
    done
done
for shards in 1 8; do           # 8 bits are few for noise: many tokens are near others
    made "deep_w8a16_$shards" "$deep" --ranges "$data/llm/deep_ranges.json" --naming executorch --shards $shards
    computes "deep_w8a16_$shards" "$ref" deep 1 75 2.5 "$tmp/logits_deep_$shards"
done
check deep_w8a16_is_like_one "8 shards compute other logits than one" cmp "$tmp/logits_deep_1" "$tmp/logits_deep_8"

# One head of keys: the tensor of a layer is that of the head, in other ranks. The tokens are another model's.
mkdir "$tmp/one"
check random_model_is_made "it fails" "$build/examples/llm/random_model" "$tmp/one" 16 7 1
for naming in hub executorch; do
    made "one_head_$naming" "$tmp/one" --ranges "$data/llm/deep_ranges.json" --naming $naming
    computes "one_head_$naming" "$ref" deep 50000 0 100 "$tmp/logits_one_$naming"
done
check one_head_is_like_a_layer "other logits with a tensor for each head" cmp "$tmp/logits_one_hub" "$tmp/logits_one_executorch"

# One graph does the work of two; other lengths.
made decode_alone "$trained" --type f32 --prefill 0
computes decode_alone "$ref" trained 10000 100 0.0002
made prefill_alone "$trained" --type f32 --decode 0 --prefill 16 --naming executorch
computes prefill_alone "$ref" trained 10000 100 0.0002
made other_lengths "$trained" --type f32 --prefill 5 --decode 2 --context_lengths 113 --shards 3
computes other_lengths "$ref" trained 10000 100 0.0002

# Names as in exports.
names() { "$build/qnnrt-run" inspect "$tmp/made" --system_so "$ref" >"$tmp/out" 2>"$tmp/err"; }
made hub_names "$trained" --shards 2
names
for text in 'graph "prompt_ar32_cl128_1_of_2"' 'graph "token_ar1_cl128_2_of_2"' 'step 0 "_model_layers_1_Add_1_Add_output_0" -> step 1 "_model_layers_1_Add_1_Add_output_0": equal names'; do
    says hub_names out "$text"
done
# tensor GRAPH_WIDTH_NAME ROLE DTYPE DIMS: a line of the table; a wide one has the names above
tensor() { check "$1" "no $2 $3 $4 $5" sh -c 'tr "\n" " " <"$2" | grep -qE "$1"' - " $2 +$3 +[0-9]+ +$4 +$5 " "$tmp/out"; }
tensor hub_names input_ids input int32 1x32
tensor hub_names attention_mask input ufixed16 1x1x32x128
tensor hub_names position_ids_cos input ufixed16 1x1x32x16
tensor hub_names past_key_3_in input ufixed8 2x1x32x96
tensor hub_names past_value_0_in input ufixed8 2x1x127x32
tensor hub_names past_key_0_out output ufixed8 2x1x32x1
tensor hub_names past_value_3_out output ufixed8 2x1x32x32
tensor hub_names logits output ufixed16 1x32x256
made executorch_names "$deep" --type f32 --naming executorch --shards 8
names
says executorch_names out 'graph "prefill_forward", 11 inputs, 11 outputs'
says executorch_names out 'graph "kv_forward", 12 inputs, 9 outputs'
tensor executorch_names input_0_tokens_0 input int32 1x32
tensor executorch_names input_1_input_pos_0 input int32 1x32
tensor executorch_names input_2_args_32_0 input float32 1x104x16
tensor executorch_names input_5_args_1_0 input float32 1x16x135
tensor executorch_names input_6_atten_mask_0 input float32 1x32x136
tensor executorch_names input_7_atten_mask_0 input float32 1x1x136
tensor executorch_names input_11_args_31_0 input float32 1x16x135
tensor executorch_names output_quantized_decomposed_dequantize_per_tensor_tensor_1_0 output float32 32x8
tensor executorch_names input_4_aten_view_copy_default_1_0 input float32 1x8
tensor executorch_names output_aten_view_copy_default_0 output float32 1x32x16
tensor executorch_names output_aten_permute_copy_default_31_0 output float32 1x16x1
tensor executorch_names output_aten_add_tensor_3_0 output float32 1x32x64
tensor executorch_names input_0_llama_fallback_default_0 input float32 1x32x64
tensor executorch_names output_aten_squeeze_copy_dims_0 output float32 1x1x256

# refused NAME STATUS TEXT MODEL_DIR OPTION ...
refused() {
    name=$1 code=$2 text=$3 model=$4
    shift 4
    rm -rf "$tmp/made/"*
    run "$model" "$tmp/made" "$@"
    is "$name" "$code"
    says "$name" err "$text"
    check "$name" "something was written" sh -c 'test -z "$(ls "$1")"' - "$tmp/made"
}
run
is usage 2
run --help
is help 0
says help out 'OUT_DIR exists'
silent help err
refused unknown_option 2 'unknown option --shard' "$trained" --shard 2
hinted unknown_option '--shards'
refused option_without_value 2 '--shards needs a value' "$trained" --shards
refused no_number 2 '--shards takes a number from 0 to 16384' "$trained" --shards -1
refused unknown_naming 2 '--naming takes hub or executorch' "$trained" --naming hubb
hinted unknown_naming '--naming hub.'
refused unknown_type 2 '--type takes w8a16 or f32' "$trained" --type f16
refused third_folder 2 'got 3 folders' "$trained" more
refused more_shards_than_layers 1 '4 layers into 5 shards' "$trained" --shards 5
refused no_shards 1 '4 layers into 0 shards' "$trained" --shards 0
refused no_graphs 1 'neither a prefill graph nor a decode graph' "$trained" --prefill 0 --decode 0
refused longer_context 1 'config.json has, a context of 128' "$trained" --context 129
refused no_room 1 '128 tokens needs a context of more than 128, got 128' "$trained" --prefill 128
refused no_backend 1 '/no/such.so' "$trained" --backend_so /no/such.so
hinted no_backend '--backend_so LIB'
refused ranges_of_fewer_layers 1 'expected a range' "$deep" --ranges "$trained/ranges.json"
refused ranges_of_more_layers 1 'expected a range' "$trained" --ranges "$data/llm/deep_ranges.json"
refused no_ranges 1 'ranges.json: No such file' "$deep"

# config NAME TEXT SED: config.json, changed
config() {
    sed "$3" "$trained/config.json" >"$tmp/model/config.json"
    refused "$1" 1 "$2" "$tmp/model"
}
mkdir "$tmp/model"
cp "$trained/ranges.json" "$trained/model.safetensors" "$tmp/model/"
config other_model 'expected a Llama' 's/"llama"/"qwen2"/'
config rope_scaling '"rope_type" is missing' 's/"vocab_size"/"rope_scaling": {"factor": 8.0}, "vocab_size"/'
config linear_positions 'without biases and scaled positions' 's/"vocab_size"/"rope_scaling": {"type": "linear", "factor": 8.0}, "vocab_size"/'
config no_theta '"rope_theta": expected a number' 's/10000.0/"high"/'
config too_many_heads '"num_attention_heads": expected a whole number' 's/"num_attention_heads": 4/"num_attention_heads": 4000000000/'
config unequal_groups 'a multiple of "num_key_value_heads"' 's/"num_key_value_heads": 2/"num_key_value_heads": 3/'
config other_shape 'have another shape' 's/"head_dim": 32/"head_dim": 30/'
config cut_short 'config.json: byte' 's/}//'
cp "$trained/config.json" "$tmp/model/"
sed 's/\[-1.2275, 1.1737\]/[1.2275, -1.1737]/' "$trained/ranges.json" >"$tmp/model/ranges.json"
refused range_turned_round 1 'expected a range' "$tmp/model"
sed 's/"GATE"/"GATES"/' "$trained/ranges.json" >"$tmp/model/ranges.json"
refused unknown_range 1 'expected a range' "$tmp/model"
head -c 300 "$trained/ranges.json" >"$tmp/model/ranges.json"
refused ranges_cut_short 1 'ranges.json, byte' "$tmp/model"
cp "$trained/ranges.json" "$tmp/model/"
sed 's/layers.0.input_layernorm.weight"/layers.0.input_layernorm.w.bias"/' "$trained/model.safetensors" >"$tmp/model/model.safetensors"
refused biases 1 'has biases' "$tmp/model"
touch "$tmp/made/forward_2.bin"
run "$trained" "$tmp/made" --shards 2
is rest_of_a_longer_model 1
says rest_of_a_longer_model err "$tmp/made/forward_2.bin"
hinted rest_of_a_longer_model Remove
# A full disk: the message names the file, and nothing is left.
rm -rf "$tmp/made/"*
(trap '' XFSZ; ulimit -f 0; "$tool" "$trained" "$tmp/made" --type f32 </dev/null 2>&1; echo "status $?") | cat >"$tmp/err"
says full_disk err 'status 1'
says full_disk err "$tmp/made/forward_0.bin"
check full_disk "something was left: $(ls "$tmp/made")" sh -c 'test -z "$(ls -A "$1")"' - "$tmp/made"
# A later shard cannot be written, or a signal comes between two: a model is whole, or no file is left.
mkdir "$tmp/made/forward_2.bin"
run "$trained" "$tmp/made" --shards 4
is later_shard 1
says later_shard err "$tmp/made/forward_2.bin"
check later_shard "something was left: $(ls "$tmp/made")" test "$(ls "$tmp/made")" = forward_2.bin
rmdir "$tmp/made/forward_2.bin"
"$tool" "$deep" "$tmp/made" --type f32 --shards 8 </dev/null >"$tmp/out" 2>"$tmp/err" &
export=$!
until [ -e "$tmp/made/forward_0.bin" ] || ! kill -0 $export 2>/dev/null; do sleep 0.01; done
kill $export 2>/dev/null
wait $export 2>/dev/null
code=$?
check signal_between_shards "status $code, left: $(ls "$tmp/made")" test $code,"$(ls "$tmp/made" | wc -l)" = 0,9 -o $code,"$(ls "$tmp/made" | wc -l)" = 143,0
rm -rf "$tmp/made/"*
(trap '' XFSZ; ulimit -f 0; "$build/examples/llm/random_model" "$tmp/made" 1 1 2>&1; echo "status $?") | cat >"$tmp/err"
says full_disk_random err 'status 1'
says full_disk_random err "$tmp/made/config.json"
check full_disk_random "something was left: $(ls "$tmp/made")" sh -c 'test -z "$(ls -A "$1")"' - "$tmp/made"

# The emulator is slow: 6 of 20 prompts of each model, and all of them in test-all.
if [ -z "${QNNRT_TEST_ALL-}" ]; then
    awk '/^model / { prompts = 0 } /^prompt / { ++prompts } prompts <= 6' "$golden" >"$tmp/golden"
    golden=$tmp/golden
fi
if [ -f "$release/libQnnHtp.so" ]; then
    made htp_w8a16_4 "$trained" --shards 4 --backend_so "$release/libQnnHtp.so"
    computes htp_w8a16_4 "$release/libQnnHtp.so" trained 10000 97 0.3
    made htp_f32_2 "$tmp/tied" --type f32 --naming executorch --shards 2 --backend_so "$release/libQnnHtp.so"
    computes htp_f32_2 "$release/libQnnHtp.so" tied 1 97 0.1
else
    skip htp "no libQnnHtp.so in $release: make qnn-libs"
fi
finish
