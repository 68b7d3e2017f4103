#!/bin/sh
# qnnrt-run and qnnrt-llm on a folder with a program for HTP and CPU, both Qualcomm's: inspect, plan, pictures, runs.
#     sh tests/cli/test_mixed_tool.sh [BUILD_DIR [RELEASE_DIR]]
# tests/real/mixed.c makes the folder: first.bin on HTP, middle.bin on the CPU, last.bin on HTP; and in its folder
# llm a language model with its table on the host, its layers on HTP and its head on the CPU.
suite=test_mixed_tool
. "$(dirname "$0")/../harness/tool.sh"

htp=$release/libQnnHtp.so
cpu=$build/qnn/2.47/onnxruntime_qnn/libQnnCpu.so
folder=$tmp/mixed
both="--backend_so npu=$htp --backend_so cpu=$cpu"

if [ ! -f "$htp" ] || [ ! -f "$cpu" ]; then
    skip mixed "no libQnnHtp.so in $release, or no $cpu: make qnn-libs"
    finish
fi
mkdir "$folder" "$folder/llm"
QNNRT_MIXED_FOLDER=$folder "$build/c99/real_mixed" "$release" "$data" >"$tmp/made" 2>&1
check made "$(tail -n 3 "$tmp/made")" test -f "$folder/y.raw"

# shellcheck disable=SC2086  # options
run inspect "$folder" $both --svg "$tmp/flow.svg"
is inspect 0
for text in 'step 0  first.bin  "first"  on npu (HTP)' 'step 1  convert h: float16' 'float32, 1,024 bytes' \
    'step 2  middle.bin  "middle"  on cpu (CPU)' 'step 4  last.bin  "last"  on npu (HTP)' \
    'step 0 "h" -> step 4 "h": given'; do
    says inspect out "$text"
done
run doctor "$folder" $both --run
is doctor 0
says doctor out 'executed in '
lacks doctor_good out '  fault '
run plan "$folder" $both --svg "$tmp/plan.svg"
is plan 0
says plan out 'step 3  convert p32: float32'
for picture in flow plan; do
    cp "$tmp/$picture.svg" "$tmp/out"
    for text in 'npu (HTP)' 'cpu (CPU)' 'conversion' '>h<' '>p32<'; do says "picture_$picture" out "$text"; done
done

# One exec on both libraries: y is what plain loops in double give, to 1e-3 of its largest value.
close='
import struct, sys
a, b = (struct.unpack("<64f", open(name, "rb").read()) for name in sys.argv[1:])
sys.exit(not max(abs(x - y) for x, y in zip(a, b)) < 1e-3 * max(map(abs, b)))'
run run "$folder" $both --input "image=$folder/x.raw" --input_data_type float --output_data_type float \
    --output_dir "$tmp/run" --num_inferences 3 --profiling_level basic
is run 0
says run out 'run "mixed"'
if command -v python3 >/dev/null 2>&1; then
    check numbers 'y differs from y.raw' python3 -c "$close" "$tmp/run/Result_2/mixed/scores.raw" "$folder/y.raw"
else
    skip numbers 'python3 is missing'
fi
says profile out 'convert time'
says profile_of_cpu out 'GRAPH_EXECUTE'
says profile_of_htp out 'QNN (execute) time'
run run "$folder" $both --input "image=$folder/x.raw" --input_data_type float --output_data_type float \
    --output_dir "$tmp/one" --resident one
is one_resident 0
check one_resident 'y differs' cmp -s "$tmp/one/mixed/scores.raw" "$tmp/run/Result_2/mixed/scores.raw"

# Without names, each role has the library of its backend that the clone has.
run run "$folder" --input "image=$folder/x.raw" --input_data_type float --output_data_type float --output_dir "$tmp/found"
is found 0
says found out "backend   npu: "
says found out "libQnnCpu.so"
check found 'y differs' cmp -s "$tmp/found/mixed/scores.raw" "$tmp/run/Result_2/mixed/scores.raw"

# A comparison chooses a library for each role of both sides, too.
run compare "$folder" "$folder"
is found_pair 0
says found_pair out 'compared, 0 beyond the tolerance'

# A role with the wrong library, and one that the program does not have.
run run "$folder" --backend_so "npu=$htp" --backend_so "cpu=$htp"
is wrong_library 1
says wrong_library err 'middle.bin'
run run "$folder" --backend_so "gpu=$htp" $both --input "image=$folder/x.raw" --input_data_type float --output_data_type float --output_dir "$tmp/unused"
is unused_role 0
says unused_role out "note      --backend_so gpu=$htp is not used: the model has no such role"
check unused_role 'more than one note' test "$(grep -c 'is not used' "$tmp/out")" -eq 1
check unused_role 'y differs' cmp -s "$tmp/unused/mixed/scores.raw" "$tmp/run/Result_2/mixed/scores.raw"
run run "$folder" --backend_so "gpu=$htp"
is unknown_role 1
says unknown_role err '"gpu"'

tool=$build/qnnrt-llm
expected=$(sed -n 's/.*"prompt": "And the LORD said unto ", "text": "\([^"]*\)".*/\1/p' "$data/llm/expected.json")
run --ctx_dir "$folder/llm" $both --prompt 'And the LORD said unto ' --max_gen 64
is llm 0
check llm_text "'$(cat "$tmp/out")', not '$expected'" test "$(cat "$tmp/out")" = "$expected"
run --ctx_dir "$folder/llm" $both --backend_so "gpu=$cpu" --prompt 'And the LORD said unto ' --max_gen 64
is llm_unused_role 0
says llm_unused_role err "gpu=$cpu is not used"
check llm_unused_role "'$(cat "$tmp/out")', not '$expected'" test "$(cat "$tmp/out")" = "$expected"
run --ctx_dir "$folder/llm" $both --describe
is llm_describe 0
says llm_describe out 'host "embedding"'
says llm_describe out 'head.bin'
wrong llm_role_twice 'has the role "cpu" twice' --ctx_dir "$folder/llm" $both --backend_so "cpu=$cpu" --prompt a
wrong llm_role_alone 'needs a file after "cpu="' --ctx_dir "$folder/llm" --backend_so cpu= --prompt a
finish
