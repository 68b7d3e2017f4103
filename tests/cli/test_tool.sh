#!/bin/sh
# qnnrt-run, seen from outside.
#
#   sh tests/cli/test_tool.sh [BUILD_DIR [RELEASE_DIR]]
#
# BUILD_DIR (default build) holds qnnrt-run and fake/libQnnFake.so. RELEASE_DIR (default: 2.51 below
# BUILD_DIR, if it is there) holds the genuine libQnnHtp.so and libQnnSystem.so; without it their
# cases are skipped. A check that passes prints nothing.
suite=test_tool
. "$(dirname "$0")/../harness/tool.sh"

fake() { run --backend_so "$fake" --system_so "$fake" "$@"; }
# lacks_line NAME FILE PATTERN: no line of $tmp/FILE is like this
lacks_line() { check "$1" "'$3' in $2" sh -c '! grep -q -- "$1" "$2"' - "$3" "$tmp/$2"; }

# bytes FILE: its bytes as decimal numbers; floats FILE: its float32 values
bytes() { od -An -v -tu1 "$1" | tr -s ' \n' ' ' | sed 's/^ //; s/ $//'; }
floats() { od -An -v -tf4 "$1" | tr -s ' \n' ' ' | sed 's/^ //; s/ $//'; }

# equal NAME WANTED FOUND
equal() { if [ "$2" = "$3" ]; then good; else bad "$1" "'$3', not '$2'"; fi; }

for file in "$tool" "$fake"; do
    if [ ! -e "$file" ]; then
        bad build "$file is missing"
        echo "$passed passed, $failed failed"
        exit 1
    fi
done
python=
if command -v python3 >/dev/null 2>&1; then python=python3; fi

# valid NAME FILE: exactly one JSON document
valid() {
    if [ -z "$python" ]; then skip "$1" "python3 is missing"; return; fi
    check "$1" "not JSON: $($python -m json.tool "$2" 2>&1 >/dev/null)" $python -m json.tool "$2"
}

# json NAME WANTED FILE EXPRESSION: the expression over the document d
json() {
    if [ -z "$python" ]; then skip "$1" "python3 is missing"; return; fi
    found=$(PYTHONIOENCODING=utf-8 $python -c 'import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
print(eval(sys.argv[2]))' "$3" "$4" 2>&1)
    equal "$1" "$2" "$found"
}

# ---- options ----------------------------------------------------------------------------------------

values='ctx_dir retrieve_context backend_so backend system_so system_library log_level align bind_plan_out
graph input input_data_type output_dir output_data_type num_inferences soc_model
profiling_level profile_out perf_profile memory resident dims omit'
flags='keep_going progress share_spill_fill read guard no_zero per_tensor inspect no_manifest json version help'

run --help
is help 0
silent help err
for verb in inspect doctor bench explain; do says help_verbs out "qnnrt-run $verb "; done
lacks_line help_verbs_alone out '^  --input '
run run --help
is help_run 0
for option in $values $flags; do says "help_$option" out "--$option"; done
for word in error warn info verbose debug; do says help_levels out "$word"; done
run --version
is version 0
check version "not a version: $(cat "$tmp/out")" grep -qE '^qnnrt-run [0-9]+\.[0-9]+\.[0-9]+$' "$tmp/out"

for option in $values; do
    wrong "no_value_$option" "--$option needs a value" "--$option"
    wrong "option_as_value_$option" "--$option needs a value" "--$option" --read
    wrong "empty_value_$option" "--$option needs a value" "--$option="
done
for option in $flags; do wrong "value_for_$option" "--$option takes no value" "--$option=1"; done
for option in ctx_dir backend_so system_so log_level align bind_plan_out input_data_type output_dir \
    output_data_type num_inferences soc_model; do
    case $option in
    log_level) value=1 ;;
    align) value=8 ;;
    *_data_type) value=native ;;
    num_inferences | soc_model) value=2 ;;
    *) value=x ;;
    esac
    wrong "twice_$option" "--$option is given twice" "--$option" $value "--$option=$value"
done
wrong twice_by_alias '--backend_so is given twice' --backend x --backend_so y
wrong unknown '--nonsense' --nonsense
wrong unknown_with_value '--nonsense' --nonsense=1
wrong prefix_of_a_name '--ctx' --ctx x
wrong one_dash '"-h"' -h
wrong bare_word '"model"' model
wrong command_typo '"inspekt"' inspekt model
hinted command_typo_hint 'qnnrt-run inspect'
wrong command_unknown '"frobnicate"' frobnicate model
for word in run inspect plan compile doctor compare bench capture replay explain; do says "command_unknown_$word" err " $word"; done
wrong bare_folder '"/"' /
hinted bare_folder_hint 'qnnrt-run run /,'
# The message names the nearest known option, for every kind of mistake.
for pair in ctxdir:ctx_dir backend-so:backend_so ouput_dir:output_dir grpah:graph num:num_inferences sytem_library:system_library; do
    wrong "near_${pair%:*}" "unknown option --${pair%:*}" "--${pair%:*}=1"
    hinted "near_${pair%:*}_hint" "Use --${pair#*:}."
done
hinted_help() { hinted "$1" 'qnnrt-run --help'; }
wrong near_none '--frobnicate' --frobnicate
hinted_help near_none_hint
wrong near_word '"detaled"' --ctx_dir x --profiling_level detaled
hinted near_word_hint '--profiling_level detailed'
wrong one_dash_hint '"-help"' -help
hinted one_dash_hint 'Use --help.'
wrong two_dashes '"--"' --
wrong nothing 'a verb and a model are missing'
wrong both --retrieve_context --ctx_dir x --retrieve_context y
says both err --ctx_dir
for value in 0 3 -8 +8 0x10 8x 2097152 ' 8' 99999999999999999999 4294967304; do wrong "align_$value" '--align' --align "$value"; done
for value in -1 1000001 x 1.5 1e3 18446744073709551617; do wrong "inferences_$value" '--num_inferences' "--num_inferences=$value"; done
for value in 0 65536 v75 -1; do wrong "soc_$value" '--soc_model' "--soc_model=$value"; done
for value in 6 -1 all ERROR warning; do wrong "level_$value" '--log_level' --log_level "$value"; done
for value in 0 -1 two 1M; do wrong "resident_$value" 'all, one or a number of bytes' "--resident=$value"; done
wrong inspect_resident 'runs nothing' --ctx_dir x --inspect --resident one
wrong input_form '--input_data_type' --input_data_type both
wrong output_form '--output_data_type' --output_data_type f32
for value in =x x= =; do wrong "input_$value" '--input' "--input=$value"; done
wrong two_documents '--bind_plan_out -' --ctx_dir x --json --bind_plan_out -

# ---- errors of an open ------------------------------------------------------------------------------

