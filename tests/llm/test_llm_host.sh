#!/bin/sh
# The engine of examples/server on the reference backend and on the genuine one: its own checks, and requests as lines.
#     sh tests/llm/test_llm_host.sh [BUILD_DIR [RELEASE_DIR]]
# Without the release folder its checks are skipped, or failed with QNNRT_REQUIRE_ALL=1.
#
# 2.608475 is the perplexity of its text by a plain float64 Llama in numpy:
#     python3 tests/llm/reference_llm.py --perplexity tests/data/llm/model \
#         "The voice of him that crieth in the wilderness, Prepare ye the way of the LORD, make straight"
suite=test_llm_host
. "$(dirname "$0")/../harness/tool.sh"

tool=$build/examples/server/server
export=$build/examples/llm/export
ref=$build/libQnnRef.so
model=$data/llm/model
perplexity=2.608475


# near NAME SHARE: the perplexity is right within this share
near() {
    found=$(sed -n 's/^perplexity of 93 bytes: \([0-9.]*\)$/\1/p' "$tmp/out")
    if awk -v a="$found" -v b=$perplexity -v share="$2" \
        'BEGIN { d = a / b - 1; exit !(a != "" && d <= share && -d <= share) }'; then good
    else bad "$1" "a perplexity of '$found', not $perplexity within $2 of it"; fi
}

# drafts NAME LABEL: some were accepted, some were refused, and each accepted one saved a step, of as many as tokens
drafts() {
    line=$(sed -n "s/^speculative decoding, drafts $2: \([0-9]*\) of \([0-9]*\) accepted, \([0-9]*\) tokens in \([0-9]*\) steps\$/\1 \2 \3 \4/p" "$tmp/out")
    if echo "$line" | awk 'NF == 4 && $1 > 0 && $1 < $2 && $1 + $4 == 48 && $3 == 48 { ok = 1 } END { exit !ok }'; then good
    else bad "$1" "accepted, drafted, tokens, steps: '$line'"; fi
}

# keeps NAME COUNT: the engine made this number of promises, and kept all
keeps() {
    is "$1" 0
    lacks "$1" out '  NO: '
    count=$(grep -c '^  yes: ' "$tmp/out")
    if [ "$count" -eq "$2" ]; then good; else bad "$1" "$count promises, not $2: $(cat "$tmp/out" "$tmp/err")"; fi
}

# The text of expected.json, which Qualcomm's own runtime writes too.
text=$(sed -n 's/.*"prompt": "And the LORD said unto ", "text": "\(.\{48\}\).*/\1/p' "$data/llm/expected.json" | head -n 1)

# engine NAME PROMISES SHARE FOLDER LIBRARY [DRAFT_FOLDER]: runs as it should
engine() {
    name=$1 promises=$2 share=$3
    shift 3
    run --check "$@"
    keeps "$name" "$promises"
    near "$name" "$share"
    drafts "$name" 'looked up'
    says "$name" out "greedy: And the LORD said unto $text"
}

# ---- the reference backend --------------------------------------------------------------------------

