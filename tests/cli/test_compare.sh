#!/bin/sh
# qnnrt-run compare, capture and replay, seen from outside.
#     sh tests/cli/test_compare.sh [BUILD_DIR [RELEASE_DIR]]
suite=test_compare
. "$(dirname "$0")/../harness/tool.sh"
ref=$build/libQnnRef.so
htp=$release/libQnnHtp.so
old=$build/qnn/2.47/onnxruntime_qnn/libQnnHtp.so

# ---- two models, or one on two libraries ----

wrong no_model 'compare takes two models' compare
wrong one_model 'compare takes a second model' compare "$data/ctx/qairt2.51/mlp_u8" --backend_so "$ref"
hinted one_model '--other_backend_so'
wrong three 'compare takes two models, not 3' compare a b c
for value in x 1:code 1:quantize -1 nan 1e999 =1 'y=' 0.1:; do
    wrong "tolerance_$value" '--tolerance takes [NAME=]T[:abs|:quantized]' compare a b --tolerance "$value"
done
model=$data/ctx/qairt2.51/mlp_u8
wrong useless '--output_dir' compare a b --output_dir x

if [ -e "$htp" ]; then
    run compare "$model" "$data/ctx/qairt2.47/mlp_u8" --backend_so "$htp" --input "x=$model/x.raw"
    is htp_equal 0
    says htp_equal out '1 tensor compared, 0 beyond the tolerance'
    run compare "$data/llm/w8a16_one" "$data/llm/w8a16_four" --backend_so "$htp" --graph token_ar1_cl128 --input random:1
    is htp_shards 0
    says htp_shards out '9 tensors compared, 0 beyond the tolerance'
    if [ -e "$old" ]; then
        run compare "$data/ctx/qairt2.47/mlp_u8" --backend_so "$old" --other_backend_so "$htp" --input "x=$model/x.raw"
        is htp_releases 0
        says htp_releases out 'build v2.47'
        says htp_releases out 'build v2.51'
    else
        skip htp_releases "$old is missing"
    fi
else
    skip htp "$htp is missing"
fi

# ---- files and folders of values ----

mkdir "$tmp/values"
if python3 "$tests/cli/exact_compare.py" "$tool" "$tmp/values" >"$tmp/out"; then good; else bad oracle "$(cat "$tmp/out")"; fi
wrong dtype_unknown '--dtype takes [NAME=]TYPE' compare a b --dtype float
wrong dtype_packed '--dtype takes [NAME=]TYPE' compare a b --dtype int4
wrong values_and_model 'values/A is values, and' compare "$tmp/values/A" "$data/llm/w8a16_one"
wrong values_input 'is values, which --input is not for' compare "$tmp/values/A" "$tmp/values/B" --input x=x
wrong model_dtype 'is a model, and --dtype is for values' compare "$data/llm/w8a16_one" "$data/llm/w8a16_four" --dtype int8
# A .safetensors file is opened once, not for each of its tensors: that took minutes.
python3 -c 'import json, struct, sys
head = json.dumps({"t%d" % i: {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]} for i in range(10000)}).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(head)) + head + bytes(10000))' "$tmp/many.safetensors"
(ulimit -t 20; exec "$tool" compare "$tmp/many.safetensors" "$tmp/many.safetensors" --json) >"$tmp/out" 2>"$tmp/err"; status=$?
is many_tensors 0
run compare "$tmp/values/A" "$tmp/values/missing"
is values_missing 1
mkdir "$tmp/none" "$tmp/nothing"
run compare "$tmp/none" "$tmp/nothing"
is values_none 1
says values_none err 'nothing to compare'
if [ -e "$htp" ]; then
    # Codes: raw files of a model have the types of its metadata.
    for seed in 1 2; do
        run --ctx_dir "$model" --backend_so "$htp" --input "x=random:$seed" --output_dir "$tmp/run$seed"
    done
    run compare "$tmp/run1" "$tmp/run2" --ctx_dir "$model" --system_so "$release/libQnnSystem.so" --json
    is quantized 1
    python3 - "$tmp" <<'P' || bad quantized "other figures: $(cat "$tmp/out")"