mkdir "$tmp/empty" "$tmp/m"
cat >"$tmp/m/forward_0.bin" <<'end'
FAKEQNN 1
graph first
in a 1 0408 1 4 s 0.5 -3
in c 2 0332 1 1 s 1 0
out y 3 0408 1 4 s 0.5 -3
graph second
in a 1 0408 1 4 s 0.5 -3
in only 2 0108 1 4 -
in odd:na=me 3 0108 1 4 -
out z 4 0132 1 2 -
end
run --ctx_dir "$tmp/none" --backend_so "$fake" --system_so "$fake"
is folder_missing 1
says folder_missing err "$tmp/none"
silent folder_missing_before_anything_is_loaded out
fake --ctx_dir "$tmp/m" --output_dir "$tmp/m/forward_0.bin"
is output_dir_is_a_file 1
silent output_dir_is_a_file out
says output_dir_is_a_file err 'cannot write into'
fake --ctx_dir "$tmp/empty"
is folder_empty 1
says backend_is_known_when_opening_fails out "$fake"
fake --retrieve_context "$tmp/none.bin"
is file_missing 1
says file_missing err none.bin
run --ctx_dir "$tmp/m" --backend_so "$tmp/none.so"
is backend_missing 1
says backend_missing err "$tmp/none.so"
run --ctx_dir "$tmp/m" --backend_so "$fake" --system_so "$tmp/none.so"
is system_missing 1
says system_missing err "$tmp/none.so"
run --ctx_dir "$tmp/none" --backend_so "$fake" --system_so "$fake" --json
is json_of_a_failure 1
valid json_of_a_failure "$tmp/out"
json json_of_a_failure_is_told "False True" "$tmp/out" 'str(d["ok"]) + " " + str("none" in d["error"])'

# ---- tables, selection ------------------------------------------------------------------------------

fake --ctx_dir "$tmp/m"
is plain 0
silent plain err
for text in "$fake" FAKE_QTI v2.51 forward_0.bin '"first"' '"second"' ufixed8 'scale 0.5, offset -3' peak bound naive \
    metadata create prepare 'exec min' 'inputs without a file are zero: "a", "c"'; do
    says plain_text out "$text"
done
run --backend "$fake" --system_library="$fake" --retrieve_context "$tmp/m/forward_0.bin" --read --guard --align 4096 --soc_model 57
is aliases 0
says align_is_used out 'alignment 4096'
fake --ctx_dir "$tmp/m" --graph second
is one_graph 0
check one_graph "the other graph is there too" test "$(grep -c '^run ' "$tmp/out")" -eq 1
fake --ctx_dir "$tmp/m" --graph second --graph=first --graph 0/first
is graphs 0
fake --ctx_dir "$tmp/m" --graph third
is graph_missing 1
says graph_missing err '"first"'
fake --ctx_dir "$tmp/m" --num_inferences 0
is nothing_is_run 0
check nothing_is_run "it ran" test "$(grep -c '^run ' "$tmp/out")" -eq 0
fake --ctx_dir "$tmp/m" --log_level=debug
is log 0
says log err 'qnnrt-run: log '
says log err 'qnnrt-run: log info '
for value in 0 off; do
    fake --ctx_dir "$tmp/m" --log_level "$value"
    is "level_$value" 0
    silent "level_$value" err
done
fake --ctx_dir "$tmp/m" --log_level=warn
is log_warn 0
lacks log_warn err 'log info'

# ---- inputs and outputs -----------------------------------------------------------------------------

# The fake's output byte k is the sum of all input bytes + number of the output + k.
printf '\1\2\3\4' >"$tmp/native"
printf '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\200\77' >"$tmp/float"          # 0 0 0 1: codes 3 3 3 5
printf '\0\0\200\77' >"$tmp/one"                                    # 1.0
printf '12345' >"$tmp/five"
one='--graph first'
# shellcheck disable=SC2086  # words
{
    fake --ctx_dir "$tmp/m" $one --output_dir "$tmp/o1/deep"
    is zero 0
    equal zero_is_the_code_of_zero '12 13 14 15' "$(bytes "$tmp/o1/deep/first/y.raw")"
    fake --ctx_dir "$tmp/m" $one --output_dir "$tmp/o2" --input a="$tmp/native"
    equal native_input '10 11 12 13' "$(bytes "$tmp/o2/first/y.raw")"
    says native_input out native
    fake --ctx_dir "$tmp/m" $one --output_dir "$tmp/o2" --input a="$tmp/float"
    equal float_by_size '14 15 16 17' "$(bytes "$tmp/o2/first/y.raw")"
    says float_by_size out float32
    fake --ctx_dir "$tmp/m" $one --output_dir "$tmp/o2" --input c="$tmp/one"
    equal equal_sizes_are_native '203 204 205 206' "$(bytes "$tmp/o2/first/y.raw")"
    fake --ctx_dir "$tmp/m" $one --output_dir "$tmp/o2" --input c="$tmp/one" --input_data_type float
    equal float_when_told '13 14 15 16' "$(bytes "$tmp/o2/first/y.raw")"
    fake --ctx_dir "$tmp/m" $one --input a="$tmp/native" --input_data_type float
    is native_refused_when_float 1
    hinted native_refused_when_float 'Leave out --input_data_type float'
    fake --ctx_dir "$tmp/m" $one --output_dir "$tmp/o3" --output_data_type float
    equal float_output '4.5 5 5.5 6' "$(floats "$tmp/o3/first/y.raw")"
    equal float_output_alone 'y.raw' "$(ls "$tmp/o3/first")"
    fake --ctx_dir "$tmp/m" $one --output_dir "$tmp/o4" --output_data_type both
    equal both_outputs '4.5 5 5.5 6 12 13 14 15' "$(floats "$tmp/o4/first/y.raw") $(bytes "$tmp/o4/first/y_native.raw")"
    fake --ctx_dir "$tmp/m" $one --output_dir "$tmp/o5" --input a="$tmp/o3/first/y.raw"
    equal float_round_trip '54 55 56 57' "$(bytes "$tmp/o5/first/y.raw")"

    fake --ctx_dir "$tmp/m" $one --input a="$tmp/five"
    is size 1
    for text in "$tmp/five" ' 5 bytes' ' 4 bytes' ' 16 bytes'; do says size err "$text"; done
    fake --ctx_dir "$tmp/m" $one --input a="$tmp/none"
    is input_file_missing 1
    says input_file_missing err "$tmp/none"
    fake --ctx_dir "$tmp/m" $one --input a="$tmp"
    is input_file_is_a_folder 1
    fake --ctx_dir "$tmp/m" $one --input b="$tmp/native"
    is input_unknown 1
    says input_unknown err '"a"'
    fake --ctx_dir "$tmp/m" $one --input y="$tmp/native"
    is output_is_no_input 1
    fake --ctx_dir "$tmp/m" $one --input a="$tmp/native" --input a="$tmp/float"
    is input_twice 1
    fake --ctx_dir "$tmp/m" $one --input second:only="$tmp/native"
    is input_of_another_graph 1
    says input_of_another_graph err '--graph'
    : >"$tmp/plain"
    fake --ctx_dir "$tmp/m" $one --output_dir "$tmp/plain"
    is output_dir_is_a_file 1
    says output_dir_is_a_file err "$tmp/plain"
}
fake --ctx_dir "$tmp/m" --output_dir "$tmp/o6" --input a="$tmp/native"
is input_of_both 0
equal input_of_both '10 10' "$(bytes "$tmp/o6/first/y.raw" | cut -d' ' -f1) $(bytes "$tmp/o6/second/z.raw" | cut -d' ' -f1)"
fake --ctx_dir "$tmp/m" --output_dir "$tmp/o6" --input second:a="$tmp/native"
equal input_of_one '12 10' "$(bytes "$tmp/o6/first/y.raw" | cut -d' ' -f1) $(bytes "$tmp/o6/second/z.raw" | cut -d' ' -f1)"
fake --ctx_dir "$tmp/m" --output_dir "$tmp/o6" --input only="$tmp/native" --input "odd:na=me=$tmp/native"
is name_with_colon_and_equals 0
equal name_with_colon_and_equals 32 "$(bytes "$tmp/o6/second/z.raw" | cut -d' ' -f1)"
fake --ctx_dir "$tmp/m" --output_dir "$tmp/o6" --input "second:odd:na=me=$tmp/native"
is graph_before_a_name_with_colon 0
fake --ctx_dir "$tmp/m" --input b="$tmp/native"
is input_of_none 1
says input_of_none err '"only"'
# A file without a name is for the only input.
fake --ctx_dir "$tmp/m" $one --input "$tmp/native"
is only_of_several 1
says only_of_several err 'pipeline "first" has 2 inputs, so one must be named: "a"'
hinted only_of_several 'Write --input NAME=FILE.'
printf 'FAKEQNN 1\ngraph lone\nin x 1 0108 1 4 -\nout y 2 0108 1 4 -\n%s\n' '# a line that makes the file long enough' >"$tmp/lone.bin"
printf 'abcd' >"$tmp/four"
fake --retrieve_context "$tmp/lone.bin" --output_dir "$tmp/lone" --input "$tmp/four"
is only_input 0
fake --retrieve_context "$tmp/lone.bin" --output_dir "$tmp/named" --input "x=$tmp/four"
check only_input "not what x=FILE gives" cmp "$tmp/lone/lone/y.raw" "$tmp/named/lone/y.raw"

