#!/bin/sh
# qnnrt-llm, seen from outside, on models that examples/llm/export makes.
#     sh tests/cli/test_llm_tool.sh [BUILD_DIR [RELEASE_DIR]]
# Without the release folder, or without python3, their checks are skipped, or failed with
# QNNRT_REQUIRE_ALL=1.
suite=test_llm_tool
. "$(dirname "$0")/../harness/tool.sh"

tool=$build/qnnrt-llm
export=$build/examples/llm/export
ref=$build/libQnnRef.so
python=
if command -v python3 >/dev/null 2>&1; then python=python3; fi

for file in "$tool" "$export" "$ref" "$build/c99/json_check"; do
    if [ ! -e "$file" ]; then
        bad build "$file is missing"
        echo "$passed passed, $failed failed"
        exit 1
    fi
done

# An object that is alive in the library when the program ends is a failure.
QNNREF_LEDGER=strict
export QNNREF_LEDGER
unset QNNREF_FAULTS

prompt='And the LORD said unto '
expected=$(sed -n 's/.*"prompt": "And the LORD said unto ", "text": "\([^"]*\)".*/\1/p' "$data/llm/expected.json")

# llm OPTION ...: with the model of two shards, or another: llm_with FOLDER OPTION ...
llm() { run --ctx_dir "$tmp/model" --backend_so "$ref" "$@"; }
llm_with() {
    folder=$1
    shift
    run --ctx_dir "$tmp/$folder" --backend_so "$ref" "$@"
}
# fed INPUT OPTION ...: the same with this standard input, in which escapes of printf work
fed() {
    printf "$1" >"$tmp/in"
    shift
    "$tool" --ctx_dir "$tmp/model" --backend_so "$ref" "$@" <"$tmp/in" >"$tmp/out" 2>"$tmp/err"
    status=$?
}
# equal NAME WANTED FOUND; wrote NAME TEXT: standard output is this and a newline
equal() { if [ "$2" = "$3" ]; then good; else bad "$1" "'$3', not '$2': $(head -n 3 "$tmp/err")"; fi; }
wrote() { is "$1" 0; equal "$1" "$2" "$(cat "$tmp/out")"; }
# failed NAME TEXT [OUT]: status 1, the text on standard error, and nothing written
failed() { is "$1" 1; says "$1" err "$2"; silent "$1" out; }
# field KEY: a number of the last statistics
field() { sed -n "s/.*\"$1\": \([-0-9.]*\).*/\1/p" "$tmp/stats"; }
# holds NAME CONDITION VARIABLE=VALUE ...: the condition, in awk, is true
holds() {
    name=$1 condition=$2
    shift 2
    if echo | awk "$@" "{ exit !($condition) }"; then good; else bad "$name" "not $condition, with $*"; fi
}
# cut N: the first N characters of the expected text
cut() { printf '%s' "$expected" | head -c "$1"; }

if [ ${#expected} -eq 64 ]; then good; else bad expected "no text of 64 bytes in expected.json: '$expected'"; fi
made model "$data/llm/model" --type w8a16 --shards 2
made heads "$data/llm/model" --type w8a16 --naming executorch
made prefill "$data/llm/model" --type f32 --decode 0

# ---- perplexity -----------------------------------------------------------------------------------

# torch.json has what torch computes in float32, see tests/exports/export_llama.py.
torch=$(sed -n 's/.*"perplexity": \([0-9.]*\).*/\1/p' "$data/llm/torch.json" | head -n 1)
llm_with prefill --perplexity "$data/llm/passage.txt" --seq_len 64
is perplexity 0
holds perplexity_is_that_of_torch 'ours > torch - 1e-4 && ours < torch + 1e-4' \
    -v torch="$torch" -v ours="$(sed -n 's/^perplexity *//p' "$tmp/out")"
says perplexity_counts out 'of 469'
llm_with prefill --perplexity "$data/llm/passage.txt" --seq_len 64 --dump_logits "$tmp/rows"
is perplexity_dumps_logits 0
equal perplexity_dumps_logits $((256 * 4 * $(wc -c <"$data/llm/passage.txt"))) "$(wc -c <"$tmp/rows")"
od -An -v -tu1 "$data/llm/passage.txt" >"$tmp/numbers"
llm_with prefill --perplexity "$tmp/numbers" --numbers --seq_len 64
is perplexity_of_numbers 0
holds perplexity_of_numbers_is_the_same 'ours > torch - 1e-4 && ours < torch + 1e-4' \
    -v torch="$torch" -v ours="$(sed -n 's/^perplexity *//p' "$tmp/out")"
printf a >"$tmp/one"
llm_with prefill --perplexity "$tmp/one"
failed perplexity_of_one_token 'nothing to predict'
llm_with prefill --perplexity "$tmp/none"
failed perplexity_without_a_file 'cannot read'
llm_with prefill --perplexity "$tmp/one" --prompt a
is perplexity_excludes_prompts 2

# ---- options --------------------------------------------------------------------------------------

values='ctx_dir backend_so system_so prompt prompt_file tokens max_gen seq_len temperature top_k top_p
min_p repetition_penalty seed kv rope_theta perf_profile stats dump_logits log_level memory resident perplexity'
run --help
is help 0
silent help err
for option in $values numbers share_spill_fill progress describe version help; do says "help_$option" out "--$option"; done
run --version
is version 0
check version "not a version: $(cat "$tmp/out")" grep -qE '^qnnrt-llm [0-9]+\.[0-9]+\.[0-9]+$' "$tmp/out"
for option in $values; do
    wrong "no_value_$option" "--$option needs a value" --ctx_dir=x "--$option"
    case $option in
    prompt) continue ;;
    kv) value=smart_mask ;;
    memory) value=heap ;;
    perf_profile) value=burst ;;
    *) value=1 ;;
    esac
    wrong "empty_$option" "--$option needs a value" "--$option="
    wrong "twice_$option" "--$option is given twice" "--$option" $value "--$option=$value"
