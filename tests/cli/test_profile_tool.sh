#!/bin/sh
# qnnrt-run --profiling_level, --profile_out, --perf_profile, on the fake library and on the genuine one.
#
#   sh tests/cli/test_profile_tool.sh [BUILD_DIR [RELEASE_DIR]]
suite=test_profile_tool
. "$(dirname "$0")/../harness/tool.sh"

python=
if command -v python3 >/dev/null 2>&1; then python=python3; fi

# json NAME WANTED FILE EXPRESSION: the expression over the document d
json() {
    if [ -z "$python" ]; then skip "$1" "python3 is missing"; return; fi
    found=$($python -c 'import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
print(eval(sys.argv[2]))' "$3" "$4" 2>&1)
    if [ "$2" = "$found" ]; then good; else bad "$1" "'$found', not '$2'"; fi
}

# fake KNOBS ARGUMENT ...
fake() {
    QNNFAKE=$1
    export QNNFAKE
    shift
    run --ctx_dir "$tmp/m" --backend_so "$fake" --system_so "$fake" "$@"
    unset QNNFAKE
}

mkdir "$tmp/m"
printf 'FAKEQNN 1\n# a context binary is not shorter than this\ngraph main\nin x 1 0108 1 4 -\nout hidden 2 0108 1 4 -\n' >"$tmp/m/forward_0.bin"
printf 'FAKEQNN 1\n# a context binary is not shorter than this\ngraph main\nin hidden 5 0108 1 4 -\nout %%1B[2Jy 6 0108 1 4 -\n' >"$tmp/m/forward_1.bin"

# ---- wrong usage lists valid values -----------------------------------------------------------------

wrong level 'takes off, basic, detailed or optrace, not "high"' --ctx_dir "$tmp/m" --profiling_level high
wrong preset 'takes burst, sustained_high_performance, high_performance, balanced, low_balanced, high_power_saver, power_saver or low_power_saver, not "turbo"' \
    --ctx_dir "$tmp/m" --perf_profile turbo
wrong out_alone '--profile_out needs --profiling_level' --ctx_dir "$tmp/m" --profile_out "$tmp/x"
wrong out_off '--profile_out needs --profiling_level' --ctx_dir "$tmp/m" --profile_out "$tmp/x" --profiling_level off
wrong inspect 'runs nothing' inspect "$tmp/m" --profiling_level basic
wrong plan 'runs nothing' plan "$tmp/m" --perf_profile burst
wrong two_documents '--json and --profile_out -' --ctx_dir "$tmp/m" --json --profiling_level basic --profile_out -
run run --help
for word in basic detailed optrace burst sustained_high_performance low_power_saver qnn-profile-viewer; do
    says help out "$word"
done

# ---- the table --------------------------------------------------------------------------------------

fake "" --profiling_level basic
is basic 0
says loading out '    1                      9 us      QNN (load binary) time'
says basic out '    0                      1 us      QNN (execute) time'
says basic_step_1 out '    1                      2 us      QNN (execute) time'
lacks basic_no_nodes out 'OpId'
fake "" --profiling_level detailed --num_inferences 3
is detailed 0
says last_inference out 'of the last inference'
check detailed "$(cat "$tmp/out")" grep -qE '^    0 +2 cycles    hidden:OpId_17 \(cycles\) +hidden$' "$tmp/out"
says detailed_total out '    0                   5000 cycles  Accelerator (execute) time (cycles)'
says detailed_hostile out '\x1B[2Jy:OpId_17 (cycles)'
fake "" --profiling_level off
is off 0
lacks off out 'of loading'
lacks off out 'of the last inference'
fake events=none --profiling_level basic
is none 0
says none out 'the library returned no events'
fake fail=profileGetEventData:0x2ee1:6,fail=profileGetExtendedEventData:0x2ee3 --profiling_level basic
is not_told 0
says not_told out '0x2ee3)'

# ---- not available ---------------------------------------------------------------------------------

fake fail=profileSetConfig:0x3e8 --profiling_level optrace
is optrace_refused 1
says optrace_refused err 'has no optrace profiles: profileSetConfig answered 0x3e8'
says optrace_refused err 'level detailed'
fake fail=profileCreate:0x2ee1:3 --profiling_level basic
is run_refused 1
says run_refused err 'pipeline "main": '
fake events=endless --profiling_level basic
is endless 1
says endless err 'nested deeper than 8 levels'

# ---- files ------------------------------------------------------------------------------------------

fake "" --profiling_level detailed --num_inferences 2 --profile_out "$tmp/trace.json"
is trace 0
says trace out "wrote     $tmp/trace.json"
json trace_bars "['main', 'step 0, main', 'Input', 'hidden', 'step 1, main']" "$tmp/trace.json" \
    "[e['name'] for e in d['traceEvents'] if e['ph'] == 'X' and e['tid'] != 4][:5]"
json trace_loading "['loading', 'open the backend', 'forward_0.bin', 'forward_1.bin']" "$tmp/trace.json" \
    "[e['name'] for e in d['traceEvents'] if e['ph'] == 'X' and e['tid'] == 4]"
json trace_loading_within True "$tmp/trace.json" \
    "(lambda a: a[0]['dur'] > 0 and all(e['ts'] + e['dur'] <= a[0]['dur'] for e in a[1:]) and
     all(x['ts'] + x['dur'] <= y['ts'] + 1e-6 for x, y in zip(a[1:], a[2:])))(
     [e for e in d['traceEvents'] if e['ph'] == 'X' and e['tid'] == 4])"