fake --ctx_dir "$tmp/m" --output_dir "$tmp/o7" --num_inferences 3
is several 0
equal several "Result_0 Result_1 Result_2" "$(ls "$tmp/o7" | tr '\n' ' ' | sed 's/ $//')"
check several_are_equal "differ" cmp "$tmp/o7/Result_0/first/y.raw" "$tmp/o7/Result_2/first/y.raw"
says several out '3 inferences'

# The tool does not wait for a pipe without a writer.
mkfifo "$tmp/pipe"
fake --ctx_dir "$tmp/m" --graph first --input a="$tmp/pipe"
is input_is_a_pipe 1
says input_is_a_pipe err "$tmp/pipe: it has 0 bytes"
fake --retrieve_context "$tmp/pipe"
is model_is_a_pipe 1
says model_is_a_pipe err "$tmp/pipe"
run inspect "$tmp/pipe"
is inspect_of_a_pipe 1
says inspect_of_a_pipe err "$tmp/pipe"
# The bytes are in the pipe before the tool reads: 9 writes, 8 keeps them.
exec 9<>"$tmp/pipe" 8<"$tmp/pipe"
cat "$tmp/native" >&9
exec 9>&-
fake --ctx_dir "$tmp/m" $one --output_dir "$tmp/o2" --input a="$tmp/pipe"
exec 8<&-
is input_through_a_pipe 0
equal input_through_a_pipe '10 11 12 13' "$(bytes "$tmp/o2/first/y.raw")"