done
for option in numbers share_spill_fill progress describe version help; do wrong "value_for_$option" "--$option takes no value" "--$option=1"; done
wrong unknown 'unknown option --nonsense' --nonsense
wrong half_a_name 'unknown option --temp' --temp 1
hinted half_a_name_hint 'Use --temperature.'
wrong near 'unknown option --max-gen' --max-gen=1
hinted near_hint 'Use --max_gen.'
run "$tmp/none"
is bare_word 1
says bare_word err "$tmp/none"
wrong dashes '"--"' --
wrong nothing 'the folder of the model is missing'
wrong two_folders '2 folders are named, the last one is b' a b
wrong folder_twice '2 folders are named' a --ctx_dir b
wrong two_prompts 'exclude each other' --ctx_dir x --prompt a --tokens b
wrong numbers_and_prompt '--numbers is about standard input' --ctx_dir x --numbers --prompt a
wrong describe_runs_nothing '--describe runs nothing' --ctx_dir x --describe --stats s
for value in 0 -1 two 1M 99999999999999999999; do wrong "resident_$value" 'all, one or a number of bytes' --resident=$value; done
for value in -1 x 1.5 2147483648 99999999999999999999; do wrong "max_gen_$value" --max_gen --max_gen=$value; done
for value in x 1e3 - --1 2147483648; do wrong "seq_len_$value" --seq_len --seq_len=$value; done
for value in -0.1 x nan inf 1001 0x1 -.5 . .x ..5; do wrong "temperature_$value" 'from 0 to 1000' --temperature=$value; done
for value in -1 1.5 x; do wrong "top_k_$value" --top_k --top_k=$value; done
for value in -0.1 1.01 x; do wrong "min_p_$value" '--min_p takes a number from 0 to 1,' --min_p=$value; done
for value in -0.1 0 1.01 x; do wrong "top_p_$value" '--top_p takes a number above 0, up to 1,' --top_p=$value; done
for value in -1 0 1001; do
    wrong "penalty_$value" '--repetition_penalty takes a number above 0' --repetition_penalty=$value
done
for value in -1 18446744073709551616; do wrong "seed_$value" --seed --seed=$value; done
wrong kv 'smart_mask or shift_pointer' --kv smart
for value in 0 0.5 -1 x; do wrong "rope_theta_$value" --rope_theta --rope_theta=$value; done
for word in burst balanced power_saver; do wrong "perf_profile_$word" "$word" --perf_profile fast; done
wrong perf_profile_near '"balancd"' --perf_profile balancd
hinted perf_profile_near_hint '--perf_profile balanced'
wrong perf_profile_word '"fast"' --perf_profile fast
for value in 6 -1 all; do wrong "log_level_$value" --log_level --log_level $value; done

# ---- prompts and lengths --------------------------------------------------------------------------

llm --prompt "$prompt" --max_gen 64
wrote prompt "$expected"
says prompt err '64 tokens written'
printf '%s' "$prompt" >"$tmp/prompt"
llm --prompt_file "$tmp/prompt" --max_gen 64
wrote prompt_file "$expected"
fed "$prompt" --prompt_file - --max_gen 64
wrote prompt_file_stdin "$expected"
numbers=$(od -An -v -tu1 "$tmp/prompt" | tr -s ' \n' ' ' | sed 's/^ //; s/ $//')
wanted=$(cut 64 | od -An -v -tu1 | tr -s ' \n' ' ' | sed 's/^ //; s/ $//')
printf '%s\n' "$numbers" | tr ' ' '\n' >"$tmp/tokens"
llm --tokens "$tmp/tokens" --max_gen 64
wrote tokens "$wanted "
fed "\t$numbers \n" --tokens - --max_gen 3
wrote tokens_stdin "$(echo "$wanted" | sed 's/^\([0-9]* [0-9]* [0-9]* \).*/\1/')"
llm --prompt "$prompt" --max_gen 0
wrote max_gen_none ''
says max_gen_none err ' 0 tokens written; '
says max_gen_none err 'the first was read in '
lacks max_gen_none err 'first answer'
llm --prompt "$prompt" --max_gen 1
wrote max_gen_one "$(cut 1)"
says max_gen_one err ' 1 token written; '
llm --prompt "$prompt"
is until_full 0
equal until_full "$expected" "$(head -c 64 "$tmp/out")"
equal until_full_count $((128 - 23 + 1)) "$(wc -c <"$tmp/out")"
llm --prompt "$prompt" --seq_len 33
wrote seq_len "$(cut 10)"
lacks seq_len err seq_len
llm --prompt "$prompt" --seq_len 33 --max_gen 4
wrote seq_len_and_max_gen "$(cut 4)"
for value in 0 -5 129 1000000; do
    llm --prompt "$prompt" --seq_len=$value --max_gen 5
    wrote "seq_len_$value" "$(cut 5)"
    says "seq_len_$value" err "--seq_len $value is "
    says "seq_len_$value" err ': using 128, the maximum of this model'
done
llm_with prefill --prompt "$prompt" --max_gen 40
wrote without_decode_graph "$(cut 40)"

# ---- errors ---------------------------------------------------------------------------------------

