#!/bin/sh
# qnnrt-run compile with quantized activations: samples, files of encodings, and what it says about bad ones.
#     sh tests/cli/test_quant_tool.sh [BUILD_DIR [RELEASE_DIR]]
suite=test_quant_tool
. "$(dirname "$0")/../harness/tool.sh"
ir=$data/ir
out=$tmp/o
ref=$build/libQnnRef.so
cpu=$build/qnn/2.47/onnxruntime_qnn/libQnnCpu.so

if ! python3 "$tests/harness/make_weights.py" "$tmp/cnn.safetensors" "$ir/torch_cnn.npz"; then
    skip weights "python3 makes the weights"
    finish
    exit
fi
# Samples: what PyTorch was given, as .npy; raw with one NaN; with another shape.
python3 -c 'import struct, sys, zipfile
data = zipfile.ZipFile(sys.argv[1]).read("in/0.npy")
begin = 10 + data[8] + 256 * data[9]
open(sys.argv[2] + "/x.npy", "wb").write(data)
open(sys.argv[2] + "/nan.raw", "wb").write(data[begin:-4] + struct.pack("<f", float("nan")))
head = b"{\x27descr\x27: \x27<f4\x27, \x27fortran_order\x27: False, \x27shape\x27: (2, 3), }\n"
open(sys.argv[2] + "/shape.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(24))' \
    "$ir/torch_cnn.npz" "$tmp"
for name in x.npy nan.raw shape.npy none.npy; do printf '# samples\n%s\n' "$tmp/$name" >"$tmp/$name.list"; done

# compile NAME STATUS TEXT ARGUMENT ...: compile ends with STATUS, prints TEXT, and leaves no folder if it fails
compile() {
    name=$1 wanted=$2 text=$3
    shift 3
    rm -rf "$out"
    run compile "$ir/torch_cnn.json" --weights "$tmp/cnn.safetensors" --backend_so "$ref" --output_dir "$out" "$@"
    if [ $status -ne "$wanted" ]; then bad "$name" "status $status, not $wanted: $(cat "$tmp/out" "$tmp/err")"
    elif ! cat "$tmp/out" "$tmp/err" | grep -qF -- "$text"; then bad "$name" "no '$text' in: $(cat "$tmp/out" "$tmp/err")"
    elif [ "$wanted" -ne 0 ] && [ -e "$out" ]; then bad "$name" "left $(ls -R "$out")"
    else good; fi
}

# ---- samples ----
compile codes_16 0 'calibrated graph "torch_cnn": 1 samples' --calibrate "$tmp/x.npy.list" --verify 2
# Two were asked for, and there is one: what was calibrated is what is compared.
says codes_16_samples out 'verify    graph "torch_cnn", 1 sample, tolerance 0.02'
says tolerance out 'tolerance 0.02'
compile codes_8 0 "wrote     $out/torch_cnn.bin" --calibrate "$tmp/x.npy.list" --activation_bits 8 --verify 1
compile shape 1 'it has [2,3]' --calibrate "$tmp/shape.npy.list"
says input err 'for input "x", float32 [1,3,'
compile missing 1 "calibration data $tmp/none.npy for input \"x\"" --calibrate "$tmp/none.npy.list"
hinted missing_hint "found from the current folder"
compile binary_list 1 "$tmp/x.npy is to be a list of samples, and has binary data" --calibrate "$tmp/x.npy"
hinted binary_list_hint "Name a text file"
compile no_list 1 "cannot read $tmp/none.list" --calibrate "$tmp/none.list"
compile nan 1 'values of ' --calibrate "$tmp/nan.raw.list"
says counted err 'tensors are NaN or infinite, the first in "x"'

# ---- ranges without outliers ----
# A sample with outliers, and 300 without. The slow and obvious version sorts all values, or tries many ranges.
python3 -c 'import random, struct, sys
r = random.Random(3)
x = [r.gauss(0, 1) for i in range(768)]
open(sys.argv[1] + "/plain.raw", "wb").write(struct.pack("<768f", *x))
x[10], x[200], x[600] = 6.0, -7.5, 8.0
open(sys.argv[1] + "/out.raw", "wb").write(struct.pack("<768f", *x))
open(sys.argv[1] + "/out.list", "w").write((sys.argv[1] + "/plain.raw\n") * 300 + sys.argv[1] + "/out.raw\n")' "$tmp"
for method in minmax percentile percentile:99.5 mse; do
    compile "method_$method" 0 'calibrated graph "torch_cnn": 301 samples' --calibrate "$tmp/out.list" --activation_bits 8 \
        --calibrate_method $method --write_encodings "$tmp/$method.enc"
done
says cut out ' of them cut, '
if ! python3 -c 'import json, math, struct, sys
plain, out = (struct.unpack("<768f", open(sys.argv[1] + "/%s.raw" % name, "rb").read()) for name in ("plain", "out"))
x = sorted(plain * 300 + out)
def range_of(method):
    e = [e for e in json.load(open(sys.argv[1] + "/" + method + ".enc"))["activation_encodings"] if e["name"] == "x"][0]
    return e["scale"][0] * e["offset"][0], e["scale"][0] * (e["offset"][0] + 255)
def error(low, high):
    s = (high - low) / 255
    o = round(low / s)
    return sum(n * (v - s * (min(max(math.floor(v / s + .5) - o, 0), 255) + o)) ** 2 for n, l in ((300, plain), (1, out)) for v in l)
def near(method, low, high):
    got = range_of(method)
    if abs(got[0] - low) > limit or abs(got[1] - high) > limit: sys.exit("%s has %s, not %g to %g" % (method, got, low, high))
limit = (x[-1] - x[0]) / 255 + (x[-1] - x[0]) / 4096     # a code, and a bin of the histogram
near("minmax", x[0], x[-1])
for method, percent in (("percentile", 99.99), ("percentile:99.5", 99.5)):
    left = math.floor(len(x) * (100 - percent) / 100)
    near(method, x[left], x[-1 - left])
own, minmax, best = error(*range_of("mse")), error(*range_of("minmax")), math.inf
for i in range(1, 21):
    for k in range(1, 21):
        best = min(best, error(x[0] * i / 20, x[-1] * k / 20))
if not (own <= 1.03 * best and own < 0.7 * minmax): sys.exit("error %g, the best of 400 ranges has %g, min-max %g" % (own, best, minmax))' \
    "$tmp" >"$tmp/why" 2>&1; then bad methods "$(cat "$tmp/why")"; else good; fi
compile method_word 2 '--calibrate_method is "median"' --calibrate "$tmp/out.list" --calibrate_method median
for percent in 50 100.1 nan x '' 99x; do
    compile "method_$percent" 2 "--calibrate_method is \"percentile:$percent\"" --calibrate "$tmp/out.list" --calibrate_method "percentile:$percent"
done
compile method_none 2 '--calibrate_method needs samples' --calibrate_method mse

# ---- files of encodings ----
# edit NAME CODE: $tmp/NAME.json, the encodings of the calibrated graph after CODE
edit() {
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
a = {e["name"]: e for e in d["activation_encodings"]}
p = {e["name"]: e for e in d["param_encodings"]}
exec(sys.argv[3])
json.dump(d, open(sys.argv[2], "w"))' "$tmp/e.json" "$tmp/$1.json" "$2"
}
compile write 0 "wrote     $tmp/e.json: encodings of " --calibrate "$tmp/x.npy.list" --activation_bits 8 --write_encodings "$tmp/e.json"
cp "$out/torch_cnn.bin" "$tmp/codes.bin"
compile read 0 "encodings of " --encodings "$tmp/e.json" --write_encodings "$tmp/again.json" --verify 1
check same_binary "other bytes" cmp "$tmp/codes.bin" "$out/torch_cnn.bin"
check same_encodings "$(diff "$tmp/e.json" "$tmp/again.json")" cmp "$tmp/e.json" "$tmp/again.json"
for hit in first second; do
    rm -f "$tmp/again.json"
    compile "cache_$hit" 0 "wrote     $tmp/again.json" --encodings "$tmp/e.json" --cache "$tmp/cache" --write_encodings "$tmp/again.json"
    check "cached_$hit" "other bytes" cmp "$tmp/codes.bin" "$out/torch_cnn.bin"
    check "cached_encodings_$hit" "other encodings" cmp "$tmp/e.json" "$tmp/again.json"
done
# The older form, where a bias has 32 bits.
edit older 'def old(e):
    return [{"bitwidth": e["bw"], "is_symmetric": str(e["is_sym"]), "dtype": "int", "scale": s, "offset": o,
             "min": s * o, "max": s * (o + 255)} for s, o in zip(e["scale"], e["offset"])]
d = {"version": "0.6.1", "activation_encodings": {n: old(e) for n, e in a.items()},
     "param_encodings": {n: old(e) for n, e in p.items()}, "quantizer_args": {"param_bitwidth": 8}}
d["param_encodings"]["fc.bias"] = [{"bitwidth": 32, "dtype": "int", "is_symmetric": "True"}]'
compile older 0 "encodings of " --encodings "$tmp/older.json"
check older_binary "other bytes" cmp "$tmp/codes.bin" "$out/torch_cnn.bin"
says older_biases out '1 of them have 32 bits'
# What AIMET writes: every tensor of the graph, in the forms of its three versions, by hand. Those that passes fold are listed.
edit aimet_061 'old = lambda e: [{"bitwidth": e["bw"], "dtype": "int", "is_symmetric": str(e["is_sym"]), "max": s * (o + 2 ** e["bw"] - 1),
    "min": s * o, "offset": o, "scale": s} for s, o in zip(e["scale"], e["offset"])]