# No document takes the place of a model, a library, an input or another document.
mkdir "$tmp/precious"
cp "$data/ctx/qairt2.51/mlp_u8/forward_0.bin" "$data/ctx/qairt2.51/mlp_u8/x.raw" "$tmp/precious/"
cp "$fake" "$tmp/precious/libQnnHtp.so"
ln -s forward_0.bin "$tmp/precious/link"
for words in 'run --svg' 'run --dot' 'run --json_file' 'run --bind_plan_out' 'run --profiling_level basic --profile_out' \
    'inspect --svg' 'profile --save' 'bench --csv' 'report --output' 'doctor --report'; do
    for file in forward_0.bin libQnnHtp.so link; do
        wrong "no_model_replaced ${words%% *} $file" "--${words##*--} would replace $tmp/precious/$file, a " \
            ${words%% *} "$tmp/precious" ${words#* } "$tmp/precious/$file"
    done
done
check models_stay "one changed" cmp "$data/ctx/qairt2.51/mlp_u8/forward_0.bin" "$tmp/precious/forward_0.bin"
wrong no_input_replaced '--svg and --input name one file' run "$tmp/precious" --input "x=$tmp/precious/x.raw" \
    --svg "$tmp/precious/../precious/x.raw"
wrong no_file_replaced 'a file that this command reads' inspect "$tmp/m/forward_0.bin" --svg "$tmp/m/forward_0.bin"
wrong two_documents '--svg and --dot name one file' run "$tmp/precious" --svg "$tmp/new" --dot "$tmp/new"

if [ -c /dev/full ]; then
    "$tool" --help >/dev/full 2>"$tmp/err"
    equal full_standard_output 1 $?
    ln -s /dev/full "$tmp/full"
    fake --ctx_dir "$tmp/m" --bind_plan_out "$tmp/full"
    is full_plan 1
fi
# A limit of 0 bytes stands for a full disk; the program's output goes through a pipe.
(ulimit -f 0; "$tool" --backend_so "$fake" --system_so "$fake" --ctx_dir "$tmp/m" --graph first \
    --output_dir "$tmp/o8" </dev/null 2>&1; echo "status $?") | cat >"$tmp/err"
says full_output err "status 1"
says full_output err y.raw
equal full_output_leftovers '' "$(find "$tmp/o8" -type f)"
mkdir "$tmp/full_disk"
# full NAME FILE ARGUMENT ...: no byte can be written: the message names the file, and no file is left
full() {
    name=full_$1 file=$2
    shift 2
    (ulimit -f 0; "$tool" "$@" --system_so "$fake" </dev/null 2>&1; echo "status $?") | cat >"$tmp/err"
    says "$name" err "status 1"
    says "$name" err "cannot write"
    says "$name" err "$tmp/full_disk/$file"
    equal "${name}_leftovers" '' "$(find "$tmp/full_disk" -type f)"
}
for option in json_file svg dot; do
    full $option made inspect "$tmp/m" --$option "$tmp/full_disk/made"
done
full json_files folder/forward_0_json.json inspect "$tmp/m" --json_file "$tmp/full_disk/folder/"
full plan_svg made plan "$tmp/m" --svg "$tmp/full_disk/made"
full bind_plan made --ctx_dir "$tmp/m" --backend_so "$fake" --bind_plan_out "$tmp/full_disk/made"
full trace made.json --ctx_dir "$tmp/m" --backend_so "$fake" --profiling_level basic --profile_out "$tmp/full_disk/made.json"
full profile_log made --ctx_dir "$tmp/m" --backend_so "$fake" --profiling_level basic --profile_out "$tmp/full_disk/made"
printf 'PK\003\004FAKEDLC a' >"$tmp/a.dlc"
full compile a.bin compile "$tmp/a.dlc" --output_dir "$tmp/full_disk" --backend_so "$fake"
mkdir -p "$tmp/o9/first"
echo mine >"$tmp/victim"
ln -s "$tmp/victim" "$tmp/o9/first/y.raw"
fake --ctx_dir "$tmp/m" --graph first --output_dir "$tmp/o9"
is output_link 0
check output_link "the file behind a link was written to" test "$(cat "$tmp/victim")" = mine
for closed in '>&-' '2>&-' '<&-' '<&- >&- 2>&-'; do
    eval "'$tool' --backend_so '$fake' --system_so '$fake' --ctx_dir '$tmp/m' --output_dir '$tmp/o10' >'$tmp/out' 2>'$tmp/err' $closed"
    equal "closed_descriptors $closed" 0 $?
done

# ---- backends by role ---------------------------------------------------------------------------------

mkdir "$tmp/roles"
comment='# a context binary has at least 64 bytes'
printf 'FAKEQNN 1\n%s\ngraph first\nin x 1 0408 1 4 s 1 0\nout h 2 0416 1 4 s 1 0\n' "$comment" >"$tmp/roles/npu.bin"
printf 'FAKEQNN 1\n%s\ngraph second\nin h 1 0416 1 4 s 1 0\nout y 2 0408 1 4 s 1 0\n' "$comment" >"$tmp/roles/cpu.bin"
cat >"$tmp/roles/qnnrt.json" <<'end'
{"program": {"version": 1, "backends": ["npu", "cpu"],
  "contexts": [{"file": "npu.bin", "backend": "npu"}, {"file": "cpu.bin", "backend": "cpu"}],
  "pipelines": [{"name": "forward", "steps": [{"context": 0, "graph": "first"}, {"context": 1, "graph": "second"}]}]}}
end
cp "$fake" "$tmp/lib=x.so"
fake --backend_so cpu="$tmp/lib=x.so" --ctx_dir "$tmp/roles" --output_dir "$tmp/o18"
is roles 0
for text in "backend   npu: $fake" "backend   cpu: $tmp/lib=x.so" 'bytes, on cpu, made by' '"second"  on cpu (HTP)'; do
    says roles_text out "$text"
done
equal roles_output 'y.raw' "$(ls "$tmp/o18/forward")"
run --backend_so npu="$fake" --backend_so cpu="$tmp/lib=x.so" --ctx_dir "$tmp/roles" --perf_profile burst --json
is roles_named 0
json roles_named "npu cpu npu cpu graph applied" "$tmp/out" \
    '" ".join([b["role"] for b in d["backends"]] + [s["role"] for s in d["pipelines"][0]["steps"]] + [d["pipelines"][0]["steps"][1]["kind"], d["backend"]["power"]["settings"][0]["answer"]])'
# A path may have the character "=", if what is before it does not look like a role.
run --backend_so "$tmp/lib=x.so" --system_so "$fake" --ctx_dir "$tmp/m"
is path_with_equals 0
says path_with_equals out "backend   $tmp/lib=x.so"
fake --backend_so gpu="$fake" --ctx_dir "$tmp/roles"
is role_unknown 1
for text in '"gpu"' '"npu"' '"cpu"'; do says role_unknown err "$text"; done
run --backend_so npu="$tmp/none.so" --ctx_dir "$tmp/roles"
is role_library_missing 1
says role_library_missing err "$tmp/none.so"
hinted role_library_missing --backend_so
fake --backend_so cpu="$fake" --ctx_dir "$tmp/m"
is role_of_a_plain_folder 1
says role_of_a_plain_folder err '"cpu"'
wrong role_twice '"cpu" twice' --backend_so cpu=x --backend_so cpu=y
wrong role_without_a_file 'cpu=' --backend_so cpu=
wrong role_too_long 'the role has 70 bytes' --backend_so "$(printf '%070d' 0)=x"
# A role that fails leaves the files of the others.
fake --backend_so cpu="$tmp/none.so" --ctx_dir "$tmp/roles" --keep_going
is role_left_out 1
says role_left_out out 'run "first"'
says role_left_out_and_why out 'file cpu.bin'
says role_left_out_is_named err "$tmp/none.so"

# ---- programs -----------------------------------------------------------------------------------------

# A conversion that loses values, names and a buffer: 64-bit numbers of the fake do not fit 32 bits.
mkdir "$tmp/program"
printf 'FAKEQNN 1\n%s\ngraph first\nin x 1 0408 1 4 s 1 0\nout h 2 0064 1 4 -\n' "$comment" >"$tmp/program/npu.bin"
printf 'FAKEQNN 1\n%s\ngraph second\nin h 1 0032 1 4 -\nin k 2 0232 1 2 -\nin s 3 0408 1 8 -\nout y 4 0408 1 4 s 1 0\n' "$comment" \
    >"$tmp/program/cpu.bin"
printf '12345678' >"$tmp/program/k.raw"
printf '\001\002\003\004' >"$tmp/x4"
program() {
    cat >"$tmp/program/qnnrt.json" <<end
{"program": {"version": 1, "backends": ["npu", "cpu"],
  "contexts": [{"file": "npu.bin", "backend": "npu"}, {"file": "cpu.bin", "backend": "cpu"}],
  "constants": [{"name": "k", "file": "k.raw", "dtype": "float32", "dims": [2]}],
  "pipelines": [{"name": "forward", "steps": [$1{"context": 0, "graph": "first"}, {"context": 1, "graph": "second"}],
    "edges": [{"from": [0, "h"], "to": [1, "h"], "convert": "values"$2}],
    "constants": [{"step": 1, "input": "k", "constant": "k"}],
    "names": {"image": {"step": 0, "input": "x"}, "result": {"step": 1, "output": "y"}},
    "buffers": [{"name": "state", "bytes": 64, "slots": [{"step": 1, "input": "s", "offset": 16}]}]}]}}
end
}
roles() { fake --backend_so cpu="$tmp/lib=x.so" --ctx_dir "$tmp/program" "$@"; }
program '' ''
roles --input image="$tmp/x4" --output_dir "$tmp/o19" --num_inferences 2
is program 0
for text in 'step 1  convert h: int64 → int32, 16 bytes' 'step 2  cpu.bin  "second"  on cpu (HTP)' '"image" is input "x" of step 0' \
    '  constant  ' 'state+16' 'given, converted' 'output    '"$tmp/o19/Result_0/forward/result.raw"; do
    says program_text out "$text"
done
says program_lost_values err 'step 1 (convert h: int64 → int32, 16 bytes): 8 values did not fit and were saturated, 4 of them'
roles --json
is program_json 0
json program_json "graph convert graph; 4 4; constant; state 64; 16 image result; convert h: int64 -> int32, 16 bytes" "$tmp/out" '"; ".join([
    " ".join(s["kind"] for s in p["steps"]), " ".join(str(c[k]) for c in p["conversions"] for k in ("lost", "lost_ever")),
    " ".join(s["role"] for s in p["slots"] if s["name"] == "k"), " ".join("%s %d" % (b["name"], b["bytes"]) for b in p["buffers"]),
    " ".join(str(s.get("buffer_offset", s.get("called", ""))) for s in sorted(p["slots"], key=lambda s: str(s.get("called", ""))) if "buffer_offset" in s or "called" in s),
    p["steps"][1]["text"]]) if (p := d["pipelines"][0]) else ""'
