#!/bin/sh
# qnnrt-run bench, seen from outside: what it counts, computes and refuses. No time is judged.
#     sh tests/cli/test_bench.sh [BUILD_DIR [RELEASE_DIR]]
suite=test_bench
. "$(dirname "$0")/../harness/tool.sh"
ref=$build/libQnnRef.so
old=$build/qnn/2.47/onnxruntime_qnn/libQnnHtp.so

mkdir "$tmp/a" "$tmp/b" "$tmp/oracle"
check model "it is not made" "$build/examples/03_compose" "$ref" "$tmp/a/layer.bin"
cp "$tmp/a/layer.bin" "$tmp/b/"

# json NAME EXPRESSION: true of the JSON in $tmp/out, which is d
json() {
    check "$1" "not so: $2 in $(head -c 600 "$tmp/out")" python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(not eval(sys.argv[2]))' "$tmp/out" "$2"
}

# calls NAME NUMBER OPTION ...: so often does the library execute
calls() {
    name=$1 number=$2
    shift 2
    rm -f "$tmp/trace"
    QNNREF_TRACE=$tmp/trace "$tool" bench "$@" --backend_so "$ref" --json >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
    is "$name" 0
    silent "$name" err
    found=$(grep -c graphExecute "$tmp/trace")
    if [ "$found" -eq "$number" ]; then good; else bad "$name" "$found calls of graphExecute, not $number"; fi
}

# ---- statistics, by definition ----

if command -v python3 >/dev/null 2>&1; then
    python3 "$tests/cli/bench_oracle.py" "$tool" "$tmp/oracle" >"$tmp/out" 2>"$tmp/err"
    status=$?
    is oracle 0
    says oracle out ' passed, 0 failed'
    silent oracle err

    # ---- one model: the first call, the warm-ups, the calls that count, and up to 20 with a profile ----

    calls default 124 "$tmp/a"
    json default_count 'd["pipelines"][0]["exec"]["count"] == 100 and d["pipelines"][0]["warmups"] == 3'
    json default_form 'd["format"] == "qnnrt-run.bench" and d["version"] == 1 and d["error"] is None and d["power"] is None'
    json default_order 'all(e["min_ns"] <= e["median_ns"] <= e["p90_ns"] <= e["p99_ns"] <= e["p999_ns"] <= e["max_ns"] for e in [d["pipelines"][0]["exec"]])'
    json default_parts 'd["pipelines"][0]["arena_bytes"] == 128 and d["memory"]["peak_bytes"] >= d["memory"]["resident_bytes"] > 0'
    json default_loading '[s["kind"] for s in d["loading"]["stages"]] == ["library", "context"] and d["loading"]["ns"] > 0'
    calls few 9 "$tmp/a" --num_inferences 3 --warmup 2
    json few_histogram 'sum(d["pipelines"][0]["histogram"]["counts"]) + d["pipelines"][0]["histogram"]["above"] == 3'
    calls threads 54 "$tmp/a" --num_inferences 10 --warmup 0 --threads 4 --rate 2000
    json threads_count 'd["pipelines"][0]["exec"]["count"] == 40 and d["pipelines"][0]["threads"] == 4'
    json threads_rate '0.004 < d["pipelines"][0]["seconds"]'
    run bench "$tmp/a" --backend_so "$ref" --duration 0.05 --json
    is duration 0
    json duration_lasts 'd["pipelines"][0]["seconds"] >= 0.05'

    if [ -e "$release/libQnnHtp.so" ]; then
        run bench "$tmp/a" "$data/ctx/qairt2.51/mlp_u8" --rounds 2 --starts 1
        is sides_choose 0
        says sides_choose out 'provider REF'
        says sides_choose out 'provider HTP'
    else
        skip sides_choose "no libQnnHtp.so in $release"
    fi

    # ---- two models: the first call and the warm-ups, 10 to find the length of a round ----

    run bench "$tmp/a" "$tmp/b" --backend_so "$ref" --rounds 7 --starts 2 --json
    is rounds 0
    json rounds_count 'd["format"] == "qnnrt-run.bench-pair" and d["starts"] == 2 and d["pipelines"][0]["rounds"] == 7'
    json rounds_sides 'd["pipelines"][0]["a"]["count"] == d["pipelines"][0]["b"]["count"] == 7 and d["threshold_percent"] == 2'
    # Side B sleeps for 10 ms in each call: no machine hides that.
    run bench "$tmp/a" --backend_so "$ref" --other_env QNNREF_FAULTS=delay=graphExecute:10ms --rounds 12 --starts 1 --json
    is delayed 0
    json delayed 'd["pipelines"][0]["verdict"] == "slower" and d["pipelines"][0]["b"]["min_ns"] >= 1e7'
    run bench "$tmp/a" --backend_so "$ref" --other_env QNNREF_FAULTS=fail=graphExecute:0x1770 --json
    is other_fails 1
    says other_fails err 'side B cannot be measured'
    json other_fails '"side B" in d["error"] and d["pipelines"] == []'
    run bench "$tmp/a" --backend_so "$ref" --other_env QNNREF_FAULTS=fail=graphExecute:100:0x1770 --rounds 50 --starts 1 --json
    is other_fails_later 1
    says other_fails_later err 'a side failed while it was measured'
