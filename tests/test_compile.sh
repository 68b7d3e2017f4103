#!/bin/sh
# qnnrt-run compile: what it makes and what it says, on the fake and on the genuine libraries.
#     sh tests/test_compile.sh [BUILD_DIR [RELEASE_DIR]]
# Without the release folder its checks are skipped, or failed with QNNRT_REQUIRE_ALL=1.
build=${1:-build}
release=${2:-build/qnn/2.51/onnxruntime_qnn}
tool=$build/qnnrt-run
fake=$build/fake/libQnnFake.so
passed=0 failed=0 skipped=0
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT

good() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "test_compile: $1: $2"; }
# says NAME STATUS TEXT ARGUMENT ...: compile ends with STATUS and prints TEXT
says() {
    name=$1 status=$2 text=$3
    shift 3
    "$tool" compile "$@" >"$out/text" 2>&1
    got=$?
    if [ $got -ne "$status" ]; then bad "$name" "status $got, not $status: $(cat "$out/text")"
    elif grep -qF -- "$text" "$out/text"; then good
    else bad "$name" "no '$text' in: $(cat "$out/text")"; fi
}

printf 'PK\003\004FAKEDLC a' >"$out/a.dlc"
printf 'PK\003\004FAKEDLC b' >"$out/b.dlc"
says help 0 "--graph_name N1,N2" --help
says nothing 2 "takes .dlc containers" --output_dir "$out/o"
says no_folder 2 "--output_dir" "$out/a.dlc"
says unknown 2 "unknown option --frobnicate" "$out/a.dlc" --frobnicate
says no_value 2 "--soc needs a value" "$out/a.dlc" --output_dir "$out/o" --soc
says no_number 2 "from 1 to 3" "$out/a.dlc" --output_dir "$out/o" --optimization_level 4
says flag_value 2 "takes no value" "$out/a.dlc" --output_dir "$out/o" --fp16=1
says path 2 "a name, not a path" "$out/a.dlc" --output_dir "$out/o" --binary_file x/y
says many_names 2 "more names than" "$out/a.dlc" --output_dir "$out/o" --graph_name p,q
says no_library 1 "--backend_so FILE" "$out/a.dlc" --output_dir "$out/o" --backend libNoSuch.so
says no_container 1 "/no/such.dlc" /no/such.dlc --output_dir "$out/o" --backend "$fake" --system_so "$fake"
says equal_names 1 "with this tool: --graph_name" "$out/a.dlc" "$out/a.dlc" --output_dir "$out/o" --backend "$fake" --system_so "$fake"
says folder_is_file 1 "cannot make the folder $out/a.dlc: Not a directory" "$out/a.dlc" --output_dir "$out/a.dlc" --backend "$fake" \
    --system_so "$fake"
says no_zip 1 "no .dlc container" "$fake" --output_dir "$out/o" --backend "$fake" --system_so "$fake"
says makes 0 "wrote     $out/o/both.bin" "$out/a.dlc" "$out/b.dlc" --graph_name prompt, --output_dir "$out/o" --binary_file both \
    --backend "$fake" --system_so "$fake" --fp16 --soc 69
if grep -q '^graph prompt$' "$out/o/both.bin" && grep -q '^graph b$' "$out/o/both.bin"; then good
else bad names "not 'prompt' and 'b' in $(cat "$out/o/both.bin")"; fi
if grep -q '"graphName": "prompt"' "$out/o/both_json.json"; then good; else bad json "$(head -30 "$out/o/both_json.json")"; fi
if [ "$(ls "$out/o" | wc -l)" -eq 2 ]; then good; else bad aside "$(ls "$out/o")"; fi

if [ -f "$release/libQnnHtp.so" ]; then
    data=tests/data/llm
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
elif [ "${QNNRT_REQUIRE_ALL:-0}" = 1 ]; then bad genuine "no libQnnHtp.so in $release: make qnn-libs"
else skipped=$((skipped + 3)); fi

if [ $skipped -gt 0 ]; then echo "$passed passed, $failed failed, $skipped skipped"; else echo "$passed passed, $failed failed"; fi
[ $failed -eq 0 ]