roles --profiling_level basic --profile_out "$tmp/trace.json"
is program_profile 0
says program_profile out 'convert time'
says program_profile_trace trace.json 'step 1, convert h: int64 → int32, 16 bytes'
roles --guard --per_tensor
is program_guarded 0
program '' ', "exact": true'
roles
is program_exact 1
says program_exact err 'int64'
# The tool has no functions for host steps: it only shows them.
program '{"host": "crop", "inputs": [{"name": "raw", "dtype": "uint8", "dims": [9]}], "outputs": [{"name": "x", "dtype": "ufixed8", "dims": [4], "scale": 1, "offset": 0}]}, ' ''
sed -i 's/"from": \[0,/"from": [1,/; s/"to": \[1,/"to": [2,/; s/"step": 1,/"step": 2,/g; s/{"step": 0, "input": "x"}/{"step": 0, "input": "raw"}/' "$tmp/program/qnnrt.json"
roles
is program_host 1
says program_host err '"crop"'
hinted program_host_hint 'inspect and plan'
run plan "$tmp/program" --system_so "$fake" --backend_so cpu="$fake"
is program_host_plan 0
says program_host_plan out 'step 0  host "crop"'

# ---- memory as it is asked for ------------------------------------------------------------------------

mkdir "$tmp/scratch"
printf 'FAKEQNN 1\ngraph a_1_of_3\nin x 1 0408 1 4 s 1 0\nout h 2 0416 1 400 s 1 0\n' >"$tmp/scratch/forward_0.bin"
printf 'FAKEQNN 1\ngraph a_2_of_3\nin h 1 0416 1 400 s 1 0\nout g 2 0416 1 400 s 1 0\n' >"$tmp/scratch/forward_1.bin"
printf 'FAKEQNN 1\ngraph a_3_of_3\nin g 1 0416 1 400 s 1 0\nout y 2 0408 1 400 s 1 0\n' >"$tmp/scratch/forward_2.bin"
memory='"%d %d %d" % tuple(d["pipelines"][0]["plan"][k] for k in ("peak", "bound", "naive"))'
fake --ctx_dir "$tmp/scratch" --json --output_dir "$tmp/o15"
json tensors_share_memory '1728 1728 2176' "$tmp/out" "$memory"
fake --ctx_dir "$tmp/scratch" --json --per_tensor --no_zero --output_dir "$tmp/o16"
is per_tensor 0
json per_tensor '2176 2176 2176' "$tmp/out" "$memory"
for more in '' --per_tensor --no_zero '--per_tensor --no_zero --guard'; do
    fake --ctx_dir "$tmp/scratch" --output_dir "$tmp/o17" --input x="$tmp/x4" $more
    is "memory_as_asked $more" 0
    if [ -z "$more" ]; then cp "$tmp/o17/a/y.raw" "$tmp/y0"; fi
    check "memory_as_asked $more" "another result" cmp -s "$tmp/y0" "$tmp/o17/a/y.raw"
done
says per_tensor_and_guard out 'pages of its own'
fake --ctx_dir "$tmp/scratch" --no_zero
says no_zero_is_said out 'inputs without a file are unfilled: "x"'
fake --ctx_dir "$tmp/scratch" --per_tensor
says per_tensor_is_said out 'peak 2,176 bytes, bound 2,176 bytes, naive 2,176 bytes, alignment 64; with --per_tensor'
run plan "$tmp/scratch" --system_so "$fake" --per_tensor
is per_tensor_plan 0
says per_tensor_plan out 'peak 2,176 bytes'
wrong no_zero_runs 'runs nothing' --ctx_dir x --inspect --no_zero
wrong no_zero_of_plan '--no_zero' plan "$tmp/scratch" --no_zero

# ---- wiring, keep_going -----------------------------------------------------------------------------

mkdir "$tmp/chain" "$tmp/cut" "$tmp/broken"
printf 'FAKEQNN 1\ngraph a_1_of_2\nin x 1 0408 1 4 s 1 0\nout h 2 0416 1 4 s 1 0\n' >"$tmp/chain/forward_0.bin"
printf 'FAKEQNN 1\ngraph a_2_of_2\nin h 1 0416 1 4 s 1 0\nout y 2 0408 1 4 s 1 0\n' >"$tmp/chain/forward_1.bin"
cp "$tmp/chain/forward_0.bin" "$tmp/cut"
printf 'FAKEQNN 1\ngraph a_2_of_2\nin h 1 0416 1 4 s 2 0\nout y 2 0408 1 4 s 1 0\n' >"$tmp/cut/forward_1.bin"
cp "$tmp/m/forward_0.bin" "$tmp/broken"
echo damaged >"$tmp/broken/forward_1.bin"

fake --ctx_dir "$tmp/chain"
is chain 0
says chain out 'step 0 "h" -> step 1 "h": equal names'
fake --retrieve_context "$tmp/chain/forward_0.bin" --retrieve_context="$tmp/chain/forward_1.bin" --output_dir "$tmp/o10"
is chain_of_files 0
equal edges_are_no_outputs 'y.raw' "$(ls "$tmp/o10/a")"
fake --ctx_dir "$tmp/cut" --bind_plan_out "$tmp/plan"
is cut 1
says cut err 'not wired'
says cut out 'not wired'
valid plan_of_a_cut "$tmp/plan"
json plan_of_a_cut True "$tmp/plan" 'd["pipelines"][0]["failure"] is not None'
fake --ctx_dir "$tmp/cut" --graph a
is cut_by_name 1
says cut_by_name out 'not wired'
fake --ctx_dir "$tmp/cut" --graph 1/a_2_of_2
is graph_of_a_cut 0
says graph_of_a_cut out 'run "1/a_2_of_2"'
fake --retrieve_context "$tmp/m/forward_0.bin" --retrieve_context "$tmp/m/forward_0.bin" --graph 0/first --graph 1/first \
    --output_dir "$tmp/o13"
is graphs_of_one_name 0
equal graphs_of_one_name '0_first 1_first' "$(ls "$tmp/o13" | tr '\n' ' ' | sed 's/ $//')"

fake --ctx_dir "$tmp/broken"
is broken_shard 1
# Two failures with one hint: it is printed once.
cp "$tmp/m/forward_0.bin" "$tmp/broken/forward_2.bin"
echo damaged >"$tmp/broken/forward_3.bin"
fake --ctx_dir "$tmp/broken" --keep_going
is two_broken_shards 1
says two_broken_shards err forward_1.bin
says two_broken_shards_second err forward_3.bin
equal two_broken_shards_hint 1 "$(grep -c '^hint: ' "$tmp/err")"
rm "$tmp/broken/forward_2.bin" "$tmp/broken/forward_3.bin"
fake --ctx_dir "$tmp/cut" --inspect
is inspect_of_what_is_not_wired 1
says inspect_shows_tensors out 'forward_1.bin'
fake --ctx_dir "$tmp/m" --inspect
is inspect 0
says inspect_shows_the_model out 'forward_0.bin'
lacks_line inspect_opens_no_backend out '^backend '
lacks_line inspect_runs_nothing out '^run '
fake --ctx_dir "$tmp/m" --inspect --output_dir "$tmp/never"
is inspect_writes_nothing 2

