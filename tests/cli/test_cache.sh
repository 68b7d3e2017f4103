#!/bin/sh
# qnnrt-run compile --cache: hits, misses, damage, two processes, and each option in the key.
#     sh tests/cli/test_cache.sh [BUILD_DIR [RELEASE_DIR]]
suite=test_cache
. "$(dirname "$0")/../harness/tool.sh"
ref=$build/libQnnRef.so
graph=$data/ir/torch_cnn.json
weights=$tmp/cnn.safetensors
cache=$tmp/cache

if ! python3 "$tests/harness/make_weights.py" "$weights" "$data/ir/torch_cnn.npz"; then
    skip weights "python3 makes the weights"
    finish
    exit
fi

# compile FOLDER ARGUMENT ...: a graph with the cache, on libQnnRef.so
compile() {
    folder=$1
    shift
    run compile "$graph" --weights "$weights" --backend_so "$ref" --output_dir "$tmp/$folder" --cache "$cache" "$@"
}
entries() { find "$cache" -type f | wc -l; }
key() { sed -n 's/^cache     key \([0-9a-f]*\), .*/\1/p' "$tmp/out"; }

# ---- hits, byte for byte ----
compile fresh
is fresh 0
says new out "cache     new entry"
first=$(key)
compile again
is again 0
says hit out "the files are in entry $first: copied 2"
lacks not_lowered out "lowered "
check equal "$(diff -r "$tmp/fresh" "$tmp/again")" diff -r "$tmp/fresh" "$tmp/again"
run compile "$graph" --weights "$weights" --backend_so "$ref" --output_dir "$tmp/without"
check equal_without "another binary than without a cache" diff -r "$tmp/without" "$tmp/again"
check one "$(entries) files" test "$(entries)" -eq 1
compile verified --verify 2 --report "$tmp/report" --svg "$tmp/x.svg"
is verified 0
says verified_hit out "the files are in entry $first"
says verify_ran out "verified"
check report "no report" test -s "$tmp/report"
run --ctx_dir "$tmp/again" --backend_so "$ref"
is runs 0
# A file of the same name elsewhere is the same; another name of the binary is not.
compile renamed --binary_file other
says renamed out "cache     new entry"
check renamed_file "$(ls "$tmp/renamed")" test -s "$tmp/renamed/other.bin"

# ---- what is in the key ----
echo '{}' >"$tmp/map.json"
# Options that change nothing, and those that do, each with a value. Others of the help are in the key because the
# table says nothing else; those that name a file must be here, since its content counts.
none="calibrate calibrate_so calibrate_method encodings write_encodings output_dir binary_file graph_name weights backend_so backend progress report svg dot verify verify_tolerance verify_nodes
cache cache_limit cache_list cache_clear log_level version help"
values="io=native fp32= fp16= shards=2 rope_positions=128 rope_base=10000 rope_plain= soc_model=43 dsp_arch=75 optimization_level=2 vtcm_mib=4
hvx_threads=2 weight_sharing= system_so=$ref weight_bits=8 op_package= op_map=$tmp/map.json config_file=$tmp/map.json"
# Of a folder with a language model.
folders="prefill=8 decode=2 context_lengths=64 shards=2 embedding=host"
"$tool" compile --help | sed -n 's/^  --\([a-z_0-9]*\) *\([^ ,]*\).*/\1=\2/p' >"$tmp/options"
for line in $(cat "$tmp/options"); do
    option=${line%%=*}
    case $line in *FILE* | *PATH* | *LIST* | *DIR*) value=none ;; *) value=same ;; esac
    for word in $none; do [ "$word" = "$option" ] && value=same; done
    for word in $values; do [ "${word%%=*}" = "$option" ] && value=${word#*=}; done
    case $value in
    none) bad "option_$option" "tests/cli/test_cache.sh does not know it: is it in the key, or among those that change nothing?" ;;
    same) good ;;
    *)
        [ "$option" = op_package ] && continue    # below
        if [ -n "$value" ]; then compile key "--$option" "$value"; else compile key "--$option"; fi
        check "key_$option" "the key is $(key), as without it" test "$(key)" != "$first" -a -n "$(key)"
    esac
