#!/bin/sh
# qnnrt-run compile MODEL.onnx: sizes, shapes and values of inputs, and what is refused.
#     sh tests/cli/test_compile_onnx.sh [BUILD_DIR]
suite=test_compile_onnx
. "$(dirname "$0")/../harness/tool.sh"
ref=$build/libQnnRef.so
out=$tmp/o

# made FILE TEXT: an .onnx file by tests/python/onnx_file.py
model() {
    check "model_$1" "it is not written" env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$tests/python" python3 -c 'import sys, onnx_file
open(sys.argv[1], "wb").write(eval(sys.argv[2], vars(onnx_file)))' "$tmp/$1" "$2"
}
# compile NAME STATUS TEXT ARGUMENT ...: as compiled, with libQnnRef.so
compile() { compiled "$@" --backend_so "$ref"; }
# values NAME FILE NUMBER ...: the floats of a file
values() {
    name=$1 file=$2
    shift 2
    check "$name" "$(od -A n -t f4 "$file" 2>&1)" python3 -c 'import struct, sys
data = open(sys.argv[1], "rb").read()
sys.exit(list(struct.unpack("<%df" % (len(data) // 4), data)) != [float(x) for x in sys.argv[2:]])' "$file" "$@"
}

model layer.onnx 'layer("batch")'
model fixed.onnx 'layer(2)'
model scaled.onnx 'model([("Mul", ["x", "s"], ["y"])], [("x", 1, [2]), ("s", 1, [])], [("y", 1, [2])])'
model flags.onnx 'model([("And", ["a", "b"], ["y"])], [("a", 9, ["n"]), ("b", 9, ["n"])], [("y", 9, ["n"])])'
model bad.onnx 'model([("Mul", ["x", "q"], ["y"]), ("Fancy", ["y"], ["z"])], [("x", 1, [2])], [("z", 1, [2])])'
model odd.onnx 'model([("Fancy", ["x"], ["y"]), ("Other", ["y"], ["z"])], [("x", 1, [2])], [("z", 1, [2])])'
python3 -c 'import struct, sys; open(sys.argv[1], "wb").write(struct.pack("<8f", 1, 2, 3, 4, -1, -2, -3, -4))' "$tmp/x.raw"

# ---- sizes ----
compile dim 0 'relative' "$tmp/layer.onnx" --dim batch=2 --verify 2
says dim_shape out "x       input    1  float32  2x4"
check dim_file "$(ls "$out")" test -s "$out/layer.bin"
run --ctx_dir "$out" --backend_so "$ref" --input "x=$tmp/x.raw" --output_dir "$tmp/r"
is dim_run 0
values dim_values "$tmp/r/layer/y.raw" 30.5 0 0 30.5
compile shape 0 'relative' "$tmp/layer.onnx" --shape x=3x4 --verify 1
says shape_shape out "3x4"
compile fixed 0 'relative' "$tmp/fixed.onnx" --verify 1
compile two 0 'graph "fixed"' "$tmp/layer.onnx" "$tmp/fixed.onnx" --dim batch=1 --graph_name one, --binary_file b
compile two_names 1 '--dim btch=1: no model has this name' "$tmp/layer.onnx" "$tmp/fixed.onnx" --dim batch=1 --dim btch=1
compile backends 0 '3 nodes in 1 step' "$tmp/fixed.onnx" --backends npu,host --verify 1
compile no_size 1 'input "x": dimension 0 is "batch", whose size is not known: give it (--dim batch=N)' "$tmp/layer.onnx"
check no_size "left $out" test ! -e "$out"
compile other_dim 1 '--dim btch=2: the model has no dimension of this name' "$tmp/layer.onnx" --dim btch=2
hinted other_dim 'Use "batch"'
compile no_number 1 'expected NAME=N' "$tmp/layer.onnx" --dim batch=two
compile other_shape 1 '--shape y=2x4: the model has no input of this name' "$tmp/layer.onnx" --shape y=2x4
compile torn 1 'expected sizes with x between them' "$tmp/layer.onnx" --shape x=2xx4
compile other_rank 1 '3 dimensions' "$tmp/layer.onnx" --shape x=1x2x4

# ---- values ----
compile bind 0 'graph "scaled", 1 input' "$tmp/scaled.onnx" --bind s=3 --verify 1
run --ctx_dir "$out" --backend_so "$ref" --input "x=$tmp/two.raw" --output_dir "$tmp/r"
python3 -c 'import struct, sys; open(sys.argv[1], "wb").write(struct.pack("<2f", 1.5, -2))' "$tmp/two.raw"
run --ctx_dir "$out" --backend_so "$ref" --input "x=$tmp/two.raw" --output_dir "$tmp/r"
values bind_values "$tmp/r/scaled/y.raw" 4.5 -6
compile bind_file 0 'graph "scaled", 1 input' "$tmp/scaled.onnx" --bind "x=@$tmp/two.raw"
compile flags 0 'graph "flags", 1 input' "$tmp/flags.onnx" --dim n=3 --bind a=true,false,true
compile one_for_all 0 'graph "flags", 1 input' "$tmp/flags.onnx" --dim n=3 --bind a=true
compile too_few 1 'expected 2 numbers, joined by commas, or @FILE' "$tmp/scaled.onnx" --bind x=1,2,3
compile no_input 1 '--bind t=3: the model has no input of this name' "$tmp/scaled.onnx" --bind t=3
compile unsized 1 'the shape of the input is not known' "$tmp/flags.onnx" --bind a=true
compile no_text 1 'expected 1 number' "$tmp/scaled.onnx" --bind s=fast

# ---- what is refused ----
compile names 1 'bad.onnx: node 0 "" (Mul): input 1 "q" is not an input, not an initializer, and no node writes it' "$tmp/bad.onnx"
compile findings 1 'odd.onnx cannot be compiled:' "$tmp/odd.onnx"
says findings_one err '(Fancy): the operator is not known'
head -c 100 "$tmp/fixed.onnx" >"$tmp/cut.onnx"
compile cut 1 'bytes, ' "$tmp/cut.onnx"
echo '{"a": 1}' >"$tmp/text.onnx"
compile text 1 'expected an ONNX model, found a JSON text' "$tmp/text.onnx"
compile absent 1 'absent.onnx' "$tmp/absent.onnx"
compile weights 2 '--weights is for .json graphs' "$tmp/fixed.onnx" --weights "$tmp/x.raw"
compile json 2 '--dim is for .onnx files' "$tests/data/ir/torch_cnn.json" --dim batch=2
compile dlc 2 '--bind is for .onnx files' "$tmp/x.dlc" --bind x=2

# ---- the cache knows sizes, values and weights ----
compile cache 0 'new entry' "$tmp/layer.onnx" --dim batch=2 --cache "$tmp/cache"
compile cache_again 0 'copied' "$tmp/layer.onnx" --dim batch=2 --cache "$tmp/cache"
compile cache_size 0 'new entry' "$tmp/layer.onnx" --dim batch=3 --cache "$tmp/cache"
model layer.onnx 'layer("batch").replace(b"\x00\x00\x80?", b"\x00\x00\x00A")'
compile cache_weights 0 'new entry' "$tmp/layer.onnx" --dim batch=2 --cache "$tmp/cache"

finish
