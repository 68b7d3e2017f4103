#!/bin/sh
# qnnrt-run --profiling_level, --profile_out, --perf_profile, on the fake library and on the genuine one.
#
#   sh tests/test_profile_tool.sh [BUILD_DIR [RELEASE_DIR]]
suite=test_profile_tool
. "$(dirname "$0")/tool.sh"

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
run --help
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
    "[e['name'] for e in d['traceEvents'] if e['ph'] == 'X'][:5]"
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
    check htp_log "no log" grep -q 'Relu5:OpId_50' "$tmp/htp.log"
else
    skip htp "$release/libQnnHtp.so is missing"
fi

finish