done
for word in io=float log_level=off verify=1; do
    compile same "--${word%%=*}" "${word#*=}"
    case $word in
    io=*) good ;;                                 # the default written out may be another key
    *) check "same_$word" "the key is $(key)" test "$(key)" = "$first" ;;
    esac
done
if [ -f "$data/llm/model/config.json" ]; then
    run compile "$data/llm/model" --backend_so "$ref" --output_dir "$tmp/llm" --cache "$cache" --prefill 0 --context_lengths 32
    is llm 0
    model=$(key)
    rm -rf "$tmp/llm2"
    run compile "$data/llm/model" --backend_so "$ref" --output_dir "$tmp/llm2" --cache "$cache" --prefill 0 --context_lengths 32
    says llm_hit out "the files are in entry $model"
    check llm_equal "$(diff -r "$tmp/llm" "$tmp/llm2")" diff -r "$tmp/llm" "$tmp/llm2"
    for word in $folders; do
        case $word in prefill=*) more="--context_lengths 32" ;; context_lengths=*) more="--prefill 0" ;; *) more="--prefill 0 --context_lengths 32" ;; esac
        # shellcheck disable=SC2086
        run compile "$data/llm/model" --backend_so "$ref" --output_dir "$tmp/key" --cache "$cache" $more "--${word%%=*}" "${word#*=}"
        check "key_${word%%=*}" "the key is $(key), as without it" test "$(key)" != "$model" -a -n "$(key)"
    done
    # The table of embeddings is a file beside the binaries.
    rm -rf "$tmp/key2"
    run compile "$data/llm/model" --backend_so "$ref" --output_dir "$tmp/key2" --cache "$cache" --prefill 0 --context_lengths 32 --embedding host
    says table_hit out "the files are in entry"
    check table "$(ls "$tmp/key2")" cmp "$tmp/key/embeddings.raw" "$tmp/key2/embeddings.raw"
    check table_program "another program" cmp "$tmp/key/qnnrt.json" "$tmp/key2/qnnrt.json"
fi
# Samples: what they show is in the key, and how the files are named is not.
python3 - "$tmp" <<'PYTHON'
import struct, sys
for name, most in (("x", 1.0), ("same", 1.0), ("larger", 1.5)):
    values = [most * ((i * 37) % 768 - 384) / 384 for i in range(768)]
    open("%s/%s.raw" % (sys.argv[1], name), "wb").write(struct.pack("<768f", *values))
    open("%s/%s.txt" % (sys.argv[1], name), "w").write("%s/%s.raw\n" % (sys.argv[1], name))
PYTHON
compile quantized --calibrate "$tmp/x.txt"
is quantized 0
quantized=$(key)
check key_quantized "the key of quantized activations is that of floats" test "$quantized" != "$first" -a -n "$quantized"
compile quantized_again --calibrate "$tmp/same.txt" --calibrate_so "$ref"
says quantized_hit out "the files are in entry $quantized"
check quantized_equal "another binary" diff -r "$tmp/quantized" "$tmp/quantized_again"
cp "$tmp/larger.raw" "$tmp/x.raw"
compile codes_other --calibrate "$tmp/x.txt"
is codes_other 0
check key_samples "the samples are not in the key" test "$(key)" != "$quantized" -a -n "$(key)"
compile codes_more --calibrate "$tmp/same.txt" --activation_bits 8
is codes_more 0
check key_bits "the bits of activations are not in the key" test "$(key)" != "$quantized" -a -n "$(key)"
run compile "$graph" --weights "$weights" --calibrate_so "$ref" --output_dir "$tmp/none"
is samples_missing 2
# A weight that the graph reads, one bit of it; one that it does not read; the graph; its name; the library.
python3 - "$weights" "$tmp" <<'PYTHON'
import json, struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
for name, key in (("read", None), ("unread", "b1.num_batches_tracked")):
    key = key or sorted(k for k in header if "weight" in k)[0]
    copy = bytearray(data)
    copy[8 + size + header[key]["data_offsets"][0]] ^= 1
    open("%s/%s.safetensors" % (sys.argv[2], name), "wb").write(copy)