fake --ctx_dir "$tmp/broken" --keep_going
is keep_going_with_a_broken_shard 1
says keep_going_names_the_shard err forward_1.bin
says keep_going_loads_the_rest out 'forward_0.bin'
for graph in 0/first 0/second; do says keep_going_runs_single_graphs out "run \"$graph\""; done
check keep_going_says_what_is_left_out "no list: $(tail -n 4 "$tmp/out")" \
    sh -c 'sed -n "/^left out/,\$p" "$1" | grep -q "file forward_1.bin: .*64" && sed -n "/^left out/,\$p" "$1" | grep -q "pipeline \"first\": forward_1.bin"' - "$tmp/out"
fake --ctx_dir "$tmp/broken" --keep_going --json --output_dir "$tmp/o14"
is keep_going_writes_the_rest 1
json keep_going_lists_in_json "['forward_1.bin', None, None] [None, 'first', 'second'] ['0/first', '0/second'] [1, 1]" "$tmp/out" \
    '"%s %s %s %s" % ([l["file"] for l in d["left_out"]], [l["pipeline"] for l in d["left_out"]], [p["name"] for p in d["pipelines"]], [len(p["exec_ns"]) for p in d["pipelines"]])'
equal keep_going_writes_the_rest '0_first 0_second' "$(ls "$tmp/o14" | tr '\n' ' ' | sed 's/ $//')"
run plan "$tmp/broken" --system_so "$fake" --keep_going
is keep_going_plans 1
says keep_going_plans out 'pipeline "0/second"'
says keep_going_plans_and_says out 'file forward_1.bin'
run inspect "$tmp/broken" --system_so "$fake" --keep_going
is keep_going_inspects 1
says keep_going_inspects out 'not wired'
fake --ctx_dir "$tmp/broken" --keep_going --graph first
is keep_going_of_a_broken_pipeline 1
lacks keep_going_of_a_broken_pipeline out 'run "'
says keep_going_of_a_broken_pipeline_says out 'left out'
fake --ctx_dir "$tmp/cut" --keep_going
is keep_going_of_a_cut 1
for graph in 0/a_1_of_2 1/a_2_of_2; do says keep_going_of_a_cut out "run \"$graph\""; done
fake --ctx_dir "$tmp/m" --keep_going --json
is keep_going_of_a_whole_model 0
json keep_going_leaves_nothing_out '[]' "$tmp/out" 'd["left_out"]'

QNNFAKE=fail=graphExecute:6001:2
export QNNFAKE
fake --ctx_dir "$tmp/m" --graph first --num_inferences 4 --output_dir "$tmp/o11"
is failed_inference 1
says failed_inference err 'inference 1'
equal failed_inference_stops Result_0 "$(ls "$tmp/o11")"
fake --ctx_dir "$tmp/m" --graph first --num_inferences 4 --output_dir "$tmp/o12" --keep_going
is keep_going_after_an_inference 1
equal keep_going_after_an_inference 'Result_0 Result_2 Result_3' "$(ls "$tmp/o12" | tr '\n' ' ' | sed 's/ $//')"
says keep_going_counts out '1 failed'
fake --ctx_dir "$tmp/m" --graph first --num_inferences 4 --keep_going --json
json keep_going_in_json 'False 1 3' "$tmp/out" '"%s %d %d" % (d["ok"], d["pipelines"][0]["inferences_failed"], len(d["pipelines"][0]["exec_ns"]))'
unset QNNFAKE
QNNFAKE=fail=contextFree:5005 "$tool" --backend_so "$fake" --system_so "$fake" --ctx_dir "$tmp/m" >"$tmp/out" 2>"$tmp/err"
equal failed_close 1 $?
says failed_close err closing

QNNFAKE=overrun=1
export QNNFAKE
fake --ctx_dir "$tmp/m" --graph first
is overrun_unseen 0
fake --ctx_dir "$tmp/m" --graph first --guard --bind_plan_out "$tmp/plan"
is guard_stops_an_overrun 1
says guard_names_the_pipeline err 'pipeline "first"'
says guard_names_the_tensor err 'output "y" (4 bytes)'
says guard_names_the_side err 'byte 0 after the end of'
hinted guard_hint 'backend library'
equal guard_lines 2 "$(wc -l <"$tmp/err")"
QNNFAKE=overrun=2
fake --ctx_dir "$tmp/m" --graph first --guard
is guard_stops_an_underrun 1
says guard_names_the_tensor_before err 'output "y" (4 bytes)'
says guard_names_the_side_before err 'before the beginning of'
unset QNNFAKE
fake --ctx_dir "$tmp/m" --guard --num_inferences 2
is guard_without_a_fault 0

# ---- dims, optional tensors -------------------------------------------------------------------------

mkdir "$tmp/dynamic"
printf '%s\n' 'FAKEQNN 1' '# dims up to a bound, and an optional input' 'backend 77' 'graph g' \
    'in x 1 0232 2 4 2 - dyn=1,0' 'in o 2 0232 1 1 - type=11' 'out y 3 0232 2 4 2 - dyn=1,0' >"$tmp/dynamic/g.bin"
QNNFAKE=id=77,tensor=2,noverify=1,told=3
export QNNFAKE
run inspect "$tmp/dynamic" --system_so "$fake" --json_file "$tmp/dynamic/g_json.json"
says dims_in_json dynamic/g_json.json '"isDynamicDimensions"'
says optional_in_json dynamic/g_json.json 'QNN_TENSOR_TYPE_OPTIONAL_APP_WRITE'
run inspect "$tmp/dynamic"
says dims_of_json out '<=4x2'
says optional_of_json out 'optional input'
run inspect "$tmp/dynamic" --system_so "$fake"
says dims_inspected out '<=4x2'
says optional_inspected out 'optional input'
printf '%024d' 0 >"$tmp/x.raw"
fake --ctx_dir "$tmp/dynamic" --dims x=3x2 --input "x=$tmp/x.raw" --output_dir "$tmp/dims"
is dims_set 0
says dims_told out '  dims      "x" 3x2'
says dims_of_outputs_told out '  dims      "y" 3x2'
equal dims_of_the_file 24 "$(wc -c <"$tmp/dims/g/y.raw" | tr -d ' ')"
fake --ctx_dir "$tmp/dynamic" --input "x=$tmp/x.raw"
is dims_of_the_bound 1
says dims_of_the_bound err '32 bytes'
fake --ctx_dir "$tmp/dynamic" --dims x=5x2
is dims_over_the_bound 1
says dims_over_the_bound err '"x" is float32[<=4,2], but the dims to set are [5,2]'
fake --ctx_dir "$tmp/dynamic" --dims z=5x2
is dims_of_nothing 1
says dims_of_nothing err '"z"'
for wrong in x x= =3 x=3x x=x3 x=3,2 x=-1x2 x=4294967296; do
    fake --ctx_dir "$tmp/dynamic" --dims "$wrong"
    is "dims_$wrong" 2
    says "dims_$wrong" err 'NAME=1x5x8'
done
fake --ctx_dir "$tmp/dynamic" --omit o
says omitted err 'the graph has 2 inputs, the call 1'
fake --ctx_dir "$tmp/dynamic" --omit x
is omit_required 1
says omit_required err 'input "x" is required'
fake --ctx_dir "$tmp/dynamic" --omit z
is omit_nothing 1
fake inspect "$tmp/dynamic" --dims x=3x2
is dims_are_of_run 2
unset QNNFAKE