import glob, json, sys
row, = json.load(open(sys.argv[1] + "/out"))["tensors"]
a, b = (open(glob.glob(f"{sys.argv[1]}/run{i}/*/y.raw")[0], "rb").read() for i in (1, 2))
d = [abs(x - y) for x, y in zip(a, b)]
assert row["dtypes"] == ["ufixed8"] * 2 and row["quantized_max"] == max(d) and abs(row["quantized_mean"] - sum(d) / len(d)) < 1e-12
scale = row["max_abs"] / max(d)
assert scale > 0 and abs(row["mean_abs"] - row["quantized_mean"] * scale) < 1e-9 and row["unequal"] == sum(x > 0 for x in d)
most = max(d)
P
    most=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["tensors"][0]["quantized_max"])' "$tmp/out")
    run compare "$tmp/run1" "$tmp/run2" --ctx_dir "$model" --system_so "$release/libQnnSystem.so" --tolerance "$most:quantized"
    is quantized_within 0
    run compare "$tmp/run1" "$tmp/run2" --ctx_dir "$model" --system_so "$release/libQnnSystem.so" --tolerance "y=$((most - 1)):codes"
    is quantized_beyond 1
    says quantized_beyond out "quantized by $most at most"
fi

# Files that are damaged or hostile: a message each, and no control character in what is printed.
if python3 - "$tool" "$tmp" <<'P'
import json, os, re, shutil, subprocess, sys
tool, tmp = sys.argv[1:]
good = open(tmp + "/values/A/decode/x.npy", "rb").read()
wrong = 0
def case(name, text, change, status=1):
    global wrong
    for side in "PQ":
        shutil.rmtree(f"{tmp}/{side}", ignore_errors=True)
        os.mkdir(f"{tmp}/{side}")
        for file in ("x.npy", "y.npy"):
            open(f"{tmp}/{side}/{file}", "wb").write(good)
    change(f"{tmp}/Q/")
    for form in ([], ["--json"]):
        run = subprocess.run([tool, "compare", f"{tmp}/P", f"{tmp}/Q", *form], capture_output=True, timeout=20)
        shown = (run.stdout + run.stderr).decode()
        if form: json.loads(run.stdout)
        if run.returncode != status or text not in shown or re.search(r"[\x00-\x09\x0b-\x1f\x7f]", shown):
            wrong += 1
            print(f"test_compare: values_{name}: status {run.returncode}, {shown!r}")
write = lambda name, data: lambda q: open(q + name, "wb").write(data)
case("fine", "", lambda q: None, 0)
for cut in (0, 5, 11, 30, len(good) - 1):
    case(f"cut_{cut}", "x.npy: it", write("x.npy", good[:cut]))
case("longer", "x.npy: its size is not that of its shape", write("x.npy", good + b"x"))
case("huge", "too large", write("x.npy", good.replace(b"(2,2,)", b"(9999999999,2,)")))
case("fortran", "Fortran", write("x.npy", good.replace(b"False", b"True ")))
case("foreign", "no .npy", write("x.npy", b"\x7fELF" + bytes(200)))
case("other_shape", "float32[1] on side B", write("x.npy", good.replace(b"(2,2,)", b"(1,  )")[:-12]))
case("missing", "only on side A", lambda q: os.remove(q + "x.npy"))
case("pipe", "x.npy", lambda q: (os.remove(q + "x.npy"), os.mkfifo(q + "x.npy")))
case("loop", "", lambda q: os.symlink(".", q + "loop"), 0)
case("names", "only on side B", lambda q: [open(q + n + ".raw", "wb").close() for n in ("\x1b[31m\n", "..\\..", '"><script>alert(1)</script>'.replace("/", "\\"))])
case("bad_tensors", "a.safetensors", write("a.safetensors", b"\xff" * 64))
sys.exit(wrong > 0)
P
then good; else bad hostile_values "see above"; fi
wrong_path() { run compare "$1" "$2"; is "path_$1" 1; says path err 'cannot open'; }
wrong_path "$tmp/values/A" "$tmp/no_such"

# ---- quantized on HTP against floats on Ref: another precision ----

if [ -e "$htp" ] && python3 "$tests/harness/make_weights.py" "$tmp/cnn.safetensors" "$data/ir/torch_cnn.npz"; then
    python3 -c 'import sys, zipfile
open(sys.argv[2], "wb").write(zipfile.ZipFile(sys.argv[1]).read("in/0.npy"))' "$data/ir/torch_cnn.npz" "$tmp/x.npy"
    echo "$tmp/x.npy" >"$tmp/list"
    run compile "$data/ir/torch_cnn.json" --weights "$tmp/cnn.safetensors" --backend_so "$htp" --output_dir "$tmp/quantized" --io native --calibrate "$tmp/list"
    run compile "$data/ir/torch_cnn.json" --weights "$tmp/cnn.safetensors" --backend_so "$ref" --output_dir "$tmp/floats"
    run capture "$tmp/quantized" --backend_so "$htp" --output_dir "$tmp/quantized_captured" --input "x=$tmp/x.npy" --input_data_type float
    mv "$tmp/floats" "$tmp/quantized_captured/model"
    run replay "$tmp/quantized_captured" --backend_so "$ref"
    is precision 0
    says precision out 'ufixed16, float32'
    run compare "$tmp/quantized" "$tmp/quantized_captured/model" --backend_so "$htp" --other_backend_so "$ref" --input "x=$tmp/x.npy" --input_data_type float --tolerance 1:codes
    is precision_quantized 1
    says precision_quantized out 'a :quantized tolerance needs equal encodings'