if [ ${#text} -eq 48 ]; then good; else bad expected "no text of 48 bytes in expected.json: '$text'"; fi
mkdir "$tmp/three" "$tmp/turned"
cp "$model/model.safetensors" "$tmp/three/"
sed 's/"num_hidden_layers": 4/"num_hidden_layers": 3/' "$model/config.json" >"$tmp/three/config.json"
made f32 "$model" --type f32
made draft "$tmp/three" --type f32
made w8a16 "$model" --type w8a16 --shards 4
made decode "$model" --type f32 --prefill 0

engine ref_f32 21 0.0001 "$tmp/f32" "$ref"
engine ref_w8a16_in_four_shards 21 0.01 "$tmp/w8a16" "$ref"
if [ -n "${QNNRT_TEST_ALL-}" ]; then         # the slow ones: make test-all
    made heads "$model" --type w8a16 --shards 2 --naming executorch
    made prefill "$model" --type f32 --decode 0
    engine ref_a_tensor_per_head 21 0.01 "$tmp/heads" "$ref"
    engine ref_without_decode_graph 21 0.0001 "$tmp/prefill" "$ref"
fi
engine ref_draft_model 23 0.0001 "$tmp/f32" "$ref" "$tmp/draft"
drafts ref_draft_model 'of a model'

# A graph of one token neither checks nor needs drafts. Fewer slots than texts, and chunks of 3 tokens, change no text.
run --check "$tmp/decode" "$ref"
keeps ref_without_prefill_graph 21
near ref_without_prefill_graph 0.0001
says ref_without_prefill_graph out 'looked up: 0 of 0 accepted, 48 tokens in '
run --check --slots 1 "$tmp/f32" "$ref"
keeps ref_one_slot 21
run --check --slots 3 --chunk 3 --by_cost "$tmp/w8a16" "$ref"
keeps ref_three_slots_small_chunks_and_costs 21

# A text outgrows the context: keys in float32 and in 8 bits.
for type in f32 w8a16; do
    run --check --shift "$tmp/$type" "$ref"
    keeps "ref_shift_$type" 23
    says "ref_shift_$type" out '127 tokens written in 31 cells, 9 shifts'
done

# These checks can fail: with another theta fewer tokens are predicted.
cp "$tmp/f32/forward_0.bin" "$tmp/turned/"
echo '{ "llm": { "rope": { "theta": 300 } } }' >"$tmp/turned/qnnrt.json"
run --check "$tmp/turned" "$ref"
found=$(sed -n 's/^perplexity of 93 bytes: \([0-9.]*\)$/\1/p' "$tmp/out")
check ref_another_theta "a perplexity of '$found', as with the right one" \
    awk -v a="$found" -v b=$perplexity 'BEGIN { exit !(a > 1.02 * b) }'

# ---- requests as lines ------------------------------------------------------------------------------

# lines ARGUMENT ...: the engine gets standard input; status, and $tmp/out and $tmp/err
lines() {
    "$tool" "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
}

# wrote NAME TEXT: the pieces of the answer NAME are this text together
wrote() {
    found=$(sed -n "s/^$1 [0-9]* text //p" "$tmp/out" | tr -d '\n')
    if [ "$found" = "$2" ]; then good; else bad "answer_$1" "'$found', not '$2'"; fi
}

# ends NAME LINE: the last line of the answer NAME
ends() {
    found=$(grep "^$1 [^ ]* e" "$tmp/out" | cut -d' ' -f3-)
    if [ "$found" = "$2" ]; then good; else bad "end_$1" "'$found', not '$2'"; fi
}

cut48=$(printf %.20s "$text")
lines "$tmp/f32" "$ref" <<'END'
# a and b begin; c joins with the prompt of a; b is cancelled; d waits for it
ask a write=20 : And the LORD said unto 
ask b write=30 temperature=0.8 top_k=40 seed=3 : In the beginning\x20
step 3
ask c write=20 drafts=4 : And the LORD said unto 
cancel b
wait
stats
ask stop write=48 stop=is\x20the stop=zzz : And the LORD said unto 
ask twice write=12 : And the LORD said unto 
wait
stats
END
is served 0
silent served err
wrote a "$cut48"
wrote c "$cut48"
wrote stop "$(printf %s "$text" | sed 's/is the.*//')"
ends a 'end length written=20 computed=42 steps=20 drafted=0 accepted=0 shifts=0'
ends b 'end cancelled written=2 computed=18 steps=3 drafted=0 accepted=0 shifts=0'
says c out 'c 2 begin memory=22 disk=0'
says twice out 'begin memory=22 disk=0'
# 42 of a, 18 of b, and of c its last token, 19 more, and drafts
found=$(sed -n 's/^c 2 end length written=20 computed=\([0-9]*\) steps=\([0-9]*\) drafted=\([0-9]*\) accepted=\([0-9]*\) shifts=0$/\1 \2 \3 \4/p' "$tmp/out")
counts=$(sed -n 's/^stats steps=\([0-9]*\) tokens=\([0-9]*\) .*/\2/p' "$tmp/out" | head -n 1)
if echo "$found $counts" | awk '{ exit !(NF == 5 && $1 + $4 == 20 && $1 == $2 && $3 > $4 && $5 == 42 + 18 + $1 + $3) }'; then good
else bad counted "computed, steps, drafted, accepted of c, and all tokens: $found $counts"; fi

# The same requests through a pipe, without waiting: other steps, the same texts.
printf 'ask %s write=20 : And the LORD said unto \n' a c | lines "$tmp/f32" "$ref" --slots 2
wrote a "$cut48"
wrote c "$cut48"

# A text of 240 tokens in a context of 127, beside others: one slot has 42 cells, of which 8 stay and each shift frees 17.
lines --shift --slots 3 "$tmp/f32" "$ref" "$tmp/draft" <<'END'
ask a write=240 keep=8 : And the LORD said unto 
ask b write=20 : And the LORD said unto 
ask c write=240 drafts=4 : And the LORD said unto 
ask d write=240 keep=40 : And the LORD said unto 
END
is shifts 0
silent shifts err
ends a 'end length written=240 computed=262 steps=240 drafted=0 accepted=0 shifts=13'
wrote b "$cut48"
check shifts "c is not shifted: $(grep '^c . end' "$tmp/out")" grep -q '^c . end length written=240 .* shifts=[1-9]' "$tmp/out"
says shifts out 'd - error -1 40 tokens to keep, expected below 21'
echo 'ask a write=240 : x' | lines --shift "$tmp/turned" "$ref"
says no_pairs out 'a - error 1 1 tokens and 240 to write, but the model remembers 127'

# Wrong lines are named, and the others are answered.
{
    printf 'ask a write=20 : And the LORD said unto \nask a : again\nask long write=500 : x\nask e foo=1 : x\nask e write=-1 : x\n'
    printf 'bogus\n\n# nothing\nask\nask f\nask g : \nask h : \\q\nask ../x : y\ncancel nobody\nzero\000byte\nask i temperature=nan : x\nask j stop= : x\n'
    printf '\033[31mred\nask k : '; head -c 70000 /dev/zero | tr '\0' k; printf '\nask last write=20 : And the LORD said unto '
} | lines "$tmp/f32" "$ref" --slots 1
is wrong_lines 0
wrote a "$cut48"
wrote last "$cut48"
for line in 'a - error -1 the name a is in use' 'long - error 1 1 tokens and 500 to write, but the model remembers 127' \
    'e - error -1 the option foo' 'e - error -1 the option write' '- - error -1 line 6: expected ask' 'f - error -1 expected' \
    'g - error -1 there is no prompt' 'h - error -1 expected' '- - error -1 expected a name' 'i - error -1 the option temperature' \
    'j - error -1 the option stop' '- - error -1 line 15: the line holds a zero byte' '- - error -1 line 19: the line is too long'; do
    says wrong_lines out "$line"
done
lacks wrong_lines_print_no_escapes out "$(printf '\033')"

# ---- texts on disk -----------------------------------------------------------------------------------

mkdir "$tmp/store"
lines --store "$tmp/store" "$tmp/f32" "$ref" <<'END'
ask a write=12 save=1 : And the LORD said unto 
wait
ask c write=12 save=1 : And the LORD said unto 
END
is saves 0
silent saves err
file_a=$(ls "$tmp/store")
check saves "not one file of 16 digits: $file_a" expr "$file_a" : '[0-9a-f]\{16\}\.text$'
printf 'ask b write=12 save=1 : In the beginning\\x20' | lines --store "$tmp/store" "$tmp/f32" "$ref"
other=$(ls "$tmp/store" | grep -v "$file_a")
check saves_another "not another file: $other" test -f "$tmp/store/$other"
cp -r "$tmp/store" "$tmp/damaged"
again() { printf 'ask a write=20 : And the LORD said unto \n' | lines --store "$1" "$2" "$ref"; }
again "$tmp/store" "$tmp/f32"
is restored 0
silent restored err
says restored out 'a 0 begin memory=0 disk=22'
wrote a "$cut48"
ends a 'end length written=20 computed=20 steps=20 drafted=0 accepted=0 shifts=0'

# refused NAME TEXT: the file of "a" is refused with its name and this text; the answer is right all the same
refused() {
    again "$tmp/damaged" "$tmp/f32"
    is "$1" 0
    says "$1" err "$file_a: $2"
    says "$1" out 'a 0 begin memory=0 disk=0'
    wrote a "$cut48"
    rm -rf "$tmp/damaged"
    cp -r "$tmp/store" "$tmp/damaged"
}
broken=$tmp/damaged/$file_a
# poke OFFSET BYTES: of the file
poke() { printf "$2" | dd of="$broken" bs=1 seek="$1" conv=notrunc 2>/dev/null; }
poke 0 x && refused another_kind 'not a stored text'
poke 8 '\001\002' && refused another_model 'a text of model'
poke 24 '\377\377\377\377' && refused many_tokens 'a text of 4294967295 tokens, expected 1 to 127'
poke 24 '\000' && refused no_tokens 'a text of 0 tokens'
poke 16 '\377\377\377\377\377\377\377\377' && refused state_too_large '70360 bytes, expected 176 and 18446744073709551615'
poke 40 x && refused another_token 'wrong checksum'
poke 400 x && refused damaged_state 'state: wrong checksum'
head -c 300 "$tmp/store/$file_a" >"$broken" && refused cut_short '300 bytes, expected 176 and 70184'
: >"$broken" && refused empty 'not a stored text'
cp "$tmp/store/$other" "$broken" && refused another_text "holds the text of $other"
rm "$broken" && ln -s "$tmp/store/$file_a" "$broken" && refused a_link ''
rm "$broken" && mkfifo "$broken" && refused a_pipe 'not a regular file'
rm "$broken" && mkdir "$broken" && refused a_folder 'not a regular file'
name=$(printf 'bad\033[31m.text') && : >"$tmp/damaged/$name"
again "$tmp/damaged" "$tmp/f32"
lacks hostile_name err "$(printf '\033')"
says hostile_name err 'bad\x1b[31m.text: not a stored text'
rm -rf "$tmp/damaged"

# Another model's texts are of no use to this one; a folder in which nothing can be written is said.
again "$tmp/store" "$tmp/decode"
is other_model 0
says other_model err 'a text of model'
wrote a "$cut48"
if [ "$(id -u)" -ne 0 ]; then
    mkdir "$tmp/closed" && chmod a-w "$tmp/closed"
    printf 'ask a write=20 save=1 : And the LORD said unto \n' | lines --store "$tmp/closed" "$tmp/f32" "$ref"
    is closed 0
    says closed err "$tmp/closed/"
    wrote a "$cut48"
fi
if [ -z "$(find "$tmp/store" -name '*.tmp')" ]; then good; else bad parts "files are left: $(ls "$tmp/store")"; fi

# ---- errors name their cause ------------------------------------------------------------------------

for words in '' '--slots' '--slots 0 x' '--slots 17 x' '--chunk 0 x' '--chunk y x' '--store' '--unknown x' 'a b c d'; do
    # shellcheck disable=SC2086  # words are several
    run $words
    is "usage_$words" 2
    says "usage_$words" err 'usage: host '
done
run "$tmp/nowhere" "$ref"
is no_folder 1
says no_folder err nowhere
run --store "$tmp/nowhere" "$tmp/f32" "$ref"
is no_store 1
says no_store err nowhere
made short "$model" --type f32 --context_lengths 64
run --check "$tmp/short" "$ref"
is short_context 1
says short_context err 'the model remembers 63 tokens'
run "$tmp/f32" "$ref" "$tmp/nowhere"
is no_draft 1
says no_draft err nowhere
run "$tmp/f32" "$ref" "$tmp/short"
is short_draft 1
says short_draft err 'remembers 63 tokens, expected at least 127'

# ---- the genuine backend ----------------------------------------------------------------------------

if [ -f "$release/libQnnHtp.so" ]; then
    engine htp_w8a16 17 0.01 "$data/llm/w8a16_one" "$release/libQnnHtp.so"
    if [ -n "${QNNRT_TEST_ALL-}" ]; then
        mkdir "$tmp/htp"
        cp "$data/llm/w8a16_one"/*.bin "$tmp/htp/"
        cp "$tmp/w8a16/qnnrt.json" "$tmp/htp/"
        printf 'ask %s keep=8 : And the LORD said unto \n' 'a write=120' 'b write=20' |
            lines --shift --slots 3 "$tmp/htp" "$release/libQnnHtp.so"
        is htp_shift 0
        ends a 'end length written=120 computed=142 steps=120 drafted=0 accepted=0 shifts=6'
        wrote b "$cut48"
    fi
else
    skip htp_w8a16 "no libQnnHtp.so in $release: make qnn-libs"
fi
finish