json trace_loading_first True "$tmp/trace.json" \
    "(lambda a: all(e['ts'] >= a[0]['dur'] for e in d['traceEvents'] if e['ph'] == 'X' and e['tid'] == 1))(
     [e for e in d['traceEvents'] if e['ph'] == 'X' and e['tid'] == 4])"
json trace_inferences '[0, 1]' "$tmp/trace.json" \
    "[e['args']['inference'] for e in d['traceEvents'] if e['ph'] == 'X' and e['tid'] == 1]"
json trace_within True "$tmp/trace.json" \
    "all(abs(sum(e['dur'] for e in d['traceEvents'] if e['ph'] == 'X' and e['tid'] == t) - 10) < 1e-6 for t in (2, 3))"
fake "" --profiling_level basic --profile_out -
is trace_stdout 0
json trace_stdout True "$tmp/out" "len(d['traceEvents']) > 3"
fake "" --profiling_level detailed --num_inferences 2 --profile_out "$tmp/profile.log"
is log 0
says log profile.log 'execute main method 1 time 1'
check log_twice "$(cat "$tmp/profile.log")" test "$(grep -c '^execute main' "$tmp/profile.log")" -eq 4
fake "" --profiling_level basic --profile_out "$tmp/profile.log"
check log_anew "$(cat "$tmp/profile.log")" test "$(grep -c '^execute main' "$tmp/profile.log")" -eq 2
# Outputs that are written into its folder meanwhile leave it alone.
fake "" --num_inferences 2 --output_dir "$tmp/both"
folder=$(dirname "$(find "$tmp/both" -name '*.raw' | sort | tail -n 1)")
fake "" --profiling_level detailed --num_inferences 2 --output_dir "$tmp/both" --profile_out "$folder/profile.log"
check log_beside_outputs "$(cat "$folder/profile.log")" test "$(grep -c '^execute main' "$folder/profile.log")" -eq 4
fake "" --profiling_level basic --profile_out "$tmp/m/forward_0.bin/x"
is log_impossible 1
fake sysapi=1.8 --profiling_level basic --profile_out "$tmp/x.log"
is log_system_too_old 1
says log_system_too_old err 'cannot write profile logs'
fake "" --profiling_level detailed --json
is json 0
json json_events "['hidden', 2, 'cycles', 404]" "$tmp/out" \
    "[[e['node'], e['value'], e['unit'], e['vendor_type']] for e in d['pipelines'][0]['events'] if e['node'] == 'hidden'][0]"
json json_loading '[0, 0, 1, 1]' "$tmp/out" "[e['context'] for e in d['model']['events']]"
fake "" --json
json json_without "(False, False, None)" "$tmp/out" \
    "'events' in d['model'], 'events' in d['pipelines'][0], d['backend']['power']"

# ---- the verb profile ---------------------------------------------------------------------------------

# profile ARGUMENT ...: on the fake library
profile() { run profile "$tmp/m" --backend_so "$fake" --system_so "$fake" "$@"; }