fi

# ---- capture and replay: a model in four shards ----

# change NAME VALUE: $tmp/changed is the model with another weight
change() {
    rm -rf "$tmp/changed"
    mkdir "$tmp/changed"
    cp "$data/llm/model/"* "$tmp/changed"
    chmod u+w "$tmp/changed/"*
    python3 -c 'import json, struct, sys
path, name, value = sys.argv[1:]
data = bytearray(open(path, "rb").read())
size, = struct.unpack("<Q", data[:8])
at = 8 + size + json.loads(data[8:8 + size])[name]["data_offsets"][0] + 4000
data[at:at + 4] = struct.pack("<f", float(value))
open(path, "wb").write(data)' "$tmp/changed/model.safetensors" "$1" "$2"
}

wrong capture_no_folder 'capture needs a folder' capture "$data/llm/w8a16_one"
wrong capture_no_model 'capture takes one model' capture --output_dir x
wrong replay_words 'replay takes a capture and a model' replay
run compile "$data/llm/model" --output_dir "$tmp/four" --backend_so "$ref" --shards 4
is four 0
run capture "$tmp/four" --backend_so "$ref" --output_dir "$tmp/captured"
is capture 0
says capture out '48 tensors'
cp "$tmp/captured/capture.json" "$tmp/first.json"
run capture "$tmp/four" --backend_so "$ref" --output_dir "$tmp/captured"
is capture_again 1
says capture_again err "$tmp/captured has a capture already"
hinted capture_again '--output_dir'
check capture_kept "the first capture was replaced" cmp -s "$tmp/first.json" "$tmp/captured/capture.json"
python3 - "$tmp/captured" "$tmp/four" <<'P' || bad capture_files "the manifest and the files differ"
import hashlib, json, os, sys
folder, model = sys.argv[1:]
d = json.load(open(folder + "/capture.json"))
assert d["format"] == "qnnrt-run.capture" and d["version"] == 1
digest = lambda path: hashlib.sha256(open(path, "rb").read()).hexdigest()
assert [f["file"] for f in d["files"]] == [f"model_{i}_of_4.bin" for i in range(1, 5)]
for f in d["files"]:
    assert f["sha256"] == digest(f"{model}/{f['file']}") and f["bytes"] == os.path.getsize(f"{model}/{f['file']}")
names = {"capture.json"}
for p in d["pipelines"]:
    assert len(p["steps"]) == 4 and p["error"] is None
    for t in p["tensors"]:
        size = {"float32": 4, "int32": 4}[t["dtype"]]
        for n in t["dims"]: size *= n
        assert t["bytes"] == size == os.path.getsize(f"{folder}/{t['file']}"), t
        assert t["sha256"] == digest(f"{folder}/{t['file']}")
        names.add(t["file"])
    used = {q["tensor"] for s in p["steps"] for q in s["inputs"] + s["outputs"]}
    assert used == set(range(len(p["tensors"])))
