#!/bin/sh
# States: a program that keeps what a model changes, from the export to --state_out.
#     sh tests/cli/test_states.sh [BUILD_DIR]
suite=test_states
. "$(dirname "$0")/../harness/tool.sh"
ref=$build/libQnnRef.so
from=$data/exported
out=$tmp/o

# calls NAME EXPECTED OPTION ...: the output "calls" of each inference
calls() {
    name=$1 expected=$2
    shift 2
    rm -rf "$tmp/run"
    run run "$out" --backend_so "$lib" --input x=random:1 --output_dir "$tmp/run" "$@"
    is "$name" 0
    got=$(cat "$tmp"/run/Result_*/states/calls.raw "$tmp/run/states/calls.raw" 2>/dev/null | od -An -v -f -w4 | tr -s ' \n' ' ')
    check "$name" "$name: calls are$got, expected $expected; $(cat "$tmp/err")" test "$got" = " $expected "
}

# ---- a file of pytorch-ir, whose next call would not see the change ----
run compile "$from/states_pytorch_ir.json" --weights "$from/states/weights.safetensors" --backend_so "$ref" --output_dir "$out"
is in_place 1
says in_place err 'changes "count", which is a weight or a buffer of the checkpoint'
hinted in_place "Export the model with qnnrt.export()"
check in_place "left $out" test ! -e "$out"

# ---- one backend, and several ----
for kind in whole parts; do
    lib=$ref
    rm -rf "$out"
    if [ "$kind" = whole ]; then
        run compile "$from/states" --backend_so "$ref" --output_dir "$out" --verify 3
    else
        lib=cpu=$ref
        run compile "$from/states" --backends cpu,host --backend_so "$lib" --output_dir "$out" --verify 3 --pin linear=host
    fi
    is "compile_$kind" 0
    says "compile_$kind" out 'states    graph "states" keeps 4 values between calls: count, cache, steps, last'
    says "compile_$kind" out "3 samples, torch's results in float64"
    check "version_$kind" "$(cat "$out/qnnrt.json")" grep -q '"version": 2' "$out/qnnrt.json"
    calls "kept_$kind" "1 2 3" --num_inferences 3 --state_out "$tmp/s1"
    says "kept_$kind" out "states    $tmp/s1, 4 values"
    calls "restored_$kind" "4 5" --num_inferences 2 --state_in "$tmp/s1" --state_out "$tmp/s1"
    calls "continued_$kind" "6" --state_in "$tmp/s1"
    calls "reset_$kind" "1 1" --num_inferences 2 --reset
    calls "reset_to_$kind" "6 6" --num_inferences 2 --reset --state_in "$tmp/s1"
    calls "no_zero_$kind" "1 2" --num_inferences 2 --no_zero
    run inspect "$out" --backend_so "$lib" --manifest
    is "manifest_$kind" 0
    cp "$out/qnnrt.json" "$tmp/before"
    cp "$tmp/out" "$out/qnnrt.json"
    calls "again_$kind" "1 2" --num_inferences 2
    # ---- what does not fit ----
    printf 'no file of states' >"$tmp/bad"
    run run "$out" --backend_so "$lib" --state_in "$tmp/bad"
    is "bad_$kind" 1
    says "bad_$kind" err "$tmp/bad: not a file of states"
    run run "$out" --backend_so "$lib" --state_in "$from/states/weights.safetensors"
    is "other_$kind" 1
    says "other_$kind" err "which is not a state of the pipeline"
    run run "$out" --backend_so "$lib" --state_in "$tmp/none"
    is "none_$kind" 1
    says "none_$kind" err "cannot read $tmp/none"
    run run "$out" --backend_so "$lib" --state_out "$tmp/none/s"
    is "unwritten_$kind" 1
    says "unwritten_$kind" err "cannot write $tmp/none/s"
done
rm -rf "$out"
lib=$ref
run compile "$from/blocks" --backend_so "$ref" --output_dir "$out"
is stateless 0
run run "$out" --backend_so "$ref" --reset
is without 1
says without err "--reset is for states, and none of the 1 pipelines has one"
run plan "$out" --reset
is plan 2

# ---- a checkpoint without the first value ----
cp -r "$from/states" "$tmp/e"
python3 -c 'import sys
data = open(sys.argv[1], "rb").read()
open(sys.argv[1], "wb").write(data.replace(b"\"count\"", b"\"cuont\""))' "$tmp/e/weights.safetensors"
rm -rf "$out"
run compile "$tmp/e" --backend_so "$ref" --output_dir "$out"
is missing 1
says missing err 'state "count" begins with a tensor of this name, which the weights do not have'
finish