profile --num_inferences 4 --save "$tmp/saved.json" --profile_out "$tmp/trace2.json"
is profile 0
silent profile_quiet err
says profile_head out 'level detailed, 4 inferences after a first one'
says profile_loading out 'library libQnnFake.so'
says profile_context out 'context forward_1.bin'
says profile_step out '0  forward_0.bin  main'
says profile_unnamed out '  other  '
json profile_format "('qnnrt-run.profile', 1, 'detailed', 4, ['library', 'context', 'context'])" "$tmp/saved.json" \
    "(d['format'], d['version'], d['level'], d['inferences'], [e['kind'] for e in d['loading']])"
# The trace of the same run has every inference: the mean of the two fastest of the last four counts.
$python - "$tmp/trace2.json" "$tmp/saved.json" >"$tmp/means" 2>&1 <<'EOF'
import json, sys
bars = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "X"]
runs, steps = ([e["dur"] for e in bars if e["tid"] == t] for t in (1, 2))
faster = sorted(range(1, 5), key=lambda i: runs[i])[:2]
saved = json.load(open(sys.argv[2]))["pipelines"][0]
assert abs(saved["us"] - sum(runs[i] for i in faster) / 2) < 1e-6, saved["us"]
assert abs(saved["first_us"] - runs[0]) < 1e-6
for s in (0, 1):
    assert abs(saved["steps"][s]["us"] - sum(steps[2 * i + s] for i in faster) / 2) < 1e-6, saved["steps"][s]["us"]
print("good")
EOF
if [ -n "$python" ]; then check profile_means "$(cat "$tmp/means")" grep -q good "$tmp/means"; else skip profile_means "python3 is missing"; fi
json profile_nodes True "$tmp/saved.json" \
    "all(abs(sum(n['us'] for n in s['nodes']) - (s['us'] if s['nodes'] else 0)) < 1e-9 for s in d['pipelines'][0]['steps'])"
json profile_trace 5 "$tmp/trace2.json" "len([e for e in d['traceEvents'] if e['ph'] == 'X' and e['tid'] == 1])"
profile --json --profiling_level basic
is profile_json 0
json profile_basic "[0, 0]" "$tmp/out" "[len(s['nodes']) for s in d['pipelines'][0]['steps']]"
profile --against "$tmp/saved.json"
is profile_against 0
says profile_against out ' before, '
run profile "$tmp/saved.json"
is profile_again 0
says profile_again out '0  forward_0.bin  main'

# Two saved profiles, written by hand: names with control characters and markup, numbers that are none.
cat >"$tmp/a.json" <<'EOF'
{"format": "qnnrt-run.profile", "version": 1, "model": "<script>\u001b[2J", "backend": "B\n", "inferences": 9,
 "more": [{"a": [1]}],
 "pipelines": [{"name": "p\u001b[31m", "us": 1000, "first_us": 2000, "steps": [
  {"name": "s", "file": "f.bin", "us": 900, "device_us": 0, "nodes": [
   {"name": "x.Relu.1", "operator": "Relu", "us": 600, "cycles": 1}, {"name": "x.Relu.1", "operator": "Relu", "us": 100},
   {"name": "</title>", "operator": "Add", "us": 50}, 7]}]}, {"name": "only a", "us": 1e400, "steps": {"x": 1}}]}
EOF
sed 's/"us": 600/"us": 200/; s/only a/only b/; s/"us": 1000/"us": 500/' "$tmp/a.json" >"$tmp/b.json"
run profile "$tmp/a.json" "$tmp/b.json"
is change 0
says change_pipeline out 'p\x1B[31m"  1.00 ms before, 500 us after, -50.0 %'
says change_operator out ' 700 us  300 us     -400 us   -57.1 %      2  Relu'
says change_node out ' 700 us  300 us     -400 us  -57.1 %     0  Relu      x.Relu.1'
says change_only_a out 'missing after'
says change_only_b out 'missing before'
check change_escapes "a control character in the output" sh -c '! grep -q "$(printf "\033")" "$1"' - "$tmp/out"
run profile "$tmp/a.json" "$tmp/b.json" --json
json change_json "[[['Relu', 700, 300], ['outside nodes', 150, 550], ['Add', 50, 50]]]" "$tmp/out" \
    "[sorted([[o['operator'], o['before_us'], o['after_us']] for o in p['operators']], key=lambda o: -o[1]) for p in d['pipelines']]"