# ---- memory -----------------------------------------------------------------------------------------

fake --ctx_dir "$tmp/m" --memory memfd
is memory_refused 0
says memory_refused out '  memory    memfd, 0 of '
says memory_refused_code out 'memRegister answered 0x3e8'
fake --ctx_dir "$tmp/m"
lacks memory_is_plain out 'registered'
fake --ctx_dir "$tmp/m" --memory rpcmem
if [ $status -ne 0 ]; then
    is memory_missing 1
    says memory_missing err 'libcdsprpc.so'
    hinted memory_missing 'QNNRT_MEM_SHARED'
    fake --ctx_dir "$tmp/m" --memory shared
    is memory_falls_back 0
    says memory_falls_back out '  memory    heap, 0 of '
    says memory_falls_back_because out 'libcdsprpc.so'
fi
fake --ctx_dir "$tmp/m" --memory memfd --json
json memory_json "{'kind': 'memfd', 'reason': '', 'tensors': 3, 'registered': 0}" "$tmp/out" \
    'next(p["memory"] for p in d["pipelines"] if p["name"] == "first")'
fake --ctx_dir "$tmp/m" --memory memfd --guard
is memory_with_guard 1
says memory_with_guard err 'guard'
wrong memory_unknown 'heap, shared, rpcmem, dmabuf or memfd' --ctx_dir "$tmp/m" --memory ion

# ---- signals ----------------------------------------------------------------------------------------

# The library's log is written aside during all inferences; a signal that ends the program removes it. The
# shell has its background jobs ignore SIGINT; python3 undoes that.
undo=$python
for signal in TERM HUP ${undo:+INT}; do
    mkdir "$tmp/signal"
    set -- "$tool" --ctx_dir "$tmp/m" --graph first --backend_so "$fake" --system_so "$fake" --num_inferences 1000000 \
        --profiling_level basic --profile_out "$tmp/signal/log"
    if [ $signal = INT ]; then
        set -- "$undo" -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$@"
    fi
    "$@" >/dev/null 2>"$tmp/err" </dev/null &
    child=$!
    n=0
    while [ -z "$(find "$tmp/signal" -name '*.tmp' -size +0)" ] && [ $n -lt 400 ]; do
        sleep 0.05
        n=$((n + 1))
    done
    check signal_$signal "nothing is written aside" test -n "$(find "$tmp/signal" -name '*.tmp')"
    kill -$signal $child
    wait $child 2>/dev/null
    status=$?
    check signal_${signal}_status "status $status, not that of a signal" test "$status" -gt 128
    equal signal_${signal}_leftovers '' "$(ls -A "$tmp/signal")"
    rmdir "$tmp/signal" 2>/dev/null || rm -rf "$tmp/signal"
done

# ---- hostile names ----------------------------------------------------------------------------------

mkdir "$tmp/hostile" "$tmp/cage"
cat >"$tmp/hostile/forward_0.bin" <<'end'
FAKEQNN 1
graph ../../g%22%5C
in a%0D%1B[31m%22%5C%0A 1 0108 2 1 4 -
out ../../x 2 0408 1 4 s 0.5 -3
out ..%2F..%2FX 3 0408 1 4 s 0.5 -3
out .. 4 0408 1 4 s 1 0
out %C3%A9%FF%C2%9B%ED%A0%80%F0%9F%98%80%C0%80 5 0408 1 4 s 2 0
out .hidden 6 0232 1 4 -
out /absolute 7 0108 1 4 -
out x 8 0408 1 4 s 1 0
out x_native 9 0408 1 4 s 1 0
end
fake --ctx_dir "$tmp/hostile" --output_dir "$tmp/cage/a/b/c" --output_data_type both --bind_plan_out "$tmp/plan"
is hostile 0
check hostile_table "control characters in the table" sh -c '! grep -q "[[:cntrl:]]" "$1"' - "$tmp/out"
says hostile_table out 'a\x0D\x1B[31m"\\x0A'
odd=$(printf 'no\033[31m\302\2338\nhint: x')
for words in inspect plan "compile $tmp/hostile.dlc --backend_so $fake --output_dir"; do
    run $words "/dev/null/$odd"
    verb=${words%% *}
    lacks hostile_argument_$verb err "$(printf '\033')"
    lacks hostile_argument_c1_$verb err "$(printf '\302\233')"
    says hostile_argument_shown_$verb err 'no\x1B[31m\xC2\x9B8\x0Ahint: x'
done
fake --ctx_dir "$tmp/hostile" --input "$odd=x"
says hostile_input err '\x1B[31m\xC2\x9B8\x0Ahint: x'
fake --ctx_dir "$tmp/hostile" --output_dir "$tmp/cage/../odd$odd"
is hostile_output 0
says hostile_output out '\x1B[31m\xC2\x9B8\x0Ahint: x'
lacks hostile_output_raw out "$(printf '\033')"
fake --ctx_dir "$tmp/hostile" --output_dir "$tmp/cage/a/b/c" --output_data_type both --bind_plan_out "$tmp/plan"
equal hostile_files_stay 'a' "$(ls -A "$tmp/cage")"
equal hostile_files_count 16 "$(find "$tmp/cage" -type f | wc -l | tr -d ' ')"
equal hostile_files_are_plain '' "$(find "$tmp/cage/a/b/c" -mindepth 1 | sed 's,.*/,,' | grep -E '^\.|[^A-Za-z0-9._-]')"
equal hostile_files_once '' "$(find "$tmp/cage" -type f | tr 'A-Z' 'a-z' | sort | uniq -d)"
valid hostile_plan "$tmp/plan"
check hostile_plan_is_utf8 "not UTF-8" iconv -f UTF-8 -t UTF-8 "$tmp/plan"
json hostile_graph '../../g"\' "$tmp/plan" 'd["pipelines"][0]["name"]'
json hostile_input "'a\\r\\x1b[31m\"\\\\\\n'" "$tmp/plan" 'ascii(d["pipelines"][0]["slots"][0]["name"])'
json hostile_bytes "'\\xe9\\ufffd\\x9b\\ufffd\\ufffd\\ufffd\\U0001f600\\ufffd\\ufffd'" "$tmp/plan" 'ascii(d["pipelines"][0]["slots"][4]["name"])'
fake --ctx_dir "$tmp/hostile" --json --output_dir "$tmp/cage/a/b/c"
is hostile_json 0
valid hostile_json "$tmp/out"
json hostile_outputs_exist 8 "$tmp/out" 'sum(1 for o in d["pipelines"][0]["outputs"] if __import__("os").path.exists(o["file"]))'

# ---- documents --------------------------------------------------------------------------------------

fake --ctx_dir "$tmp/chain" --bind_plan_out -
is plan_to_stdout 0
valid plan_to_stdout "$tmp/out"
json plan_edges "[(0, 'h', 1, 'h', 'equal names')]" "$tmp/out" \
    '[(e["from_step"], e["from"], e["to_step"], e["to"], e["reason"]) for e in d["pipelines"][0]["edges"]]'
json plan_steps "[('forward_0.bin', 'a_1_of_2'), ('forward_1.bin', 'a_2_of_2')]" "$tmp/out" \
    '[(s["file"], s["graph"]) for s in d["pipelines"][0]["steps"]]'
json plan_slots "[('x', 'input', 4, 0, 0), ('h', 'edge', 8, 0, 1), ('y', 'output', 4, 1, 1)]" "$tmp/out" \
    '[(s["name"], s["role"], s["bytes"], s["first_step"], s["last_step"]) for s in d["pipelines"][0]["slots"]]'
json plan_sums True "$tmp/out" 'd["pipelines"][0]["plan"]["bound"] <= d["pipelines"][0]["plan"]["peak"] <= d["pipelines"][0]["plan"]["naive"]'
json plan_offsets True "$tmp/out" 'all(s["offset"] + s["bytes"] <= d["pipelines"][0]["plan"]["peak"] for s in d["pipelines"][0]["slots"])'
json plan_quantization "{'encoding': 'per_tensor', 'scale': 1.0, 'offset': 0}" "$tmp/out" \
    '{k: v for k, v in d["pipelines"][0]["slots"][0]["quantization"].items() if k in ("encoding", "scale", "offset")}'
fake --ctx_dir "$tmp/chain" --json --num_inferences 2
is json 0
valid json "$tmp/out"
json json_times "True 2" "$tmp/out" '"%s %d" % (d["ok"], len(d["pipelines"][0]["exec_ns"]))'
fake --ctx_dir "$tmp/chain" --bind_plan_out "$tmp/none/plan"
is plan_cannot_be_written 1
says plan_cannot_be_written err "$tmp/none/plan"

# ---- Qualcomm's libraries ---------------------------------------------------------------------------

htp=$release/libQnnHtp.so
case $htp in */*) ;; *) htp=./$htp ;; esac
real() { run --backend_so "$htp" "$@"; }

# sample FOLDER INPUT=FILE ...: outputs equal the expected ones, standard output is ours
sample() {
    folder=$1 name=$(basename "$1")
    shift
    rm -rf "$tmp/real"
    real --ctx_dir "$folder" --output_dir "$tmp/real" "$@"
    is "real_$name" 0
    for wanted in "$folder"/*.expected.raw; do
        tensor=$(basename "$wanted" .expected.raw)
        check "real_$name" "$tensor is not what is expected" sh -c 'cmp "$1"/*/"$2.raw" "$3"' - "$tmp/real" "$tensor" "$wanted"
    done
    check "stdout_$name" "a strange line: $(grep -vE '^$|^(backend|system|model|device|pipeline|run) |^  ' "$tmp/out" | head -n 1)" \
        sh -c '! grep -vE "^\$|^(backend|system|model|device|pipeline|run) |^  " "$1" && ! grep -aE "LIBNATIVE|<[EVWI]>|stage:" "$1"' - "$tmp/out"
}

