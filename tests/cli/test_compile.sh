#!/bin/sh
# qnnrt-run compile: its files and its output, on the fake and on the genuine libraries.
#     sh tests/cli/test_compile.sh [BUILD_DIR [RELEASE_DIR]]
# Without the release folder its checks are skipped, or failed with QNNRT_REQUIRE_ALL=1.
suite=test_compile
. "$(dirname "$0")/../harness/tool.sh"
out=$tmp

# ends NAME STATUS TEXT ARGUMENT ...: compile ends with STATUS and prints TEXT
ends() {
    name=$1 wanted=$2 text=$3
    shift 3
    run compile "$@"
    if [ $status -ne "$wanted" ]; then bad "$name" "status $status, not $wanted: $(cat "$tmp/out" "$tmp/err")"
    elif cat "$tmp/out" "$tmp/err" | grep -qF -- "$text"; then good
    else bad "$name" "no '$text' in: $(cat "$tmp/out" "$tmp/err")"; fi
}

printf 'PK\003\004FAKEDLC a' >"$out/a.dlc"
printf 'PK\003\004FAKEDLC b' >"$out/b.dlc"
ends help 0 "--graph_name N1,N2" --help
ends nothing 2 "compile takes .dlc containers, folders of qnnrt.export(), .json graphs of PyTorch, .onnx files, the folder of a language model, or a .gguf file" --output_dir "$out/o"
ends no_folder 2 "--output_dir" "$out/a.dlc"
ends unknown 2 "unknown option --frobnicate" "$out/a.dlc" --frobnicate
ends other_verb 2 "--guard is not an option of compile" "$out/a.dlc" --guard
ends near 2 "hint: Use --weight_sharing." "$out/a.dlc" --weight_shared
ends no_value 2 "--soc_model needs a value" "$out/a.dlc" --output_dir "$out/o" --soc_model
ends no_number 2 "from 1 to 3" "$out/a.dlc" --output_dir "$out/o" --optimization_level 4
ends flag_value 2 "takes no value" "$out/a.dlc" --output_dir "$out/o" --fp16=1
ends path 2 "a name, not a path" "$out/a.dlc" --output_dir "$out/o" --binary_file x/y
ends many_names 2 "more names than" "$out/a.dlc" --output_dir "$out/o" --graph_name p,q
ends no_library 1 "hint: Name the library with --backend_so FILE" "$out/a.dlc" --output_dir "$out/o" --backend libNoSuch.so
ends library_is_no_library 1 "hint: Give the path of a library; this file is not one" "$out/a.dlc" --output_dir "$out/o" --backend "$out/a.dlc"
ends library_in_current_folder 1 "with a slash in FILE" "$out/a.dlc" --output_dir "$out/o" --backend libNoSuch.so
ends no_container 1 "/no/such.dlc" /no/such.dlc --output_dir "$out/o" --backend "$fake" --system_so "$fake"
ends equal_names 1 "hint: Name the graphs with --graph_name" "$out/a.dlc" "$out/a.dlc" --output_dir "$out/o" --backend "$fake" --system_so "$fake"
ends folder_is_file 1 "cannot make the folder $out/a.dlc: Not a directory" "$out/a.dlc" --output_dir "$out/a.dlc" --backend "$fake" \
    --system_so "$fake"
ends no_zip 1 "not a .dlc container" "$fake" --output_dir "$out/o" --backend "$fake" --system_so "$fake"
ends no_zip_hint 1 "hint: Give a .dlc container; this file is of another kind." "$fake" --output_dir "$out/o" --backend "$fake" \
    --system_so "$fake"
ends makes 0 "wrote     $out/o/both.bin" "$out/a.dlc" "$out/b.dlc" --graph_name prompt, --output_dir "$out/o" --binary_file both \
    --backend "$fake" --system_so "$fake" --fp16 --soc_model 69
if grep -q '^graph prompt$' "$out/o/both.bin" && grep -q '^graph b$' "$out/o/both.bin"; then good
else bad names "not 'prompt' and 'b' in $(cat "$out/o/both.bin")"; fi
if grep -q '"graphName": "prompt"' "$out/o/both_json.json"; then good; else bad json "$(head -30 "$out/o/both_json.json")"; fi
if [ "$(ls "$out/o" | wc -l)" -eq 2 ]; then good; else bad aside "$(ls "$out/o")"; fi

if [ -f "$release/libQnnHtp.so" ]; then
    data=$data/llm
    if "$tool" compile $data/dlc/w8a16_ar32.dlc $data/dlc/w8a16_ar1.dlc --graph_name prompt_ar32_cl128_1_of_1,token_ar1_cl128_1_of_1 \
        --output_dir "$out/llm" --binary_file forward_0 --backend "$release/libQnnHtp.so" --fp16 --optimization_level 3 \
        >"$out/text" 2>"$out/log" && cmp -s "$out/llm/forward_0.bin" $data/w8a16_one/forward_0.bin; then good
    else bad the_known_file "$(tail -3 "$out/text" "$out/log")"; fi
    if "$tool" compile $data/dlc/w8a16_ar32.dlc $data/dlc/w8a16_ar1.dlc --graph_name prompt_ar32_cl128_1_of_1,token_ar1_cl128_1_of_1 \
        --output_dir "$out/ref" --binary_file forward_0 --backend "$build/libQnnRef.so" --system_so "$release/libQnnSystem.so" \
        >"$out/text" 2>"$out/log" &&
        "$tool" --ctx_dir "$out/ref" --backend_so "$build/libQnnRef.so" --output_dir "$out/ref_out" >"$out/text" 2>"$out/log" &&
        [ -s "$out/ref_out/token_ar1_cl128/logits.raw" ] && [ -s "$out/ref_out/prompt_ar32_cl128/logits.raw" ]; then good
    else bad on_ref "$(tail -3 "$out/text" "$out/log")"; fi
    if "$build/examples/03_compose" "$release/libQnnHtp.so" "$out/layer.bin" >"$out/text" 2>"$out/log" &&
        [ "$(grep -c '^y = 30.5 0$' "$out/text")" -eq 2 ]; then good
    else bad example "$(cat "$out/text" "$out/log")"; fi
else
    skip genuine "no libQnnHtp.so in $release: make qnn-libs"
fi
finish