d = {"activation_encodings": {n: old(e) for n, e in a.items()}, "excluded_layers": [], "param_encodings": {n: old(e) for n, e in p.items()},
     "quantizer_args": {"activation_bitwidth": 8, "dtype": "int", "is_symmetric": True, "param_bitwidth": 8, "per_channel_quantization": True,
                        "quant_scheme": "post_training_tf_enhanced"}, "version": "0.6.1"}
d["activation_encodings"]["conv2d"] = old(a["relu"])
d["param_encodings"]["c1.weight"] = old(p["fc.weight"])[:1] * 16
d["param_encodings"]["fc.bias"] = [{"bitwidth": 32, "dtype": "int", "is_symmetric": "True", "max": 1.5, "min": -1.5, "offset": -2147483648, "scale": 7e-10}]'
edit aimet_100 'for e in a.values(): e["enc_type"] = "PER_TENSOR"
a["conv2d"] = dict(a["relu"], name="conv2d")
c1 = dict(p["fc.weight"], name="c1.weight", scale=p["fc.weight"]["scale"][:1] * 16, offset=[-128] * 16)
bias = {"bw": 32, "dtype": "INT", "enc_type": "PER_CHANNEL", "is_sym": True, "name": "fc.bias", "offset": [-2147483648] * 10, "scale": [7e-10] * 10}
d = {"activation_encodings": list(a.values()), "excluded_layers": [], "param_encodings": list(p.values()) + [c1, bias], "producer": "aimet-onnx 2.9",
     "quantizer_args": {"activation_bitwidth": 8, "is_symmetric": True}, "version": "1.0.0"}'