PYTHON
keep=$weights
weights=$tmp/read.safetensors
compile read
check key_weight "a bit of a weight is not in the key" test "$(key)" != "$first" -a -n "$(key)"
weights=$tmp/unread.safetensors
compile unread
check key_unread "a weight that nothing reads is in the key" test "$(key)" = "$first"
weights=$keep
compile name --graph_name another
check key_name "the name of a graph is not in the key" test "$(key)" != "$first" -a -n "$(key)"
cp "$ref" "$tmp/libQnnRef.so"
printf x >>"$tmp/libQnnRef.so"
run compile "$graph" --weights "$weights" --backend_so "$tmp/libQnnRef.so" --output_dir "$tmp/library" --cache "$cache"
check key_library "the library is not in the key" test "$(key)" != "$first" -a -n "$(key)"
sed 's/"linear"/"linear" /' "$graph" >"$tmp/torch_cnn.json"
cmp -s "$graph" "$tmp/torch_cnn.json" && printf ' ' >>"$tmp/torch_cnn.json"
run compile "$tmp/torch_cnn.json" --weights "$weights" --backend_so "$ref" --output_dir "$tmp/text" --cache "$cache"
check key_graph "the text of a graph is not in the key" test "$(key)" != "$first" -a -n "$(key)"

# ---- damage ----
entry=$(find "$cache" -name "$first*")
for damage in flip cut empty foreign; do
    case $damage in
    flip) python3 -c 'import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[len(data) - 100] ^= 4
open(sys.argv[1], "wb").write(data)' "$entry" ;;
    cut) head -c 20000 "$entry" >"$tmp/cut" && mv "$tmp/cut" "$entry" ;;
    empty) : >"$entry" ;;
    foreign) cp "$(find "$cache" -type f | grep -v "$first" | head -n 1)" "$entry" ;;
    esac
    rm -rf "$tmp/damaged"
    compile damaged
    is "damaged_$damage" 0
    says "damaged_note_$damage" out "is damaged: "
    says "damaged_new_$damage" out "cache     new entry $first"
    check "damaged_equal_$damage" "another binary" diff -r "$tmp/fresh" "$tmp/damaged"
    compile repaired
    says "repaired_$damage" out "the files are in entry $first"
done

# ---- several backends ----
# mixed FOLDER ARGUMENT ...: torch_cnn on libQnnRef.so in two roles and the host, whose weights lie in files
mixed() {
    folder=$1
    shift
    run compile "$graph" --weights "$weights" --backends npu,cpu,host --backend_so "npu=$ref" --backend_so "cpu=${cpu:-$ref}" \
        --pin conv2d=npu --pin linear=host --pin softmax=cpu --output_dir "$tmp/$folder" --cache "$cache" "$@"
}
mixed mixed1 --verify 1
is mixed 0
says mixed_new out "cache     new entry"
several=$(key)
check mixed_files "$(ls "$tmp/mixed1")" test -s "$tmp/mixed1/host.json" -a -s "$tmp/mixed1/torch_cnn_host.raw" -a \
    -s "$tmp/mixed1/torch_cnn_npu_0.bin" -a -s "$tmp/mixed1/torch_cnn_cpu_0.bin" -a -s "$tmp/mixed1/qnnrt.json"
