#!/bin/sh
# qnnrt-run compile with activations as codes: samples, files of encodings, and what it says about bad ones.
#     sh tests/test_quant_tool.sh [BUILD_DIR [RELEASE_DIR]]
suite=test_quant_tool
. "$(dirname "$0")/tool.sh"
ir=$data/ir
out=$tmp/o
ref=$build/libQnnRef.so
cpu=$build/qnn/2.47/onnxruntime_qnn/libQnnCpu.so

if ! python3 "$tests/make_weights.py" "$tmp/cnn.safetensors" "$ir/torch_cnn.npz"; then
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
says tolerance out 'tolerance 0.02'
compile codes_8 0 "wrote     $out/torch_cnn.bin" --calibrate "$tmp/x.npy.list" --activation_bits 8 --verify 1
compile shape 1 'it has [2,3]' --calibrate "$tmp/shape.npy.list"
says input err 'for input "x", float32 [1,3,'
compile missing 1 "calibration data $tmp/none.npy for input \"x\"" --calibrate "$tmp/none.npy.list"
compile no_list 1 "cannot read $tmp/none.list" --calibrate "$tmp/none.list"
compile nan 1 'values of ' --calibrate "$tmp/nan.raw.list"
says counted err 'tensors are NaN or infinite, the first in "x"'

# ---- what does not go together ----
compile backends 2 '--calibrate is for one backend' --calibrate "$tmp/x.npy.list" --backends npu,cpu
compile blocks 2 '--weight_block is for float activations' --calibrate "$tmp/x.npy.list" --weight_bits 4 --weight_block 16
compile no_ranges 2 '--activation_bits needs ranges' --activation_bits 8
if [ -f "$cpu" ]; then
    ref=$cpu
    compile cpu 1 'libQnnCpu.so cannot be trusted with activations as codes' --calibrate "$tmp/x.npy.list"
else
    skip cpu "no $cpu: make qnn-libs"
fi

finish