# The name that ONNX Runtime makes up gives way to that of the file.
sed 's/"name": "s"/"name": "QNNExecutionProvider_QNNExecutionProvider_98_1_0"/; s/p\\u001b\[31m/QNNExecutionProvider_QNNExecutionProvider_98_1_0/' "$tmp/a.json" >"$tmp/ort.json"
run profile "$tmp/ort.json" --svg "$tmp/ort.svg"
is made_up 0
says made_up_pipeline out 'pipeline "f.bin"'
lacks made_up_gone out QNNExecutionProvider
lacks made_up_picture ort.svg QNNExecutionProvider
printf '{"format": "qnnrt-run.profile", "version": 1, "pipelines": [{' >"$tmp/cut.json"
run profile "$tmp/cut.json"
is saved_cut 1
says saved_cut err 'cut.json, byte '
printf '{"format": "qnnrt-run.profile", "version": 2}' >"$tmp/new.json"
run profile "$tmp/new.json"
is saved_newer 1
says saved_newer err 'has version 2'
run profile "$tmp/trace.json"
is saved_foreign 1
says saved_foreign err 'is not a saved profile'
profile --against "$tmp/missing.json"
is against_missing 1
says against_missing err 'cannot read'
profile --save "$tmp/m/forward_0.bin/x"
is save_impossible 1
says save_impossible err 'cannot write'
wrong profile_no_model 'the model is missing' profile
wrong profile_off 'takes detailed, basic or optrace, not "off"' profile "$tmp/m" --profiling_level off
wrong profile_outputs 'not an option of profile' profile "$tmp/m" --output_dir "$tmp/x"
# Work grows with the square of the pipelines of two profiles: too many are refused.
if [ -n "$python" ]; then
    $python -c 'import json
print(json.dumps({"format": "qnnrt-run.profile", "version": 1, "pipelines": [{"name": str(i), "us": 5} for i in range(1025)]}))' \
        >"$tmp/many.json"
    run profile "$tmp/many.json" "$tmp/many.json"
    is profile_many 1
    says profile_many err 'more than 1024 pipelines'
fi
echo '{"format": "qnnrt-run.profile", "version": 1e14}' >"$tmp/version.json"
run profile "$tmp/version.json"
is profile_version 1
says profile_version err 'has version 100000000000000;'
wrong profile_three 'compares two' profile "$tmp/a.json" "$tmp/a.json" "$tmp/b.json"
wrong profile_documents 'both write to standard output' profile "$tmp/m" --json --profile_out -

# ---- power ------------------------------------------------------------------------------------------

fake "" --perf_profile burst
is burst 0
says burst out 'power     burst: dcvs applied, rpc_control_latency applied, rpc_polling_time applied'
fake devnosup=1 --perf_profile balanced
is not_available 0
says not_available out 'power     balanced: dcvs not available, rpc_control_latency not available'
fake fail=setPowerConfig:0x32c9:2 --perf_profile burst
is refused 1
says refused out 'rpc_control_latency refused (0x32c9)'
says refused err 'the backend refused rpc_control_latency with 0x32c9'
fake fail=setPowerConfig:0x32c9:2 --perf_profile burst --keep_going
is refused_keep_going 1
says refused_keep_going out 'exec min'
fake "" --perf_profile power_saver --json
json json_power "power_saver ['applied', 'applied', 'not asked for']" "$tmp/out" \
    "d['backend']['power']['perf_profile'] + ' ' + str([s['answer'] for s in d['backend']['power']['settings']])"

# ---- the genuine library ----------------------------------------------------------------------------

if [ -f "$release/libQnnHtp.so" ]; then
    run --ctx_dir "$data/ctx/qairt2.51/mlp_u8" --backend_so "$release/libQnnHtp.so" --profiling_level optrace \
        --perf_profile sustained_high_performance --profile_out "$tmp/htp.log"
    is htp 0
    says htp_power out 'sustained_high_performance: dcvs applied, rpc_control_latency applied, rpc_polling_time applied'
    says htp_loading out 'QNN (load binary) time'
    says htp_node out 'Relu5:OpId_50 (cycles)'
    run profile "$data/ctx/qairt2.51/mlp_u8" --backend_so "$release/libQnnHtp.so" --num_inferences 2
    is htp_profile 0
    says htp_profile_node out '  Relu5'
    check htp_log "no log" grep -q 'Relu5:OpId_50' "$tmp/htp.log"
else
    skip htp "$release/libQnnHtp.so is missing"
fi

finish