else
    skip python "python3 is missing"
fi

# ---- the table, CSV ----

run bench "$tmp/a" --backend_so "$ref" --num_inferences 20
is table 0
says table out 'bench "layer"'
says table out 'timer     from the call of qnnrt_exec() to its return'
says table out 'power     not set'
says table out 'min      median         p90         p99       p99.9         max'
says table out '  calls     20 in '
run bench "$tmp/a" "$tmp/b" --backend_so "$ref" --rounds 20
is pair_table 0
says pair_table out 'side A'
says pair_table out 'with 99 percent confidence'
run bench "$tmp/a" --backend_so "$ref" --csv -
is csv 0
check csv_lines "$(cat "$tmp/out")" sh -c 'grep -q "^pipeline,what,count,min_ns," "$1" && grep -q "^\"layer\",exec,100," "$1" && grep -q "^\"layer\",first_call,1," "$1"' - "$tmp/out"
printf '5\n7\n' >"$tmp/a,\"b
c.txt"
run bench --samples "$tmp/a,\"b
c.txt" --csv -
is csv_name 0
check csv_name "$(cat "$tmp/out")" sh -c 'test "$(wc -l <"$1")" -eq 2 && tail -n 1 "$1" | grep -qF "a,\"\"b\\x0Ac.txt\",samples,2,5,6.0,7,7,7,7,6.0"' - "$tmp/out"

# ---- refused ----

printf "1\n2\n" >"$tmp/two"
run bench "$tmp/a" --backend_so "$ref" --perf_profile burst
if [ "$status" -le 1 ]; then good; else bad power "status $status"; fi
says power out 'power     burst'
wrong nothing 'bench takes a model, or two of them' bench
wrong three 'bench takes a model, or two of them' bench a b c
wrong both_forms '--json and --csv - both write to standard output' bench a --json --csv -
run bench --samples "$tmp/two" --json --csv "$tmp/two.csv"
is two_forms 0
says two_forms two.csv ',samples,2,'
says two_forms out '"qnnrt-run.bench-samples"'
wrong both_lengths '--duration and --num_inferences exclude each other' bench a --duration 1 --num_inferences 2
wrong rounds_of_one '--rounds is for two models' bench a --rounds 2
wrong threads_of_two '--threads is for one model' bench a b --threads 2
wrong environment '--other_env takes NAME=VALUE, not "X"' bench a --other_env X
wrong no_calls '--num_inferences takes a number from 1' bench a --num_inferences 0
wrong rate '--rate takes' bench a --rate 0
wrong rate_for_ever '--rate takes a number from 0.01' bench a --rate 1e-9
wrong three_files '--samples takes the place of models' bench --samples a --samples b --samples c
wrong output_dir '--output_dir' bench a --output_dir x
run bench "$tmp/nowhere" --backend_so "$ref"
is no_folder 1
says no_folder err nowhere
run bench "$tmp/a" "$tmp/nowhere" --backend_so "$ref"
is no_other 1
says no_other err 'side B cannot be measured'
for text in 'x' '-1' '0' '1e999' 'nan' '1 2x3
y'; do
    printf '1\n%s\n' "$text" >"$tmp/bad.txt"
    run bench --samples "$tmp/bad.txt"
    if [ "$text" = '1 2x3
y' ]; then says bad_line err 'line 3'; else says bad_line err 'line 2: expected a number'; fi
    is bad_line 1
done
: >"$tmp/empty.txt"
run bench --samples "$tmp/empty.txt"
is empty 1
says empty err 'has no times'
run bench --samples "$tmp"
is folder 1
printf '1\n2\n' >"$tmp/two.txt"
printf '1\n' >"$tmp/one.txt"
run bench --samples "$tmp/two.txt" --samples "$tmp/one.txt"
is unequal 1
says unequal err 'has 2 times and'
awk 'BEGIN { for (i = 1; i <= 2001; ++i) print i }' >"$tmp/many.txt"
run bench --samples "$tmp/many.txt" --samples "$tmp/many.txt"
is too_many 1
says too_many err 'at most 2000 rounds'

# ---- two releases of the vendor's library in turns ----

model=$data/ctx/qairt2.47/mlp_u8
if [ -e "$release/libQnnHtp.so" ] && [ -e "$old" ]; then
    run bench "$model" --backend_so "$old" --other_backend_so "$release/libQnnHtp.so" --rounds 3 --starts 1
    is releases 0
    says releases out 'build v2.47'
    says releases out 'build v2.51'
    says releases out 'rounds    3 of '
else
    skip releases "2.47 or 2.51 is missing: make qnn-libs"
fi
finish