if [ ! -f "$htp" ]; then
    skip real "$htp is missing"
else
    real --ctx_dir "$tmp/empty"
    made=$(sed -n 's/.*build v\([0-9]*\.[0-9]*\)\..*/\1/p' "$tmp/out")
    set_of="$data/ctx/qairt$made"
    if [ -z "$made" ]; then
        bad real "no build id of $htp: $(head -n 3 "$tmp/err")"
    elif [ ! -d "$set_of" ]; then
        skip real "there are no samples for release $made"
    else
        sample "$set_of/mlp_u8" --input "x=$set_of/mlp_u8/x.raw"
        says real_path out "$htp"
        sample "$set_of/mlp_u8" --input "x=$set_of/mlp_u8/x.raw" --guard --read
        if [ -d "$set_of/two_in_two_out_u16" ]; then
            folder=$set_of/two_in_two_out_u16
            sample "$folder" --input "a=$folder/a.raw" --input "b=$folder/b.raw"
        fi
        if [ -d "$set_of/chain_of_three" ]; then
            folder=$set_of/chain_of_three
            sample "$folder" --input "input_ids=$folder/input_ids.raw"
            says real_wiring out 'the only pair that fits'
            need=$(sed -n 's/^device    about \([0-9]*\).0 KiB; one process has about 3.4 GiB .*/\1/p' "$tmp/out")
            for resident in one "$((need * 1024))" all; do
                sample "$folder" --input "input_ids=$folder/input_ids.raw" --resident "$resident" --progress
                says "real_resident_$resident" out " of about $need.0 KiB on the device"
                says "real_resident_$resident" err 'loading 3 of 3: '
            done
            sample "$set_of/cnn_per_axis" --input "image=$set_of/cnn_per_axis/image.raw"
            sample "$set_of/mlp_f32_io" --input "x=$set_of/mlp_f32_io/x.raw"
            real --ctx_dir "$data/llm/bad_mixed_shards"
            is real_mixed_shards 1
            says real_mixed_shards err 'not wired'
            real --ctx_dir "$data/llm/w8a16_four" --num_inferences 0 --json
            is real_llm 0
            valid real_llm "$tmp/out"
            json real_llm_pipelines "['prompt_ar32_cl128', 'token_ar1_cl128']" "$tmp/out" '[p["name"] for p in d["pipelines"]]'
        fi

        # Noise of the library at load, on errors and at the end goes to standard error.
        folder=$set_of/mlp_u8
        real --ctx_dir "$folder" --json --num_inferences 2 --input "x=$folder/x.raw" --log_level 5
        is real_json 0
        valid real_json "$tmp/out"
        says real_log err 'log '
        head -c 20000 "$folder/forward_0.bin" >"$tmp/short.bin"
        real --retrieve_context "$tmp/short.bin" --json
        is real_cut_file 1
        valid real_cut_file "$tmp/out"

        # Float in and out: the file of floats is made from the codes by the document's own encoding.
        if [ -z "$python" ]; then
            skip real_float "python3 is missing"
        else
            real --ctx_dir "$folder" --bind_plan_out "$tmp/plan" --num_inferences 0
            $python - "$tmp/plan" "$folder" "$tmp" <<'end'
import json, struct, sys
plan, folder, tmp = sys.argv[1:]
for slot in json.load(open(plan))["pipelines"][0]["slots"]:
    kind = ".raw" if slot["role"] == "input" else ".expected.raw"
    q = slot["quantization"]
    codes = open(folder + "/" + slot["name"] + kind, "rb").read()
    scale = struct.unpack("<f", struct.pack("<f", q["scale"]))[0]
    values = [(c + q["offset"]) * scale for c in codes]
    open(tmp + "/" + slot["name"] + ".float", "wb").write(struct.pack("<%df" % len(values), *values))
end
            rm -rf "$tmp/real"
            real --ctx_dir "$folder" --input "x=$tmp/x.float" --output_dir "$tmp/real" --output_data_type both
            is real_float 0
            says real_float out float32
            check real_float_input "y differs" sh -c 'cmp "$1"/*/y_native.raw "$2"' - "$tmp/real" "$folder/y.expected.raw"
            check real_float_output "y differs" sh -c 'cmp "$1"/*/y.raw "$2"' - "$tmp/real" "$tmp/y.float"
        fi
    fi
fi

finish