edit aimet_200 'one = lambda l: l[0] if len(l) == 1 else l
d = {"version": "2.0.0", "encodings":
     [{"name": n, "output_dtype": "uint%d" % e["bw"], "y_scale": one(e["scale"]), "y_zero_point": one([-o for o in e["offset"]])} for n, e in a.items()] +
     [{"axis": 0, "name": n, "output_dtype": "int%d" % e["bw"], "y_scale": one(e["scale"])} for n, e in p.items()] +
     [{"name": "conv2d", "output_dtype": "uint8", "y_scale": 0.1, "y_zero_point": 3},
      {"axis": 0, "name": "c1.weight", "output_dtype": "int8", "y_scale": [[0.1]] * 16},
      {"axis": 0, "name": "fc.bias", "output_dtype": "int32", "y_scale": [7e-10] * 10}]}'
for form in aimet_061 aimet_100 aimet_200; do
    compile $form 0 'note      2 encodings are not used' --encodings "$tmp/$form.json" --report "$tmp/$form.txt"
    says ${form}_names out '            conv2d'
    says ${form}_biases out 'note      1 of them have 32 bits'
    check ${form}_report "$(cat "$tmp/$form.txt")" grep -qx '  c1.weight' "$tmp/$form.txt"
    check ${form}_binary "other bytes" cmp "$tmp/codes.bin" "$out/torch_cnn.bin"