assert names == set(os.listdir(folder))
P
wrong capture_into_the_model '--output_dir is the folder of the model' capture "$tmp/four" --output_dir "$tmp/four/"
run replay "$tmp/captured"
is replay_without_a_model 1
silent replay_without_a_model out
says replay_without_a_model err 'the model is missing'
says replay_without_a_model err 'hint: Write qnnrt-run replay CAPTURE DIR.'
mkdir "$tmp/lone_a" "$tmp/lone_b"
printf 'abcd' >"$tmp/lone_a/x.raw"
printf 'abcd' >"$tmp/lone_b/y.raw"
run compare "$tmp/lone_a" "$tmp/lone_b"
is lone_files 0
says lone_files out '"x" of side A and "y" of side B are compared: each is alone'
run replay "$tmp/captured" "$tmp/four" --backend_so "$ref"
is replay_same 0
says replay_same out '24 tensors compared, 0 beyond the tolerance'
says replay_same out 'tolerance nothing may differ'
lacks replay_same out '  captured  '
run replay "$tmp/captured" "$tmp/four" --backend_so "$ref" --graph token_ar1_cl128
says replay_graph out '12 tensors compared, 0 beyond the tolerance'
change model.layers.2.mlp.down_proj.weight 0.02
run compile "$tmp/changed" --output_dir "$tmp/other" --backend_so "$ref" --shards 4
run replay "$tmp/captured" "$tmp/other" --backend_so "$ref"
is replay_changed 1
says replay_changed out '24 tensors compared, 2 beyond the tolerance'
says replay_changed out 'the first that differs is step 2 of pipeline "prompt_ar32_cl128"'
run compare "$tmp/four" "$tmp/other" --backend_so "$ref"
is compare_changed 1
says compare_changed out 'the first that differs is step 2 of pipeline "prompt_ar32_cl128"'
# A step that fails: its inputs are there, and it is named.
QNNREF_FAULTS=fail=graphExecute:3:0x1770
export QNNREF_FAULTS
run capture "$tmp/four" --backend_so "$ref" --output_dir "$tmp/failed" --input random:3 --graph token_ar1_cl128
unset QNNREF_FAULTS
is failed 1
says failed out 'the inputs of step 2 are captured'
says failed err 'step 2 (model_3_of_4.bin'
python3 - "$tmp/failed/capture.json" <<'P' || bad failed_manifest "other tensors are there"
import json, sys
p, = json.load(open(sys.argv[1]))["pipelines"]
assert p["failed_step"] == 2 and "0x1770" in p["error"]
there = [t["file"] is not None for t in p["tensors"]]
for i, step in enumerate(p["steps"]):
    assert all(there[q["tensor"]] for q in step["inputs"] + step["outputs"]) == (i < 2), i
assert all(there[q["tensor"]] for q in p["steps"][2]["inputs"]) and not any(there[q["tensor"]] for q in p["steps"][2]["outputs"])
P
run replay "$tmp/failed" "$tmp/four" --backend_so "$ref"
is failed_replay 0
says failed_replay out 'succeeded here; when it was captured it failed'
QNNREF_FAULTS=fail=graphExecute:3:0x1770
export QNNREF_FAULTS
run replay "$tmp/failed" "$tmp/four" --backend_so "$ref"
unset QNNREF_FAULTS
is failed_again 1
says failed_again out 'failed    as it did when it was captured'
# The name of the pipeline has a control character, which texts of errors show as "?".
cp -r "$tmp/four" "$tmp/odd"
sed -i 's/"token_ar1_cl128"/"token\\u0009one"/' "$tmp/odd/qnnrt.json"
QNNREF_FAULTS=fail=graphExecute:3:0x1770
export QNNREF_FAULTS
run capture "$tmp/odd" --backend_so "$ref" --output_dir "$tmp/odd_failed" --input random:3 --graph "$(printf 'token\tone')"
unset QNNREF_FAULTS
is failed_odd 1
says failed_odd out 'the inputs of step 2 are captured'

# Host steps are replayed with the constants of the model.
run compile "$data/llm/model" --output_dir "$tmp/mixed" --backends npu,host --backend_so "npu=$ref" --embedding host
is mixed 0
run capture "$tmp/mixed" --backend_so "npu=$ref" --output_dir "$tmp/mixed_captured" --input random:2 --graph token_ar1_cl128
is mixed 0
run replay "$tmp/mixed_captured" "$tmp/mixed" --backend_so "npu=$ref" --json
is mixed_replay 0
check mixed_replay "no step 0 in $(head -c 400 "$tmp/out")" python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert [r["tensor"] for r in d["tensors"] if r["step"] == 0] == ["embedding"] and len(d["tensors"]) == 10
assert d["sides"][0]["backend"] == d["sides"][1]["backend"] == "Ref"' "$tmp/out"

# Dims that change, and an optional input that is left out.
mkdir "$tmp/dynamic"
printf '%s\n' 'FAKEQNN 1' 'backend 77' 'graph g' 'in x 1 0232 2 4 2 - dyn=1,0' 'in o 2 0232 1 1 - type=11' \
    'out y 3 0232 2 4 2 - dyn=1,0' >"$tmp/dynamic/g.bin"
QNNFAKE=id=77,tensor=2,noverify=1,told=3
export QNNFAKE
run capture "$tmp/dynamic" --backend_so "$fake" --system_so "$fake" --dims x=3x2 --input random:1 --output_dir "$tmp/dynamic_captured"
is dynamic 0
says dynamic dynamic_captured/capture.json '"dims": [3, 2]'
run replay "$tmp/dynamic_captured" "$tmp/dynamic" --backend_so "$fake" --system_so "$fake"
is dynamic_replay 0
run compare "$tmp/dynamic" "$tmp/dynamic" --backend_so "$fake" --system_so "$fake" --dims x=3x2 --input random:1
is dynamic_compare 0
run capture "$tmp/dynamic" --backend_so "$fake" --system_so "$fake" --omit o --output_dir "$tmp/omitted"
lacks omitted omitted/capture.json '"name": "o", "tensor"'
unset QNNFAKE

