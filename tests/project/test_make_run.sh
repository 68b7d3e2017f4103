#!/bin/sh
# `make run` on the reference backend, seen from outside; `make test` itself runs it on the genuine
# library.
#     sh tests/project/test_make_run.sh [BUILD_DIR]
unset MAKEFLAGS MAKELEVEL MFLAGS RUN BACKEND
suite=test_make_run
. "$(dirname "$0")/../harness/tool.sh"

# made ARGUMENT ...: make run; status, and $tmp/out and $tmp/err
made() {
    make run B="$build" RUN_DIR="$tmp/run" PYTHON=/no/such/python "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
}
judge() {
    sh tests/project/check_run.sh "$tmp/run" "$1" >"$tmp/out" 2>"$tmp/err"
    status=$?
}

# It builds what it runs: no header of language models, of sessions or of engines.
make -n run B="$tmp/none" PYTHON=/no/such/python >"$tmp/plan" 2>/dev/null
check run_builds_what_it_runs "make -n run names no impl.o" grep -q '/lib/impl\.o' "$tmp/plan"
check run_builds_no_more "make run builds what it does not run" \
    sh -c '! grep -E "/lib/(llm|session|engine[a-z_]*)\.o|qnnrt-llm |libqnnrt\.a" "$1"' - "$tmp/plan"

made
is run_succeeds 0
says run_needs_no_download out 'no backend was named: using libQnnRef.so'
says run_shows_both_pipelines out 'pipeline "prefill_forward", 4 steps'
says run_shows_both_pipelines out 'pipeline "kv_forward", 4 steps'
says run_shows_wiring out 'step 0 "hidden_0" -> step 1 "hidden_0": equal names'
says run_shows_times out 'over 5 inferences'
check run_counts_what_it_leaves_out "no line says that 1 more output is not shown" grep -qx ' *and 1 more output' "$tmp/out"
says run_writes_text out 'And the LORD said unto |him, What is the son of Abraham'
says run_is_judged out 'OK: the text is'
for i in 0 1 2 3; do
    check run_leaves_files "forward_$i.bin or its JSON is missing" test -s "$tmp/run/ref/model/forward_$i.bin" -a -s "$tmp/run/ref/model/forward_${i}_json.json"
done
# README.md shows lines of this output.
sed "s|$tmp/run/|build/run/|" "$tmp/out" >"$tmp/shown"
awk '/^<!-- .*output of make run/ { on = 1; next } on && /^    / { print substr($0, 5); next } on && /^[^ ]/ { exit }' \
    README.md | grep -vx ' *\.\.\.' >"$tmp/readme"
check readme_shows_output "README.md has no output of make run" test -s "$tmp/readme"
while IFS= read -r line; do
    check readme_shows_output "README.md has a line that make run does not print: $line" grep -qxF -- "$line" "$tmp/shown"
done <"$tmp/readme"
run inspect "$tmp/run/ref/model" --metadata json
is run_leaves_json_that_stands_alone 0

# The check of the text must be able to fail.
cp -r "$tmp/run/ref" "$tmp/run/other"
judge other
is judge_accepts_the_same 0
says judge_accepts_the_same out 'ref: the same bytes'
printf '\000\000\200\077' | dd of="$tmp/run/other/logits.raw" bs=1 seek=4000 conv=notrunc 2>/dev/null
judge other
is judge_refuses_other_logits 1
says judge_refuses_other_logits out 'FAILED: the backends differ'
sed 's/Abraham/Abel/' "$tmp/run/ref/text" >"$tmp/run/other/text"
judge other
is judge_refuses_other_text 1
says judge_refuses_other_text out 'is not what tests/data/llm/expected.json has'

made BACKEND=cpu
is cpu_is_refused 2
says cpu_is_refused out 'has no 16-bit activations'
made BACKEND=gpu
is unknown_backend_is_refused 2
says unknown_backend_is_refused err 'run-gpu'

# The example's own message for a file that it cannot make.
mkdir "$tmp/model" "$tmp/made"
make_model() {
    "$build/examples/05_make_model" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
}
make_model
is make_model_usage 2
make_model "$tmp/model" "$tmp/made"
is make_model_names_what_is_missing 1
says make_model_names_what_is_missing err 'config.json: No such file'
sed 's/"head_dim": 32/"head_dim": 31/' tests/data/llm/model/config.json >"$tmp/model/config.json"
make_model "$tmp/model" "$tmp/made"
is make_model_refuses_odd_heads 1
says make_model_refuses_odd_heads err 'expected even numbers'
sed 's/"intermediate_size": 384/"intermediate_size": 380/' tests/data/llm/model/config.json >"$tmp/model/config.json"
cp tests/data/llm/model/model.safetensors "$tmp/model/"
make_model "$tmp/model" "$tmp/made"
is make_model_wants_ranges 1
says make_model_wants_ranges err 'ranges.json: No such file'
cp tests/data/llm/model/ranges.json "$tmp/model/"
make_model "$tmp/model" "$tmp/made"
is make_model_compares_shapes 1
says make_model_compares_shapes err 'have another shape'
cp tests/data/llm/model/config.json "$tmp/model/"
printf '\377\377\377\177' | dd of="$tmp/model/model.safetensors" bs=1 seek=1000000 conv=notrunc 2>/dev/null
make_model "$tmp/model" "$tmp/made"
is make_model_wants_finite_weights 1
says make_model_wants_finite_weights err '1 values that are NaN'
make_model tests/data/llm/model "$tmp/no/such/folder"
is make_model_names_the_file_it_cannot_write 1
says make_model_names_the_file_it_cannot_write err 'no/such/folder/forward_0.bin'

generate() {
    "$build/examples/06_generate" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
}
generate
is generate_usage 2
generate "$tmp/run/ref/model" 'In those days there was a man of the house of Levi, ' 8
is generate_takes_a_prompt_of_two_calls 0
generate "$tmp/run/ref/model" 'In the beginning ' 200
is generate_knows_the_context 1
says generate_knows_the_context err 'longer than the model'

finish