llm --prompt ''
failed empty 'the prompt is empty'
: >"$tmp/nothing"
llm --prompt_file "$tmp/nothing"
failed empty_file 'the prompt is empty'
llm --tokens "$tmp/nothing"
failed empty_tokens 'the prompt is empty'
llm --prompt "$(printf '%128s' x)"
failed too_long 'the prompt has 128 tokens, and there is room for 127'
llm --prompt "$(printf '%127s' x)"
is just_fits 0
equal just_fits 2 "$(wc -c <"$tmp/out")"
llm --prompt "$prompt" --seq_len 23
failed no_answer_fits 'the prompt has 23 tokens, and there is room for 22'
llm --prompt "$prompt" --seq_len 23 --max_gen 0
is only_read 0
for list in '65 256 66' '65 -1' '65 99999999999999999999' '65 6x' '1,2' '7 1.0'; do
    echo "$list" >"$tmp/tokens"
    llm --tokens "$tmp/tokens"
    case $list in
    *256*) failed "tokens_$list" 'token 2 is 256: out of range, the vocabulary has 0 to 255' ;;
    *,*) failed "tokens_$list" 'token 1 is "1,2"' ;;
    *) failed "tokens_$list" 'token 2 is "' ;;
    esac
done
hinted tokens_help '--prompt TEXT'
llm --tokens '65 66'
failed tokens_no_file '65 66'
hinted tokens_no_file_hint '--tokens FILE'
printf '65 6\0007' >"$tmp/tokens"
llm --tokens "$tmp/tokens"
failed tokens_nul 'token 2 is "6?7"'
llm --prompt_file "$tmp/none"
failed no_prompt_file "$tmp/none"
hinted no_prompt_file_hint '--prompt_file FILE'
llm --prompt_file "$tmp"
failed prompt_is_folder "$tmp"
llm --prompt x --stats "$tmp/none/stats"
failed no_stats "cannot write $tmp/none/stats"
llm --prompt x --dump_logits "$tmp/none/logits"
failed no_dump "cannot write $tmp/none/logits"
run --ctx_dir "$tmp/none" --backend_so "$ref" --prompt x
failed no_folder "$tmp/none"
run --ctx_dir "$tmp/model" --backend_so "$tmp/none.so" --prompt x
failed no_backend "$tmp/none.so"
hinted no_backend_hint '--backend_so FILE'
run --ctx_dir "$tmp/model" --describe
failed describe_no_library libQnnSystem.so
hinted describe_no_library_hint libQnnRef.so
mkdir "$tmp/part"
cp "$tmp/model/forward_1.bin" "$tmp/part/forward_0.bin"
llm_with part --prompt x
is half_a_model 1
silent half_a_model out
says half_a_model err 'nothing looks tokens up'
mkdir "$tmp/first"
cp "$tmp/model/forward_0.bin" "$tmp/first/"
llm_with first --prompt x
failed first_half '--describe'
# A limit of 0 bytes stands for a full disk: the message names the file, and no file is left.
mkdir "$tmp/full_disk"
for option in stats dump_logits; do
    (trap '' XFSZ; ulimit -f 0; "$tool" --ctx_dir "$tmp/model" --backend_so "$ref" --prompt x --max_gen 40 \
        --$option "$tmp/full_disk/made" </dev/null 2>&1; echo "status $?") | tr -d '\000' >"$tmp/err"
    says full_disk_$option err "status 1"
    says full_disk_$option err "$tmp/full_disk/made"
    equal full_disk_${option}_leftovers '' "$(ls -A "$tmp/full_disk")"
done
if [ -e /dev/full ]; then
    "$tool" --ctx_dir "$tmp/model" --backend_so "$ref" --prompt x >/dev/full 2>"$tmp/err"
    status=$?
    is full_disk 1
    says full_disk err 'cannot write to standard output'
    llm --prompt x --max_gen 2 --stats /dev/full
    is full_disk_stats 1
    says full_disk_stats err 'cannot write /dev/full: No space'
    llm --prompt "$prompt" --max_gen 30 --dump_logits /dev/full
    is full_disk_dump 1
    says full_disk_dump err 'cannot write /dev/full'
fi
QNNREF_FAULTS='fail=graphExecute:9:0x1770'
export QNNREF_FAULTS
llm --prompt "$prompt" --max_gen 20 --stats "$tmp/stats"
unset QNNREF_FAULTS
is execute_fails 1
equal execute_fails_leftovers '' "$(find "$tmp" -name '*.tmp')"
says execute_fails err 0x1770
equal execute_fails "$(cut 4)" "$(cat "$tmp/out")"
says execute_fails stats '"stopped": "failed"'

# ---- sampling -------------------------------------------------------------------------------------

drawn() { llm --prompt "$prompt" --max_gen 30 "$@"; }
drawn --temperature 1.5 --seed 7
is seed 0
first=$(cat "$tmp/out")
drawn --temperature 1.5 --seed 7
wrote same_seed "$first"
drawn --temperature 1.5 --seed 8
if [ "$(cat "$tmp/out")" != "$first" ]; then good; else bad another_seed "the same text: $first"; fi
if [ "$first" != "$(cut 30)" ]; then good; else bad temperature "the greedy text at 1.5"; fi
# Settings that leave one token to choose give the greedy text.
drawn --temperature 1.5 --top_k 1
wrote top_k "$(cut 30)"
drawn --temperature 1.5 --top_p 0.000001
wrote top_p "$(cut 30)"
drawn --temperature 1.5 --min_p 1
wrote min_p "$(cut 30)"
drawn --temperature .001
wrote cold "$(cut 30)"
drawn --repetition_penalty 5
is penalty 0
if [ "$(cat "$tmp/out")" != "$(cut 30)" ]; then good; else bad penalty "the text without it"; fi
for option in '--top_k 3' '--top_p 0.5' '--min_p 0.1' '--seed 3'; do
    drawn $option
    wrote "unheard_$option" "$(cut 30)"
    says "unheard_$option" err "${option% *} has no effect with --temperature 0"