mixed mixed2 --verify 1
is mixed_again 0
says mixed_hit out "the files are in entry $several: copied $(find "$tmp/mixed1" -type f | wc -l)"
lacks mixed_no_plan out 'plan      graph'
says mixed_verified out 'verify    graph "torch_cnn", 1 run'
check mixed_equal "$(diff -r "$tmp/mixed1" "$tmp/mixed2")" diff -r "$tmp/mixed1" "$tmp/mixed2"
for word in --explain_plan "--report $tmp/mixed.txt"; do
    # shellcheck disable=SC2086
    mixed mixed3 $word
    says "mixed_plan_${word%% *}" out "cache     not read: ${word%% *} needs the plan"
    says "mixed_shown_${word%% *}" out 'plan      graph "torch_cnn"'
    check "mixed_made_${word%% *}" "another folder" diff -r "$tmp/mixed1" "$tmp/mixed3"
    check "mixed_same_${word%% *}" "the key is $(key)" test "$(key)" = "$several"
done
for word in "--pin relu=cpu" "--pin_inputs relu=cpu" "--speed cpu=7" "--state_policy error" --no_ask --no_validate --fp32; do
    # shellcheck disable=SC2086
    mixed other $word
    check "mixed_key_$word" "the key is $(key), as without it" test "$(key)" != "$several" -a -n "$(key)"
done
cpu=$tmp/libQnnRef.so
mixed other
cpu=
check mixed_key_library "the library of the second role is not in the key" test "$(key)" != "$several" -a -n "$(key)"
run compile "$graph" --weights "$weights" --backends cpu,npu,host --backend_so "npu=$ref" --backend_so "cpu=$ref" --output_dir "$tmp/other" \
    --pin conv2d=npu --pin linear=host --pin softmax=cpu --cache "$cache"
check mixed_key_roles "the order of the roles is not in the key" test "$(key)" != "$several" -a -n "$(key)"
mixed_entry=$(find "$cache" -name "$several*")
python3 -c 'import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[len(data) // 2] ^= 4
open(sys.argv[1], "wb").write(data)' "$mixed_entry"
rm -rf "$tmp/mixed2"
mixed mixed2
says mixed_damaged out "is damaged: "
says mixed_rebuilt out "cache     new entry $several"
check mixed_damaged_equal "another folder" diff -r "$tmp/mixed1" "$tmp/mixed2"
rm -rf "$tmp/mixed2"
mixed mixed2
says mixed_repaired out "the files are in entry $several"
run run "$tmp/mixed2" --backend_so "npu=$ref" --backend_so "cpu=$ref"
is mixed_runs 0
rm -rf "$tmp/never"
mixed never --verify 1 --verify_tolerance 1e-30 --speed cpu=9
is mixed_wrong 1
lacks mixed_wrong_kept out "cache     new entry"

# ---- list, limit and clear ----
run compile --cache "$cache" --cache_list
is list 0
says listed out "torch_cnn.bin, qnnrt.json"
check sum "$(tail -n 1 "$tmp/out")" grep -q "^$(entries) entries, " "$tmp/out"
big=$(ls -l "$entry" | awk '{ print $5 }')
compile limited --shards 3 --cache_limit 1
is limited 0
total=$(find "$cache" -type f -exec cat {} + | wc -c)
check limit "$total bytes, each entry $big" test "$total" -le 1048576
run compile --cache "$cache" --cache_clear
is clear 0
says cleared out "removed "
check cleared_all "$(ls "$cache")" test "$(entries)" -eq 0
run compile --cache_list
is list_alone 2
run compile --cache_limit 5 "$graph" --output_dir "$tmp/none"
is limit_alone 2
run compile "$graph" --cache "$cache" --cache_clear
is clear_and_compile 2
run compile --cache "$tmp/nowhere" --cache_list
is list_nowhere 1
check nothing_made "a folder was made" test ! -e "$tmp/nowhere"

# ---- a cache that cannot be used is a note ----
: >"$tmp/file"
for folder in /proc/self "$tmp/file" "$tmp/no/such"; do
    rm -rf "$tmp/note"
    run compile "$graph" --weights "$weights" --backend_so "$ref" --output_dir "$tmp/note" --cache "$folder"
    is "unusable_$folder" 0
    check "unusable_says_$folder" "no note in: $(cat "$tmp/out")" grep -q "^note      .*cache" "$tmp/out"
    check "unusable_equal_$folder" "another binary" diff -r "$tmp/fresh" "$tmp/note"