done
# Tensors that the compiler made for another library are no error, unless the graph does not have their values.
edit made 'd["activation_encodings"] += [dict(a["relu"], name="conv2d.99"), dict(a["relu"], name="fc.bias.1")]'
compile made 1 '"fc.bias.1" (closest: ' --encodings "$tmp/made.json"
edit made 'd["activation_encodings"] += [dict(a["relu"], name="conv2d.99")]'
compile made_elsewhere 0 'note      1 encoding is not used' --encodings "$tmp/made.json"
says made_name out '            conv2d.99'
check made_binary "other bytes" cmp "$tmp/codes.bin" "$out/torch_cnn.bin"
edit made 'd["activation_encodings"] += [dict(a["relu"], name="conv2d.")]'
compile made_no_number 1 '"conv2d." (closest: ' --encodings "$tmp/made.json"
# Minima and maxima alone, in the oldest form.
edit ends 'd = {"activation_encodings": {n: [{"bitwidth": 8, "min": e["scale"][0] * e["offset"][0], "max": e["scale"][0] * (e["offset"][0] + 255)}]
    for n, e in a.items()}, "param_encodings": {}}'
compile ends 0 "encodings of " --encodings "$tmp/ends.json" --write_encodings "$tmp/ends.enc"
check ends_same "$(diff "$tmp/ends.enc" "$tmp/e.json")" python3 -c 'import json, sys
a, b = ({e["name"]: e for e in json.load(open(path))["activation_encodings"]} for path in sys.argv[1:])
sys.exit(a.keys() != b.keys() or any(a[n]["offset"] != b[n]["offset"] or abs(a[n]["scale"][0] / b[n]["scale"][0] - 1) > 1e-6 for n in a))' "$tmp/ends.enc" "$tmp/e.json"
# One tensor over what samples show.
edit one 'd["param_encodings"] = []; a["flatten"]["scale"] = [0.5]; d["activation_encodings"] = [a["flatten"]]'
compile over 0 "encodings of 1 tensors" --encodings "$tmp/one.json" --calibrate "$tmp/x.npy.list" --activation_bits 8 --write_encodings "$tmp/over.json"
check over_scale "$(cat "$tmp/over.json")" grep -q '"name": "flatten".*"scale": \[0.5\]' "$tmp/over.json"
check over_binary "the same bytes" sh -c '! cmp "$1" "$2"' - "$tmp/codes.bin" "$out/torch_cnn.bin"

# refused NAME TEXT CODE: the edited file is refused
refused() {
    edit "$1" "$3"
    compile "$1" 1 "$2" --encodings "$tmp/$1.json"
}
refused unknown '"dw.weigth" (closest: "dw.weight")' 'p["dw.weight"]["name"] = "dw.weigth"'
refused unknown_bias '"fc.bais" (closest: "fc.bias")' 'p["b"] = dict(p["fc.weight"], name="fc.bais", bw=32); d["param_encodings"].append(p["b"])'
refused lpbq 'encoding of "fc.weight": it has scales of blocks' 'p["fc.weight"].update(enc_type="LPBQ", bw=8, compressed_bw=4, block_size=32, per_block_int_scale=[1] * 40)'
refused lpbq_200 'encoding of "fc.weight": it has scales of blocks' 'd = {"version": "2.0.0", "encodings": [{"name": "fc.weight", "output_dtype": "int4", "axis": 1, "block_size": 32,
    "per_channel_float_scale": [[0.1]] * 10, "per_block_int_scale": [[1] * 4] * 10}]}'