# Damaged and hostile captures.
run capture "$tmp/four" --backend_so "$ref" --output_dir "$tmp/small" --graph token_ar1_cl128
mkdir "$tmp/hostile"
if python3 "$tests/cli/hostile_capture.py" "$tool" "$ref" "$tmp/small" "$tmp/four" "$tmp/hostile" >"$tmp/out"; then good; else bad hostile "$(cat "$tmp/out")"; fi

run compare "$tmp/four" "$tmp/four" --backend_so "$ref" --graph token_ar1_cl128 --tolerance logit=1
is near 1
hinted near 'Use "logits".'

if [ -e "$htp" ]; then
    run compile "$data/llm/model" --output_dir "$tmp/htp" --backend_so "$htp" --shards 4
    run capture "$tmp/htp" --backend_so "$htp" --output_dir "$tmp/htp_captured" --input random:3
    is htp_capture 0
    run replay "$tmp/htp_captured" "$tmp/htp" --backend_so "$htp"
    is htp_replay 0
    says htp_replay out '24 tensors compared, 0 beyond the tolerance'
    run replay "$tmp/htp_captured" "$tmp/four" --backend_so "$ref"
    is htp_on_ref 0
    says htp_on_ref out 'float16, float32'
    says htp_on_ref out 'tolerance 2 percent of the largest value'
    check htp_on_ref 'a step names another backend than its own' grep -q '^step 0 .* on REF_QNNRT$' "$tmp/out"
    check htp_on_ref 'the captured backend is not named' grep -q '^  captured  .* on HTP_QTI_AISW$' "$tmp/out"
    run replay "$tmp/htp_captured" "$tmp/four" --backend_so "$ref" --tolerance 0
    is htp_on_ref_exact 1
    says htp_on_ref_exact out 'the first that differs is step 0 of'
    says htp_on_ref_exact out 'tolerance that of --tolerance'
    check htp_on_ref_exact 'the first step names another backend' grep -q '^the first that differs .* on REF_QNNRT' "$tmp/out"
    # A convert step and other numbers of steps: graphs are found by their names.
    run compile "$data/llm/model" --output_dir "$tmp/htp_mixed" --backends npu,host --backend_so "npu=$htp" --embedding host
    run capture "$tmp/htp_mixed" --backend_so "npu=$htp" --output_dir "$tmp/htp_mixed_captured" --graph token_ar1_cl128
    run replay "$tmp/htp_mixed_captured" "$tmp/mixed" --backend_so "npu=$ref"
    is htp_mixed 0
    says htp_mixed out '10 tensors compared, 0 beyond the tolerance'
    run compare "$tmp/htp" "$tmp/four" --backend_so "$htp" --other_backend_so "$ref" --input random:3 --tolerance 0.02
    is htp_and_ref 0
    says htp_and_ref out '24 tensors compared, 0 beyond the tolerance'
    # Without options, each side has the library that its binaries were made for.
    run compare "$tmp/htp" "$tmp/four" --input random:3 --tolerance 0.02
    is sides_choose 0
    says sides_choose out 'provider HTP'
    says sides_choose out 'provider REF'
    run compare "$tmp/htp" "$tmp/four" --backend_so "$htp"
    is sides_named 1
    says sides_named err 'hint: Name libQnnRef.so with --other_backend_so, or leave --backend_so out.'
    # Contexts of two NPU generations cannot exist at a time on the emulator: the sides take turns.
    run compile "$data/llm/model" --output_dir "$tmp/v68" --backend_so "$htp" --soc_model 30
    run compile "$data/llm/model" --output_dir "$tmp/v75" --backend_so "$htp" --soc_model 57
    run compare "$tmp/v68" "$tmp/v75" --backend_so "$htp" --input random:1 --tolerance 0.02
    is generations 0
    says generations out '18 tensors compared, 0 beyond the tolerance'
    change model.layers.2.mlp.down_proj.weight 3
    run compile "$tmp/changed" --output_dir "$tmp/other" --backend_so "$ref" --shards 4
    run replay "$tmp/htp_captured" "$tmp/other" --backend_so "$ref"
    is htp_changed 1
    says htp_changed out 'the first that differs is step 2 of'
fi

finish