done
# A failed verification keeps nothing.
run compile "$graph" --weights "$weights" --backend_so "$ref" --output_dir "$tmp/bad" --cache "$cache" --fp16 --verify 1 --verify_tolerance 1e-12
is wrong 1
check nothing_kept "$(ls "$cache")" test "$(entries)" -eq 0

# ---- processes ----
for i in 1 2 3 4; do
    "$tool" compile "$graph" --weights "$weights" --backend_so "$ref" --output_dir "$tmp/p$i" --cache "$cache" >"$tmp/p$i.out" 2>&1 &
done
wait
for i in 1 2 3 4; do check "process_$i" "$(cat "$tmp/p$i.out")" diff -r "$tmp/fresh" "$tmp/p$i"; done
check one_entry "$(ls "$cache")" test "$(entries)" -eq 1

# ---- a genuine library ----
if [ -f "$release/libQnnHtp.so" ]; then
    run compile "$graph" --weights "$weights" --backend_so "$release/libQnnHtp.so" --output_dir "$tmp/htp1" --cache "$cache"
    is htp 0
    run compile "$graph" --weights "$weights" --backend_so "$release/libQnnHtp.so" --output_dir "$tmp/htp2" --cache "$cache" --verify 1
    is htp_again 0
    says htp_hit out "the files are in entry"
    check htp_equal "another binary" diff -r "$tmp/htp1" "$tmp/htp2"
else
    skip htp "$release is missing"
fi
# ---- two compilations into one folder ----
# plain FOLDER NAME: the graph under this name, without the cache
plain() {
    "$tool" compile "$graph" --weights "$weights" --backend_so "$ref" --binary_file m --graph_name "$2" --output_dir "$1"
}
plain "$tmp/one" one >/dev/null
plain "$tmp/two" two >/dev/null
check pair "both graphs make the same files" sh -c '! cmp -s "$1/m.bin" "$2/m.bin" && ! cmp -s "$1/qnnrt.json" "$2/qnnrt.json"' - "$tmp/one" "$tmp/two"
# Another program has the folder: nothing is written before it leaves it.
mkdir "$tmp/taken"
exec 9<"$tmp/taken"
flock 9
(exec 9<&- && plain "$tmp/taken" one) >"$tmp/out" 2>&1 &
waits=$!
while kill -0 $waits 2>/dev/null && ! grep -q '^wait ' "$tmp/out"; do sleep 0.1; done
says waits out "wait      for another compilation, which writes into $tmp/taken"
check waits "files are there: $(ls "$tmp/taken")" test -z "$(ls -A "$tmp/taken")"
exec 9<&-
wait $waits
status=$?
is waited 0
check waited "other files" diff -r "$tmp/taken" "$tmp/one"
# A signal ends one that waits.
exec 9<"$tmp/taken"
flock 9
(exec 9<&- "$tool" compile "$graph" --weights "$weights" --backend_so "$ref" --output_dir "$tmp/taken") >"$tmp/out" 2>&1 &
waits=$!
while kill -0 $waits 2>/dev/null && ! grep -q '^wait ' "$tmp/out"; do sleep 0.1; done
kill -TERM $waits
wait $waits
status=$?
is ended 143
check ended "other files" diff -r "$tmp/taken" "$tmp/one"
exec 9<&-
# Whichever is the last, all files are its own.
for round in 1 2 3 4 5 6 7 8; do
    rm -rf "$tmp/both"
    plain "$tmp/both" one >/dev/null &
    plain "$tmp/both" two >/dev/null
    check "both_$round" "a compilation failed" test $? -eq 0
    wait $!
    check "both_$round" "a compilation failed" test $? -eq 0
    check "both_$round" "files of both: $(diff -rq "$tmp/both" "$tmp/one"; diff -rq "$tmp/both" "$tmp/two")" \
        sh -c 'diff -r "$1" "$2" || diff -r "$1" "$3"' - "$tmp/both" "$tmp/one" "$tmp/two"
done
finish
