/* ops_known.h - where Qualcomm's libraries differ from what an operator is documented to do, by name

   What a library refuses stands here too: with its code, or with 0 where compose refuses for it, because the
   question alone would kill the process. Lines of one name follow each other. */
#define NO_F16      "the CPU library has no float16: it moves such values by Cast, Convert and Dequantize alone"
#define NO_U16      "the CPU library has no 16-bit codes, but in Quantize, Dequantize and Convert"
#define WOULD_CRASH "its validator would crash on these types: compose does not ask it"
#define NO_U8       "not in 8 bits on the CPU library"
#define WRONG_U8    "taken in 8 bits by the CPU library, without an error, and wrong"
#define RAW_U8      "codes are copied as they are, as if the output had the encoding of the input"
#define NO_I32      "not in int32 there"

static const ops_known ops_knowns[] = {
/* ---- libQnnCpu.so ---- */
{ "cpu-no-f16", "Cpu", OPS_REFUSED, 0xC26, "*", "*", "f16", NO_F16 },
{ "cpu-no-u16", "Cpu", OPS_REFUSED, 0xC26, "*", "*", "u16", NO_U16 },
{ "cpu-no-signed", "Cpu", OPS_REFUSED, 0xC26, "*", "*", "s8 s16",
  "the CPU library computes with no signed codes" },
{ "cpu-would-crash", "Cpu", OPS_REFUSED, 0, "Split StridedSlice Argmax Argmin TopK ResizeBilinear ResizeNearestNeighbor", "*",
  "f16 u16 s8 s16", WOULD_CRASH },
{ "cpu-blocks", "Cpu", OPS_REFUSED, 0, "Conv2d", "blocks", "u8 u16",
  "block-wise weights would crash it: compose does not ask it" },
{ "cpu-blocks", "Cpu", OPS_DIFFERS, 0, "FullyConnected", "blocks blocks32", "u8", "" },
{ "cpu-channels", "Cpu", OPS_DIFFERS, 0, "FullyConnected", "s8_axis s4_axis", "u8",
  "scales per channel are taken and not used: as if there were one" },
{ "cpu-weights", "Cpu", OPS_REFUSED, 0xC26, "MatMul", "s8 s4 blocks", "u8", "MatMul takes u8 with u8 alone" },
{ "cpu-needs-bias", "Cpu", OPS_REFUSED, 0x1770, "Conv2d DepthWiseConv2d", "no_bias 1x1_s8_axis", "u8",
  "quantized convolutions need a bias" },
{ "cpu-epsilon", "Cpu", OPS_DIFFERS, 0, "RmsNorm", "large_eps", "f32",
  "epsilon is added outside the root: x / (sqrt(mean) + epsilon)" },
{ "cpu-no-u8", "Cpu", OPS_REFUSED, 0xC26,
  "Dequantize LogSoftmax Elu ElementWiseCos ElementWiseSign GatherElements", "*", "u8", NO_U8 },
{ "cpu-no-u8", "Cpu", OPS_EXEC_FAILED, 0x1770,
  "ElementWiseSquaredDifference ElementWiseBinary ElementWiseNeuron", "*", "u8", "" },
{ "cpu-wrong-u8", "Cpu", OPS_DIFFERS, 0,
  "Gelu ElementWiseNeuron ElementWiseUnary ElementWiseFloorDiv CumulativeSum Relu", "*", "u8", WRONG_U8 },
{ "cpu-raw-u8", "Cpu", OPS_DIFFERS, 0, "ReduceMax StridedSlice", "encoding", "u8", RAW_U8 },
{ "cpu-count-pads", "Cpu", OPS_DIFFERS, 0, "PoolAvg2d", "count_pads", "u8",
  "count_pad_for_edges is not looked at in 8 bits" },
{ "cpu-convert", "Cpu", OPS_DIFFERS, 0, "Convert", "*", "*",
  "offsets of unsigned codes are taken with the wrong sign" },
{ "cpu-scatter-add", "Cpu", OPS_DIFFERS, 0, "ScatterNd", "add", "u8",
  "data and updates are added in codes: 1 off, and so beyond 2 codes here" },
{ "cpu-scatter", "Cpu", OPS_DIFFERS, 0, "ScatterElements", "*", "f32 u8 i32",
  "does not scatter along the axis that it is given" },
{ "cpu-symmetric", "Cpu", OPS_DIFFERS, 0, "Pad", "symmetric", "f32 u8",
  "MIRROR_SYMMETRIC returns zero bytes" },
{ "cpu-softmax-axis", "Cpu", OPS_DIFFERS, 0, "Softmax", "axis1", "u8",
  "in 8 bits an axis other than the last is wrong" },
{ "cpu-no-relu1", "Cpu", OPS_REFUSED, 0xFA5, "Relu1", "*", "*", "unknown to the CPU library" },
{ "cpu-cast-large", "Cpu", OPS_DIFFERS, 0, "Cast", "large_to_i32", "f32",
  "what is too large for int32 becomes its least number" },
{ "cpu-no-i32", "Cpu", OPS_REFUSED, 0xC26, "ReduceMax", "*", "i32", NO_I32 },

/* ---- both ---- */
{ "softmax-offset", "Cpu Htp", OPS_DIFFERS, 0, "Softmax", "signed_range", "u8",
  "in 8 bits the offset of the output is taken as 0, whatever it is" },

/* ---- libQnnHtp.so ---- */
{ "htp-no-beta", "Htp-2.47", OPS_REFUSED, 0x3EA, "RmsNorm", "no_beta", "*", "2.47 wants all three inputs" },
{ "htp-beta", "Htp", OPS_DIFFERS, 0, "RmsNorm", "gamma_beta", "f32 f16",
  "beta is taken and not added, in floating point" },
{ "htp-blocks", "Htp-2.47", OPS_REFUSED, 0x3EA, "MatMul", "blocks", "u8 u16",
  "2.47 has no MatMul with block-wise weights" },
{ "htp-channels", "Htp-2.51", OPS_REFUSED, 0xC26, "Conv2d", "1x1_s8_axis s8_axis s4_axis", "f16",
  "no convolution of float16 with scales per channel" },
{ "htp-channels", "Htp-2.47", OPS_REFUSED, 0xC26, "Conv2d", "s8_axis s4_axis", "f16", "" },
{ "htp-keep-dims", "Htp", OPS_REFUSED, 0xC26, "FullyConnected", "keep_dims", "*",
  "the result has two dimensions, or is refused" },
{ "htp-last-axis", "Htp", OPS_REFUSED, 0xC26, "Softmax LayerNorm", "axis1 two_axes", "*",
  "the last axis alone" },
{ "htp-no-i32", "Htp", OPS_REFUSED, 0xC26, "ElementWiseNeg ElementWiseSign Argmin", "*", "i32", NO_I32 },
{ "htp-no-i32", "Htp-2.47", OPS_REFUSED, 0xC26, "ReduceMax", "*", "i32", "" },
{ "htp-no-b8", "Htp", OPS_REFUSED, 0xC26, "StridedSlice", "*", "b8", "not for bool8 there" },
{ "htp-no-reduce", "Htp", OPS_REFUSED, 0xC26, "ReduceProd ReduceSumSquare", "*", "*",
  "unknown to the HTP library" },
{ "htp-arg-type", "Htp", OPS_REFUSED, 0xC26, "Argmax", "unsigned", "f32",
  "of floating point the index is INT_32 alone" },
{ "htp-gather-axis1", "Htp", OPS_DIFFERS, 0, "Gather", "axis1", "f32 f16",
  "in floating point garbage from the second row before the axis on" },
{ "htp-overflow", "Htp", OPS_DIFFERS, 0, "ElementWiseAdd ElementWiseMultiply", "overflow", "i32",
  "int32 stops at its ends instead of wrapping around" },
{ "htp-s8-shift", "Htp", OPS_DIFFERS, 0, "Gather Softmax", "rows last", "s8",
  "results of signed 8-bit codes are 128 off" },
{ "htp-cast-half", "Htp", OPS_DIFFERS, 0, "Cast", "large_to_f16 half_to_even", "f32",
  "float16 is rounded half away from zero, and what is too large becomes NaN" },
{ "htp-cast-bool", "Htp", OPS_DIFFERS, 0, "Cast", "to_b8", "*",
  "the value itself is stored, 2 or 0 for -1, and not whether it is 0" },
{ "htp-floor-div", "Htp", OPS_DIFFERS, 0, "ElementWiseFloorDiv", "plain", "f32 f16",
  "broadcast in floating point: wrong behind the first row" },
{ "htp-softplus", "Htp", OPS_DIFFERS, 0, "ElementWiseNeuron", "softplus", "u16",
  "an approximation: some 200 codes from the value" },
{ "htp-cumulative", "Htp", OPS_DIFFERS, 0, "CumulativeSum", "last", "u16",
  "every step of the sum is rounded: errors add up" },
{ "htp-cumulative-reverse", "Htp", OPS_REFUSED, 0x3EA, "CumulativeSum", "reverse", "f32",
  "no kernel in floating point" },
{ "htp-pad-f32", "Htp", OPS_DIFFERS, 0, "Pad", "zero constant", "f32",
  "columns of the input stand where padding should" },
{ "htp-pad-edge", "Htp", OPS_DIFFERS, 0, "Pad", "edge", "f32 f16",
  "EDGE does not repeat the edge in floating point" }
};