done

# ---- ways to run ----------------------------------------------------------------------------------

for way in smart_mask shift_pointer; do
    llm --prompt "$prompt" --max_gen 64 --kv $way
    wrote kv_$way "$expected"
done
llm --prompt "$prompt" --max_gen 30 --rope_theta 300
is rope_theta 0
lacks rope_theta err 'no file says'
if [ "$(cat "$tmp/out")" != "$(cut 30)" ]; then good; else bad rope_theta "the text of another theta"; fi
llm --prompt "$prompt" --max_gen 30 --rope_theta 10000.0
wrote rope_theta_right "$(cut 30)"
mkdir "$tmp/bare"
cp "$tmp/model"/*.bin "$tmp/bare/"
llm_with bare --prompt "$prompt" --max_gen 2
says rope_default err ' 10000'
llm --prompt "$prompt" --max_gen 2
lacks rope_of_file err 'no file says'
llm_with heads --prompt "$prompt" --max_gen 64
wrote positions "$expected"
lacks positions err 'no file says'
llm_with heads --prompt "$prompt" --max_gen 30 --rope_theta 300
wrote rope_inside "$(cut 30)"
says rope_inside err '--rope_theta has no effect'
llm --prompt "$prompt" --max_gen 5 --perf_profile burst
wrote perf_profile "$(cut 5)"
llm --prompt "$prompt" --max_gen 5 --log_level debug
wrote log_level "$(cut 5)"
says log_level err 'qnnrt-llm: log '
llm --prompt "$prompt" --max_gen 5 --log_level 0
wrote log_level_0 "$(cut 5)"
lacks log_level_0_is_quiet err 'qnnrt-llm: log'
llm --prompt "$prompt" --max_gen 5 --log_level 1 --system_so "$ref"
wrote system_so "$(cut 5)"
lacks log_level_error err 'qnnrt-llm: log'
run --ctx_dir "$tmp/model" --describe --system_so "$ref"
is describe 0
says describe out 'context 128'
says describe out 'vocabulary 256'
says describe out logits
silent describe err
run --ctx_dir "$tmp/part" --describe --system_so "$ref"
is describe_part 0
says describe_part out logits

# ---- contexts that come and go, and a restart of the DSP --------------------------------------------

check deep_is_made "it fails" sh -c 'mkdir "$1" && "$2" "$1" 16 7' - "$tmp/deep" "$build/examples/llm/random_model"
made eight "$tmp/deep" --type f32 --naming executorch --shards 8
largest=$(wc -c "$tmp"/eight/*.bin | sed '$d' | awk '$1 > most { most = $1 } END { print most }')
llm_with eight --prompt "Hello there" --max_gen 24 --progress --share_spill_fill --stats "$tmp/stats"
is eight_all 0
cp "$tmp/out" "$tmp/eight_text"
says eight_progress err 'loading 8 of 8: forward_7.bin'
all=$(field device_bytes)
holds eight_all "all == peak && loads == 8" -v all="$all" -v peak="$(field device_peak_bytes)" -v loads="$(field context_loads)"
for resident in all one $((2 * largest)) $((largest - 1)); do
    llm_with eight --prompt "Hello there" --max_gen 24 --resident "$resident" --stats "$tmp/stats"
    case $resident in
    $((largest - 1)))
        failed "eight_$resident" "more than the budget ($resident)"
        continue ;;
    all) most=$all ;;
    one) most=$largest ;;
    *) most=$resident ;;
    esac
    is "eight_$resident" 0
    check "eight_$resident" "another text: $(cat "$tmp/out")" cmp -s "$tmp/out" "$tmp/eight_text"
    says "eight_$resident" err "at most $(human "$(field device_peak_bytes)") of about $(human "$all") on the device"
    holds "eight_$resident" "peak <= most" -v peak="$(field device_peak_bytes)" -v most="$most"
    echo "note: --resident $resident: at most $(field device_peak_bytes) of $all bytes, $(field context_loads) loads"
done
for rule in graphExecute:5 graphExecute:100 contextCreateFromBinary:30 contextFree:20; do
    for resident in all one $((2 * largest)); do
        case $rule-$resident in context*-all) continue ;; esac
        QNNREF_FAULTS="restart=$rule" run --ctx_dir "$tmp/eight" --backend_so "$ref" --prompt "Hello there" \
            --max_gen 24 --resident "$resident"
        is "restart_${rule}_$resident" 0
        says "restart_${rule}_$resident" err 'the DSP restarted: loading the model again'
        check "restart_${rule}_$resident" "another text: $(cat "$tmp/out")" cmp -s "$tmp/out" "$tmp/eight_text"
    done
done
QNNREF_FAULTS='restart=graphExecute:5; fail=deviceCreate:2:0x36b1' run --ctx_dir "$tmp/eight" --backend_so "$ref" --prompt x
is no_recovery 1
says no_recovery err 'deviceCreate answered 0x36b1'
says no_recovery err 'graphExecute answered 0x3f3'

# ---- tokens that begin and end a text ---------------------------------------------------------------

mkdir "$tmp/ends"
cp "$tmp/model"/*.bin "$tmp/ends/"
echo '{ "llm": { "bos": 10, "eos": [44] } }' >"$tmp/ends/qnnrt.json"     # a newline, a comma
llm --prompt "
$prompt" --max_gen 20
begun=$(cat "$tmp/out")
llm_with ends --prompt "$prompt" --max_gen 20 --stats "$tmp/stats"
wrote eos "${begun%%,*}"
says eos stats '"stopped": "end token"'
equal bos 24 "$(field prompt_tokens)"
echo "$numbers" >"$tmp/tokens"
llm_with ends --tokens "$tmp/tokens" --stats "$tmp/stats"
equal no_bos_for_numbers 23 "$(field prompt_tokens)"

# ---- shared memory --------------------------------------------------------------------------------

# Every tensor of both graphs is registered once, and given back: the ledger is strict.
QNNREF_TRACE=$tmp/trace
export QNNREF_TRACE
for kv in smart_mask shift_pointer; do
    : >"$tmp/trace"
    llm --prompt "$prompt" --max_gen 64 --memory memfd --kv $kv
    wrote "memory_$kv" "$expected"
    # a cache that moves registers its first 16 places
    case $kv in shift_pointer) count=44 ;; *) count=52 ;; esac
    says "memory_line_$kv" err "memory: memfd, $count of 52 tensors registered with the device"
    made_of=$(grep -c '^memRegister(.* -> 0x0 memory ' "$tmp/trace")
    equal "memory_given_back_$kv" "$made_of" "$(grep -c '^memDeRegister(.* -> 0x0$' "$tmp/trace")"
    equal "memory_once_$kv" "$made_of" "$(grep '^memRegister(' "$tmp/trace" | sort -u | wc -l)"
    # the order that the vendor documents: context, memory, executes, memory, context
    equal "memory_order_$kv" 'create register execute deregister free' "$(sed -n -e 's/^contextCreateFromBinary(.*/create/p' \
        -e 's/^memRegister(.*/register/p' -e 's/^graphExecute(.*/execute/p' -e 's/^memDeRegister(.*/deregister/p' \
        -e 's/^contextFree(.*/free/p' "$tmp/trace" | awk '!seen[$0]++' | tr '\n' ' ' | sed 's/ $//')"
    last=$(grep -n '^memDeRegister(' "$tmp/trace" | tail -n 1 | sed 's/:.*//')
    check "memory_before_contexts_$kv" "a context is freed before its registrations" \
        test "$last" -lt "$(grep -n '^contextFree(' "$tmp/trace" | head -n 1 | sed 's/:.*//')"
done
unset QNNREF_TRACE
QNNREF_FAULTS='fail=memRegister:0x3e8'
export QNNREF_FAULTS
llm --prompt "$prompt" --max_gen 64 --memory memfd
wrote memory_refused "$expected"
says memory_refused_line err 'memory: memfd, 0 of 52 tensors registered with the device'
unset QNNREF_FAULTS
# libcdsprpc.so is found by the system's search, as on a phone; an old one has no rpcmem_alloc2
here=$(cd "$build" && pwd)
for library in fake fake/old; do
    LD_LIBRARY_PATH=$here/$library
    export LD_LIBRARY_PATH
    llm --prompt "$prompt" --max_gen 64 --memory shared
    wrote "memory_rpcmem_$library" "$expected"
    says "memory_rpcmem_line_$library" err 'memory: rpcmem, 52 of 52 tensors registered with the device'
done
LD_LIBRARY_PATH=:$here/fake
llm --prompt x --max_gen 1 --memory rpcmem
failed memory_unsafe_search LD_LIBRARY_PATH
unset LD_LIBRARY_PATH
llm --prompt x --max_gen 1 --memory dmabuf
if [ $status -ne 0 ]; then failed memory_missing /dev/dma_heap/system; fi

# ---- figures --------------------------------------------------------------------------------------

llm --prompt "$prompt" --max_gen 40 --stats "$tmp/stats"
is stats 0
check stats "not JSON: $("$build/c99/json_check" "$tmp/stats")" sh -c '"$1" "$2" | grep -q ": accept$"' - "$build/c99/json_check" "$tmp/stats"
equal stats_prompt 23 "$(field prompt_tokens)"
equal stats_generated 40 "$(field generated_tokens)"
equal stats_factor 1000 "$(field SCALING_FACTOR_UNITS_PER_SECOND)"
equal stats_count 39 "$(field count)"
equal stats_steps 40 "$(field steps)"
equal stats_executes 80 "$(field executes)"
says stats stats '"stopped": "max_gen"'
holds stats_order 'a <= b && b <= c && c <= d && d <= e && e <= f && a > 1600000000000' \
    -v a="$(field model_load_start_ms)" -v b="$(field model_load_end_ms)" -v c="$(field inference_start_ms)" \
    -v d="$(field prompt_eval_end_ms)" -v e="$(field first_token_ms)" -v f="$(field inference_end_ms)"
holds stats_percentiles '0 < a && a <= b && b <= c && c <= d' \
    -v a="$(field p50)" -v b="$(field p90)" -v c="$(field p99)" -v d="$(field max)"
holds stats_split 'a > 0 && b > 0 && s >= 0 && a + b <= 1.01 * (t + 1)' -v a="$(field backend_ms)" -v b="$(field host_ms)" \
    -v s="$(field aggregate_sampling_time_ms)" -v t="$(($(field inference_end_ms) - $(field inference_start_ms) + 1))"
holds stats_memory '0 < c && c < a && a < n' -v a="$(field arena_bytes)" -v n="$(field naive_bytes)" -v c="$(field cache_bytes)"
llm --prompt '' --stats "$tmp/stats"
is stats_without_answer 1
check stats_without_answer "not JSON" sh -c '"$1" "$2" | grep -q ": accept$"' - "$build/c99/json_check" "$tmp/stats"
equal stats_without_answer 0 "$(field first_token_ms)"

# There is a row for every token that was read: the prompt's 23, and all written ones except the last.
llm --prompt "$prompt" --max_gen 40 --dump_logits "$tmp/logits"
wrote dump "$(cut 40)"
equal dump_bytes $(((23 + 39) * 256 * 4)) "$(wc -c <"$tmp/logits")"
if [ -n "$python" ]; then
    found=$($python -c 'import struct, sys
data = open(sys.argv[1], "rb").read()
rows = [struct.unpack_from("<256f", data, at) for at in range(0, len(data), 1024)]
print("".join(chr(max(range(256), key=lambda i: (row[i], -i))) for row in rows[22:]))' "$tmp/logits")
    equal dump_rows "$(cut 40)" "$found"
else
    skip dump_rows "python3 is missing"
fi

# ---- line by line ---------------------------------------------------------------------------------

fed "$prompt\n" --max_gen 40
wrote line "$(cut 40)"
lacks line err '> '
fed "$prompt" --max_gen 40
wrote line_without_end "$(cut 40)"
# Earlier lines count: one text in two lines gives the same as the text at once.
llm --prompt "$prompt$(cut 20) Amen, and" --max_gen 12
later=$(cat "$tmp/out")
fed "$prompt\n Amen, and\n" --max_gen 20 --stats "$tmp/stats"
is conversation 0
equal conversation "$(cut 20)" "$(head -n 1 "$tmp/out")"
equal conversation_later "$later" "$(sed -n 2p "$tmp/out" | head -c 12)"
equal conversation_read $((23 + 10)) "$(field prompt_tokens)"
says conversation stats '"stopped": "end of input"'
fed "$prompt\n/reset\n$prompt\n/quit\n$prompt\n" --max_gen 20
wrote reset "$(cut 20)
$(cut 20)"
for seed in 1 2; do
    fed "$prompt\n/reset\n$prompt\n" --max_gen 20 --temperature 1.2 --seed $seed
    equal reset_seed_$seed "$(head -n 1 "$tmp/out")" "$(tail -n 1 "$tmp/out")"
done
# A line that cannot be answered is refused, and the others are answered as without it.
fed "$prompt\n$(printf '%128s' x)\n Amen, and\n" --max_gen 20
is refused_line 1
says refused_line err 'the prompt has 128 tokens, and there is room for 126'
equal refused_line "$(cut 20)||" "$(head -n 2 "$tmp/out" | tr '\n' '|')"
equal behind_refused_line "$(printf '%.12s' "$later")" "$(sed -n 3p "$tmp/out" | head -c 12)"
fed "$prompt\n\n\n" --max_gen 20
wrote empty_line_goes_on "$(cut 20)
$(cut 40 | tail -c 20)
$(cut 60 | tail -c 20)"
# A full conversation continues without its oldest tokens: by default an answer fills it. Of the 127
# tokens read, the ones that stay leave room for 1 + 4 of the prompt and 31 of an answer.
fed "$prompt\n and\n\n/reset\n$prompt\n"
is full 0
equal full_lines 4 "$(wc -l <"$tmp/out")"
equal full "$(head -n 1 "$tmp/out")" "$(tail -n 1 "$tmp/out")"
says full err 'dropped the oldest 36 of 127 tokens, from 1 of 1 turns'
says full_again err 'dropped the oldest 92 of 127 tokens, from 1 of 2 turns'
equal full_messages 2 "$(grep -c 'dropped the oldest' "$tmp/err")"
cp "$tmp/out" "$tmp/full"
kept=$(printf '%s%s' "$prompt" "$(head -n 1 "$tmp/full")" | tail -c 92)
llm --prompt "$kept and"
wrote full_second_answer "$(sed -n 2p "$tmp/full")"
# Whole turns are removed first; an answer that is limited needs less room.
fed "$prompt\n and\n said\n the\n of\n" --max_gen 20
is full_turns 0
equal full_turns_lines 5 "$(wc -l <"$tmp/out")"
says full_turns err 'dropped the oldest 43 of 115 tokens, from 1 of 4 turns'
kept=" and$(sed -n 2p "$tmp/out") said$(sed -n 3p "$tmp/out") the$(sed -n 4p "$tmp/out") of"
wanted_line=$(sed -n 5p "$tmp/out")
llm --prompt "$kept" --max_gen 20
wrote full_turns_answer "$wanted_line"
# A prompt that needs the whole text removes all of the conversation.
fed "$prompt\n$(printf '%126s' x)\n" --max_gen 20
is full_of_prompt 0
says full_of_prompt err 'dropped the oldest 42 of 42 tokens, from 1 of 1 turns'
equal full_of_prompt_lines 2 "$(wc -l <"$tmp/out")"
fed '' --max_gen 5 --stats "$tmp/stats"
is no_lines 0
silent no_lines out
equal no_lines 0 "$(field prompt_tokens)"
fed '/quit\n' --max_gen 5
is quit_at_once 0
silent quit_at_once out
fed "/reset\n\n" --max_gen 5
is empty_line 1
says empty_line err 'the prompt is empty'

# ---- tokens that are not bytes ----------------------------------------------------------------------

if [ -n "$python" ]; then
    mkdir "$tmp/padded"
    check padded "no model with more tokens" $python "$tests/harness/pad_model.py" "$data/llm/model" "$tmp/padded" 300
    made more "$tmp/padded" --type f32
    llm_with more --prompt x
    failed no_bytes 'the model has 300 tokens'
    hinted no_bytes_hint examples/llm/chat.py
    echo "$numbers" >"$tmp/tokens"
    llm_with more --tokens "$tmp/tokens" --max_gen 64
    wrote more "$wanted "
    echo "65 300" >"$tmp/tokens"
    llm_with more --tokens "$tmp/tokens"
    failed more_range 'token 2 is 300: out of range, the vocabulary has 0 to 299'
    # 256 tokens that are not bytes.
    fed "$numbers\n\n" --numbers --max_gen 20
    is numbers 0
    equal numbers "$(cut 40 | od -An -v -tu1 | tr -s ' \n' ' ' | sed 's/^ //; s/ $//') " "$(tr -d '\n' <"$tmp/out")"
    equal numbers_lines 2 "$(wc -l <"$tmp/out")"
    fed "$prompt\n" --numbers
    is numbers_words 1
    says numbers_words err 'token 1 is "And"'
    equal numbers_words '' "$(cat "$tmp/out")"
    # chat.py with a tokenizer of bytes in place of the package.
    cat >"$tmp/tokenizers.py" <<'end'
class Tokenizer:
    def from_file(path):
        open(path).close()
        return Tokenizer()
    def encode(self, text, add_special_tokens):
        encoding = lambda: None
        encoding.ids = list(text.encode())
        return encoding
    def decode(self, tokens):
        return bytes(tokens).decode(errors="replace")
end
    printf '%s\n/reset\n%s\n Amen, and\n/quit\nnever\n' "$prompt" "$prompt" >"$tmp/in"
    PYTHONPATH="$tmp" PYTHONDONTWRITEBYTECODE=1 $python "$tests/../examples/llm/chat.py" --tokenizer "$tests/harness/pad_model.py" -- \
        "$tool" --ctx_dir "$tmp/more" --backend_so "$ref" --max_gen 20 <"$tmp/in" >"$tmp/out" 2>"$tmp/err"
    status=$?
    is chat 0
    equal chat "$(cut 20)|$(cut 20)|" "$(head -n 2 "$tmp/out" | tr '\n' '|')"
    equal chat_later "$(printf '%.12s' "$later")" "$(sed -n 3p "$tmp/out" | head -c 12)"
    equal chat_lines 3 "$(wc -l <"$tmp/out")"
    # Nobody reads the answers, or nobody answers: no traceback, and no model that goes on.
    chat() { PYTHONPATH="$tmp" PYTHONDONTWRITEBYTECODE=1 $before $python "$tests/../examples/llm/chat.py" --tokenizer "$tests/harness/pad_model.py" -- "$@"; }
    cat >"$tmp/unread" <<'end'
#!/usr/bin/env python3
import os, subprocess, sys
read_end, write_end = os.pipe()
os.close(read_end)
sys.exit(subprocess.call(sys.argv[1:], stdout=write_end))
end
    before="$python $tmp/unread"
    chat "$tool" --ctx_dir "$tmp/more" --backend_so "$ref" --max_gen 20 <"$tmp/in" 2>"$tmp/err"
    equal chat_closed 1 $?
    before=
    lacks chat_closed err Traceback
    lacks chat_closed err 'Exception ignored'
    yes "$prompt" | head -n 9999 | chat false >"$tmp/out" 2>"$tmp/err"
    equal chat_without_model 1 $?
    silent chat_without_model err
    chat "$tmp/none" </dev/null >"$tmp/out" 2>"$tmp/err"
    equal chat_unknown 2 $?
    says chat_unknown err "cannot run $tmp/none: No such file"
    # On a terminal, control bytes of a model are visible there, too.
    cat >"$tmp/says_esc" <<'end'
#!/bin/sh
read -r line
echo '27 91 50 74 7 226 128 174 65 '
end
    chmod +x "$tmp/says_esc"
    PYTHONPATH="$tmp" PYTHONDONTWRITEBYTECODE=1 $python - "$tests/../examples/llm/chat.py" --tokenizer "$tests/harness/pad_model.py" -- \
        "$tmp/says_esc" >"$tmp/out" 2>"$tmp/err" <<'end'
import os, pty, sys
child, fd = pty.fork()
if child == 0:
    os.execv(sys.executable, [sys.executable] + sys.argv[1:])
os.write(fd, b"x\n/quit\n")
shown = b""
while True:
    try:
        part = os.read(fd, 65536)
    except OSError:
        break
    if not part:
        break
    shown += part
os.waitpid(child, 0)
assert b"\\x1b[2J\\x07\\u202eA" in shown and b"\x1b" not in shown and b"\x07" not in shown, shown
end
    check chat_terminal "$(tail -n 1 "$tmp/err")" test ! -s "$tmp/err"
else
    skip more "python3 is missing"
fi

# ---- terminals ------------------------------------------------------------------------------------

# At a high temperature the model writes bytes of every kind. A file gets them unchanged; on a terminal
# control bytes are shown as text.
if [ -n "$python" ]; then
    llm --prompt "$prompt" --max_gen 100 --temperature 1000 --seed 6
    is any_bytes 0
    cp "$tmp/out" "$tmp/any"
    check any_bytes "no ESC and no BEL in a file" $python -c 'import sys
data = open(sys.argv[1], "rb").read()
assert b"\x1b" in data or b"\x07" in data' "$tmp/any"
    $python - "$tmp/any" "$tool" --ctx_dir "$tmp/model" --backend_so "$ref" --prompt "$prompt" --max_gen 100 \
        --temperature 1000 --seed 6 >"$tmp/python" 2>&1 <<'end'
import os, pty, re, sys
raw = open(sys.argv[1], "rb").read()
child, fd = pty.fork()
if child == 0:
    os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
    os.execv(sys.argv[2], sys.argv[2:])
shown = b""
while True:
    try:
        part = os.read(fd, 65536)
    except OSError:
        break
    if not part:
        break
    shown += part
assert os.waitpid(child, 0)[1] == 0, "it failed"
shown = shown.replace(b"\r\n", b"\n")
text = shown.decode("utf-8")
bad = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", text)
assert bad is None, "on the terminal: %r" % bad.group()
assert re.sub(rb"\\x([0-9A-F]{2})", lambda m: bytes([int(m.group(1), 16)]), shown) == raw, "%r, not %r" % (shown, raw)
end
    check terminal "$(tail -n 1 "$tmp/python")" test ! -s "$tmp/python"
else
    skip terminal "python3 is missing"
fi

# ---- Ctrl-C -----------------------------------------------------------------------------------------

# begun NAME FILE: wait until a file is not empty
begun() {
    n=0
    while [ ! -s "$2" ] && [ $n -lt 200 ]; do
        sleep 0.05
        n=$((n + 1))
    done
    if [ -s "$2" ]; then good; else bad "$1" "nothing in $2: $(cat "$tmp/err")"; fi
}
QNNREF_FAULTS='delay=graphExecute:30ms'
export QNNREF_FAULTS
: >"$tmp/out"
"$tool" --ctx_dir "$tmp/model" --backend_so "$ref" --prompt "$prompt" --stats "$tmp/stats" >"$tmp/out" 2>"$tmp/err" </dev/null &
child=$!
begun interrupt "$tmp/out"
kill -INT $child
wait $child
status=$?
is interrupt 130
says interrupt err 'tokens written'
says interrupt stats '"stopped": "interrupted"'
count=$(field generated_tokens)
holds interrupt_early 'n >= 1 && n < 60' -v n="$count"
equal interrupt_text "$(cut "$count")" "$(cat "$tmp/out")"

mkfifo "$tmp/fifo"
: >"$tmp/out"
exec 3<>"$tmp/fifo"
"$tool" --ctx_dir "$tmp/model" --backend_so "$ref" --max_gen 2 --stats "$tmp/stats" <"$tmp/fifo" >"$tmp/out" 2>"$tmp/err" &
child=$!
echo "$prompt" >&3
begun interrupt_line "$tmp/out"
sleep 0.3
kill -INT $child
wait $child
status=$?
exec 3>&-
is interrupt_line 130
equal interrupt_line "$(cut 2)" "$(cat "$tmp/out")"
says interrupt_line stats '"stopped": "interrupted"'
equal interrupt_line_count 2 "$(field generated_tokens)"

# A file gets its name when it is complete, and does not appear when a signal ends the program.
for signal in TERM HUP; do
    rm -f "$tmp/rows" "$tmp/stats"
    : >"$tmp/out"
    unset QNNREF_LEDGER
    "$tool" --ctx_dir "$tmp/model" --backend_so "$ref" --prompt "$prompt" --stats "$tmp/stats" --dump_logits "$tmp/rows" \
        >"$tmp/out" 2>"$tmp/err" </dev/null &
    child=$!
    begun aside_$signal "$tmp/out"
    equal aside_$signal 2 "$(find "$tmp" -name '*.tmp' | wc -l | tr -d ' ')"
    check aside_$signal "the file is there before it is whole" test ! -e "$tmp/rows"
    kill -$signal $child
    wait $child 2>/dev/null
    status=$?
    check aside_${signal}_status "status $status, not that of a signal" test "$status" -gt 128
    equal aside_${signal}_leftovers '' "$(find "$tmp" -name '*.tmp' -o -name rows -o -name stats)"
done

# While calls of the backend take long: the first is remembered (it wakes the first shard only), the
# second ends it in the second shard.
QNNREF_FAULTS='delay=graphExecute:1500ms'
: >"$tmp/out"
unset QNNREF_LEDGER
"$tool" --ctx_dir "$tmp/model" --backend_so "$ref" --prompt "$prompt" >"$tmp/out" 2>"$tmp/err" </dev/null &
child=$!
begun second_interrupt "$tmp/out"
sleep 0.2
kill -INT $child
sleep 0.2
check second_interrupt "the first one killed it" kill -0 $child
kill -INT $child
wait $child 2>/dev/null
status=$?
is second_interrupt 130
lacks second_interrupt err 'tokens written'
unset QNNREF_FAULTS

# ---- the genuine backend ----------------------------------------------------------------------------

if [ -f "$release/libQnnHtp.so" ]; then
    run --ctx_dir "$data/llm/w8a16_one" --backend_so "$release/libQnnHtp.so" --prompt "$prompt" --max_gen 64
    wrote htp "$expected"
    for resident in one 2000000; do
        run --ctx_dir "$data/llm/w8a16_four" --backend_so "$release/libQnnHtp.so" --prompt "$prompt" --max_gen 3 \
            --resident $resident
        wrote "htp_$resident" "$(cut 3)"
        says "htp_$resident" err ' on the device'
    done
    run --ctx_dir "$data/llm/w8a16_four" --describe --backend_so "$release/libQnnHtp.so"
    is htp_describe 0
    says htp_describe out 'vocabulary 256'
else
    skip htp "no libQnnHtp.so in $release: make qnn-libs"
fi
finish