refused floats_200 'encoding of "x": its output_dtype is not int' 'd = {"version": "2.0.0", "encodings": [{"name": "x", "output_dtype": "float16"}]}'
refused point_200 'encoding of "x": its offset is out of range' 'd = {"version": "2.0.0", "encodings": [{"name": "x", "output_dtype": "uint8", "y_scale": 1, "y_zero_point": 256}]}'
refused weightlike 'the encoding of "flatten" has 8 bits and 2 scales: that is for weights' 'd["param_encodings"].append(dict(p["fc.weight"], name="flatten", scale=[1, 2], offset=[-128, -128])); a["flatten"]["name"] = "x"; d["activation_encodings"] = list(a.values())[1:]'
refused weightlike_4 'the encoding of "flatten" has 4 bits' 'd["param_encodings"].append(dict(p["fc.weight"], name="flatten", bw=4, scale=[1], offset=[-8])); a["flatten"]["name"] = "x"; d["activation_encodings"] = list(a.values())[1:]'
refused range_empty 'encoding of "x": its range is empty' 'd = {"activation_encodings": {"x": [{"bitwidth": 8, "min": 0, "max": 0}]}}'
refused unknown_value '"flaten" (closest: "flatten")' 'a["flatten"]["name"] = "flaten"'
refused no_scale 'encoding of "flatten": missing scale' 'del a["flatten"]["scale"]'
refused no_scales 'encoding of "flatten": missing scale' 'a["flatten"]["scale"] = []'
refused zero 'encoding of "flatten": its scale is not a positive number' 'a["flatten"]["scale"] = [0]'
refused left_out 'missing scale: tensor "linear" has no range' 'd["activation_encodings"] = [e for e in a.values() if e["name"] in ("x", "softmax")]'
refused no_offset 'encoding of "flatten": missing offset' 'del a["flatten"]["offset"]'
refused offset 'encoding of "flatten": its offset is out of range' 'a["flatten"]["offset"] = [-256]'
refused bits 'encoding of "flatten": its bits are not 8 or 16' 'a["flatten"]["bw"] = 7'
refused floats 'encoding of "flatten": it is of floats' 'a["flatten"]["dtype"] = "FLOAT"'
refused blocks_of 'encoding of "fc.weight": it has scales of blocks' 'p["fc.weight"]["enc_type"] = "PER_BLOCK"'
refused channels '"fc.weight" has 2 scales' 'p["fc.weight"]["scale"] = [1, 2]; p["fc.weight"]["offset"] = [-128, -128]'
refused lopsided '"fc.weight" has offset -3, expected -128' 'p["fc.weight"]["scale"] = [1]; p["fc.weight"]["offset"] = [-3]'
refused sections 'no activation_encodings' 'd = {"version": "1.0.0"}'
head -c 200 "$tmp/e.json" >"$tmp/cut.json"
compile cut 1 "$tmp/cut.json" --encodings "$tmp/cut.json"
compile no_file 1 "cannot read $tmp/none.json" --encodings "$tmp/none.json"

# ---- what does not go together ----
compile writes_none 2 '--write_encodings needs ranges' --write_encodings "$tmp/none.json"
compile backends 2 'the role "cpu", which has no library' --calibrate "$tmp/x.npy.list" --write_encodings "$tmp/w.json" --backends npu,cpu
compile blocks 2 '--weight_block is for float activations' --calibrate "$tmp/x.npy.list" --weight_bits 4 --weight_block 16
compile no_ranges 2 '--activation_bits needs ranges' --activation_bits 8
if [ -f "$cpu" ]; then
    ref=$cpu
    compile cpu 1 'libQnnCpu.so cannot be trusted with quantized activations' --calibrate "$tmp/x.npy.list"
else
    skip cpu "no $cpu: make qnn-libs"
fi

finish
