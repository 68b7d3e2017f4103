#!/usr/bin/env python3
"""Compute operators in double precision from their documentation: an independent reference for tests/ref/ops.c.

    python3 tests/ref/oracle_ops.py CASES > EXPECTED

CASES is the output of `ops --dump`: inputs, outputs without data, and parameters of graphs of one node. Each line of
EXPECTED is the number of a case and the bytes of its outputs in hex, in order. It is plain Python without
numpy, so that it runs wherever python3 is; it shares no code with a library or with qnnrt.
"""
import itertools
import math
import struct
import sys

FORMATS = {"f32": "f", "f16": "e", "u8": "B", "u16": "H", "s8": "b", "s16": "h", "s32": "i", "i32": "i", "u32": "I",
           "b8": "B"}
CODES = {"u8": (0, 255), "u16": (0, 65535), "s8": (-128, 127), "s16": (-32768, 32767)}


class Tensor:
    """A tensor: dims, and real values (or integers) in row-major order."""

    def __init__(self, dims, values=None, type_name="f32", encoding="none"):
        self.dims, self.values, self.type, self.encoding = list(dims), values, type_name, encoding
        self.strides = [math.prod(self.dims[i + 1:]) for i in range(len(self.dims))]

    def at(self, index):
        return self.values[sum(i * s for i, s in zip(index, self.strides))]

    def indices(self):
        return itertools.product(*map(range, self.dims))


def quant_of(tensor):
    """Return scale and offset of element i."""
    parts = tensor.encoding.split(":")
    if parts[0] == "one":
        scale, offset = float(parts[1]), int(parts[2])
        return lambda i: (scale, offset)
    if parts[0] == "axis":
        axis, scales = int(parts[1]), [float(s) for s in parts[2:]]
        return lambda i: (scales[i // tensor.strides[axis] % tensor.dims[axis]], 0)
    channel_axis, block_axis, block = (int(p) for p in parts[1:4])
    scales = [float(s) for s in parts[4:]]
    blocks = tensor.dims[block_axis] // block

    def of_block(i):
        channel = i // tensor.strides[channel_axis] % tensor.dims[channel_axis]
        return scales[channel * blocks + i // tensor.strides[block_axis] % tensor.dims[block_axis] // block], 0
    return of_block


def decode(tensor, data):
    codes = struct.unpack("<%d%s" % (len(data) // struct.calcsize(FORMATS[tensor.type]), FORMATS[tensor.type]), data)
    if tensor.encoding == "none":
        tensor.values = list(codes)
        return
    quant = quant_of(tensor)
    tensor.values = []
    for i, code in enumerate(codes):
        scale, offset = quant(i)
        tensor.values.append((code + offset) * scale)


def encode(tensor, values):
    values = list(values)
    assert len(values) == math.prod(tensor.dims), "%d values for %s" % (len(values), tensor.dims)
    if tensor.type in CODES:
        quant, (low, high) = quant_of(tensor), CODES[tensor.type]
        codes = []
        for i, value in enumerate(values):
            scale, offset = quant(i)
            ratio = value / scale
            code = math.floor(abs(ratio) + 0.5) * (1 if ratio >= 0 else -1) - offset
            codes.append(min(max(code, low), high))
        values = codes
    elif tensor.type == "i32":                 # sums of integers wrap, real numbers saturate
        values = [(int(v) if isinstance(v, int) else int(min(max(v, -2**31), 2**31 - 1))) for v in values]
        values = [(v + 2**31) % 2**32 - 2**31 for v in values]
    elif tensor.type == "f16":                 # 65520 is nearer to 65536, which float16 does not have
        values = [v if abs(v) < 65520 else math.copysign(math.inf, v) for v in values]
    elif tensor.type == "b8":
        values = [1 if v else 0 for v in values]
    return struct.pack("<%d%s" % (len(values), FORMATS[tensor.type]), *values)


# ---- elementwise -----------------------------------------------------------------------------------

def broadcast(function):
    def compute(node):
        out, result = node.outs[0], []
        for index in out.indices():
            arguments = []
            for t in node.ins:
                tail = index[len(index) - len(t.dims):]
                arguments.append(t.at([i if d > 1 else 0 for i, d in zip(tail, t.dims)]))
            result.append(function(*arguments))
        return [result]
    return compute


def unary(function):
    return lambda node: [[function(x) for x in node.ins[0].values]]


def divide(a, b):
    return int(abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if isinstance(a, int) else a / b


def half_even(x):
    return float(round(x))


def sign(x):
    return (x > 0) - (x < 0)


def clip(low, high):
    return lambda x: min(max(x, low), high)


def elu(alpha):
    return lambda x: x if x > 0 else alpha * math.expm1(x)


def gelu(x):
    return 0.5 * x * math.erfc(-x / math.sqrt(2))


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def hard_swish(x):
    return x * clip(0, 6)(x + 3) / 6


def softplus(beta, threshold):
    return lambda x: x if x * beta > threshold else math.log1p(math.exp(beta * x)) / beta


def round_floor_divide(a, b):
    return a // b


BINARY = {
    "Add": lambda a, b: a + b, "And": lambda a, b: a and b, "Divide": divide, "Equal": lambda a, b: a == b,
    "FloorDiv": round_floor_divide, "Fmod": None, "Greater": lambda a, b: a > b, "GreaterEqual": lambda a, b: a >= b,
    "Less": lambda a, b: a < b, "LessEqual": lambda a, b: a <= b, "Maximum": max, "Minimum": min,
    "Mod": lambda a, b: a % b, "Multiply": lambda a, b: a * b, "NotEqual": lambda a, b: a != b,
    "Or": lambda a, b: a or b, "Power": lambda a, b: a ** b, "SquaredDifference": lambda a, b: (a - b) ** 2,
    "Subtract": lambda a, b: a - b, "Xor": lambda a, b: a != b}
UNARY = {
    "Abs": abs, "Asin": math.asin, "Atan": math.atan, "Ceil": math.ceil, "Cos": math.cos, "Exp": math.exp,
    "Floor": math.floor, "Log": math.log, "Neg": lambda x: -x, "Not": lambda x: not x, "Reciprocal": lambda x: 1 / x,
    "Round": half_even, "Rsqrt": lambda x: 1 / math.sqrt(x), "Sign": sign, "Sin": math.sin, "SquareRoot": math.sqrt}
BINARY_OPERATIONS = list(BINARY)             # their numbers in ElementWiseBinary and ElementWiseUnary
UNARY_OPERATIONS = list(UNARY)


def neuron(node):
    p = node.params
    function = [lambda: elu(p.get("alpha", 1)), lambda: gelu,
                lambda: lambda x: clip(0, 1)(p.get("alpha", 0.2) * x + p.get("beta", 0.5)), lambda: hard_swish,
                lambda: lambda x: max(x, 0), lambda: clip(p["min_value"], p["max_value"]), lambda: sigmoid,
                lambda: softplus(p.get("beta", 1), p.get("threshold", 20)), lambda: math.tanh][int(p["operation"])]()
    return unary(function)(node)


def prelu(node):
    alpha = node.ins[1].values
    return [[x if x > 0 else alpha[i % len(alpha)] * x for i, x in enumerate(node.ins[0].values)]]


# ---- linear ----------------------------------------------------------------------------------------

def matmul(node):
    a, b, out = node.ins[0], node.ins[1], node.outs[0]
    ta, tb = node.params.get("transpose_in0", 0), node.params.get("transpose_in1", 0)
    depth = a.dims[-2] if ta else a.dims[-1]
    result = []

    def batch(t, index):
        dims = t.dims[:-2]
        tail = index[len(index) - len(dims):] if dims else ()
        return [i if d > 1 else 0 for i, d in zip(tail, dims)]
    for *lead, m, n in out.indices():
        at, bt = batch(a, lead), batch(b, lead)
        total = math.fsum(a.at(at + ([k, m] if ta else [m, k])) * b.at(bt + ([n, k] if tb else [k, n]))
                          for k in range(depth))
        result.append(total + (node.ins[2].values[n] if len(node.ins) > 2 else 0))
    return [result]


def fully_connected(node):
    x, w = node.ins[0].values, node.ins[1]
    n, k = w.dims
    bias = node.ins[2].values if len(node.ins) > 2 else [0] * n
    return [[math.fsum(x[row + i] * w.values[c * k + i] for i in range(k)) + bias[c]
             for row in range(0, len(x), k) for c in range(n)]]


def windows(node, kh, kw):
    """Return, for each place of the output, the (row, column, kernel row, kernel column) inside the input."""
    p = node.params
    (sh, sw), (top, _, left, _) = p["stride"], p["pad_amount"]
    dh, dw = p.get("dilation", [1, 1])
    _, height, width, _ = node.ins[0].dims
    for n, oh, ow in itertools.product(*map(range, node.outs[0].dims[:3])):
        taps = []
        for r, c in itertools.product(range(kh), range(kw)):
            h, w = oh * sh - top + r * dh, ow * sw - left + c * dw
            if 0 <= h < height and 0 <= w < width:
                taps.append((h, w, r, c))
        yield n, taps


def conv2d(node):
    x, w = node.ins[0], node.ins[1]
    kh, kw, per_group, channels = w.dims
    size = channels // int(node.params.get("group", 1))
    bias = node.ins[2].values if len(node.ins) > 2 else [0] * channels
    return [[math.fsum(x.at((n, h, v, c // size * per_group + i)) * w.at((r, s, i, c))
                       for h, v, r, s in taps for i in range(per_group)) + bias[c]
             for n, taps in windows(node, kh, kw) for c in range(channels)]]


def depthwise(node):
    x, w = node.ins[0], node.ins[1]
    kh, kw, _, channels = w.dims
    times = channels // x.dims[3]
    bias = node.ins[2].values if len(node.ins) > 2 else [0] * channels
    return [[math.fsum(x.at((n, h, v, c // times)) * w.at((r, s, 0, c)) for h, v, r, s in taps) + bias[c]
             for n, taps in windows(node, kh, kw) for c in range(channels)]]


def transpose_conv(node):
    x, w, out = node.ins[0], node.ins[1], node.outs[0]
    kh, kw, depth, channels = w.dims
    (sh, sw), (top, _, left, _) = node.params["stride"], node.params["pad_amount"]
    sums = dict.fromkeys(out.indices(), 0.0)
    for n, h, v, i in x.indices():
        for r, s, c in itertools.product(range(kh), range(kw), range(channels)):
            at = (n, h * sh + r - top, v * sw + s - left, c)
            if at in sums:
                sums[at] += x.at((n, h, v, i)) * w.at((r, s, i, c))
    return [[value + node.ins[2].values[at[3]] for at, value in sums.items()]]


def pool(reduce):
    def compute(node):
        kh, kw = node.params["filter_size"]
        x = node.ins[0]
        return [[reduce([x.at((n, h, v, c)) for h, v, _, _ in taps], kh * kw, node.params)
                 for n, taps in windows(node, kh, kw) for c in range(x.dims[3])]]
    return compute


def average(values, size, params):
    return math.fsum(values) / (size if params.get("count_pad_for_edges", 0) else len(values))


# ---- norms and reductions ---------------------------------------------------------------------------

def lines(x, axes):
    """List the elements that differ along the axes only, as flat indices, in the order of the other axes."""
    groups = {}
    for flat, index in enumerate(x.indices()):
        groups.setdefault(tuple(i for a, i in enumerate(index) if a not in axes), []).append(flat)
    return groups.values()


def normed(function, axes_of):
    """Apply function(values of a line, params) to each line, then gamma and beta, which run over the axes of the line
    or, per channel, over the last axis."""
    def compute(node):
        x, result = node.ins[0], [0.0] * len(node.ins[0].values)
        gamma = node.ins[1].values if len(node.ins) > 1 else [1]
        beta = node.ins[2].values if len(node.ins) > 2 else [0]
        for line in axes_of(node):
            for flat, value in zip(line, function([x.values[i] for i in line], node.params)):
                result[flat] = value * gamma[flat % len(gamma)] + beta[flat % len(beta)]
        return [result]
    return compute


def rms(values, params):
    root = math.sqrt(math.fsum(v * v for v in values) / len(values) + params["epsilon"])
    return [v / root for v in values]


def standard(values, params):
    mean = math.fsum(values) / len(values)
    root = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values) + params["epsilon"])
    return [(v - mean) / root for v in values]


def l2(values, params):
    root = math.sqrt(max(math.fsum(v * v for v in values), params.get("epsilon", 1e-12)))
    return [v / root for v in values]


def softmax(values, params):
    beta, top = params.get("beta", 1), max(values)
    powers = [math.exp(beta * (v - top)) for v in values]
    return [p / math.fsum(powers) for p in powers]


def log_softmax(values, params):
    beta, top = params.get("beta", 1), max(values)
    total = math.log(math.fsum(math.exp(beta * (v - top)) for v in values))
    return [beta * (v - top) - total for v in values]


def along_axes(node):
    return lines(node.ins[0], [int(a) for a in node.params["axes"]])


def along_axis(node):
    if "axes" in node.params:
        return along_axes(node)
    return lines(node.ins[0], [int(node.params.get("axis", len(node.ins[0].dims) - 1))])


def along_picture(node):
    return lines(node.ins[0], [1, 2])


def group_lines(node):
    x, groups = node.ins[0], int(node.params["group"])
    split = Tensor(x.dims[:3] + [groups, x.dims[3] // groups])
    return lines(split, [1, 2, 4])


def batchnorm(node):
    w, b = node.ins[1].values, node.ins[2].values
    return [[x * w[i % len(w)] + b[i % len(b)] for i, x in enumerate(node.ins[0].values)]]


def reduce(function, axes_of):
    return lambda node: [[function([node.ins[0].values[i] for i in line]) for line in axes_of(node)]]


def first_of(best):
    return lambda values: values.index(best(values))


def top_k(node):
    k, largest, values, indices = int(node.params["k"]), node.params.get("largest", 1), [], []
    x = node.ins[0]
    for line in lines(x, [len(x.dims) - 1]):
        row = [x.values[i] for i in line]
        order = sorted(range(len(row)), key=lambda i: (-row[i] if largest else row[i], i))[:k]
        values += [row[i] for i in order]
        indices += order
    return [values, indices]


def cumulative_sum(node):
    x, result = node.ins[0], [0] * len(node.ins[0].values)
    for line in along_axis(node):
        total = 0
        for i in reversed(line) if node.params.get("reverse", 0) else line:
            if node.params.get("exclusive", 0):
                result[i] = total
            total += x.values[i]
            if not node.params.get("exclusive", 0):
                result[i] = total
    return [result]


# ---- moving data -----------------------------------------------------------------------------------

def same(node):
    return [node.ins[0].values]


def moved(where):
    """Move elements: where(node, index in the output) returns the index in the input."""
    return lambda node: [[node.ins[0].at(where(node, index)) for index in out.indices()] for out in node.outs]


def transposed(node, index):
    source = [0] * len(index)
    for i, axis in zip(index, node.params["perm"]):
        source[axis] = i
    return source


def gather(node):
    x, ids, axis = node.ins[0], node.ins[1], int(node.params["axis"])
    rank = len(ids.dims)
    return [[x.at(index[:axis] + (ids.at(index[axis:axis + rank]),) + index[axis + rank:])
             for index in node.outs[0].indices()]]


def gather_elements(node):
    axis = int(node.params["axis"])
    return [[node.ins[0].at(index[:axis] + (node.ins[1].at(index),) + index[axis + 1:])
             for index in node.outs[0].indices()]]


def gather_nd(node):
    ids, width, batch = node.ins[1], node.ins[1].dims[-1], int(node.params.get("batch_dims", 0))
    lead = len(ids.dims) - 1
    return [[node.ins[0].at(index[:batch] + tuple(ids.at(index[:lead] + (k,)) for k in range(width)) + index[lead:])
             for index in node.outs[0].indices()]]


def scatter_nd(node):
    data, ids, updates = node.ins
    width, lead, result = ids.dims[-1], len(ids.dims) - 1, list(data.values)
    for index in updates.indices():
        where = tuple(ids.at(index[:lead] + (k,)) for k in range(width)) + index[lead:]
        flat = sum(i * s for i, s in zip(where, data.strides))
        value = updates.at(index)
        result[flat] = [value, result[flat] + value, result[flat] * value][int(node.params.get("reduction", 0))]
    return [result]


def scatter_elements(node):
    data, ids, updates = node.ins
    axis, result = int(node.params.get("axis", 0)), list(data.values)
    for index in ids.indices():
        where = index[:axis] + (ids.at(index),) + index[axis + 1:]
        flat = sum(i * s for i, s in zip(where, data.strides))
        old, new = result[flat], updates.at(index)
        result[flat] = [new, old + new, old * new, max(old, new)][int(node.params.get("reduction", 0))]
    return [result]


def non_zero(node):
    x = node.ins[0]
    found = [i for index in x.indices() if x.at(index) for i in index]
    return [found + [-1] * (math.prod(node.outs[0].dims) - len(found))]


def concat(node):
    axis = int(node.params["axis"])
    result = {}
    start = 0
    for t in node.ins:
        for index in t.indices():
            result[index[:axis] + (index[axis] + start,) + index[axis + 1:]] = t.at(index)
        start += t.dims[axis]
    return [[result[index] for index in node.outs[0].indices()]]


def split(node):
    axis = int(node.params["axis"])
    starts = [0] + [int(s) for s in node.params["split_index"]]
    return [[node.ins[0].at(index[:axis] + (index[axis] + start,) + index[axis + 1:]) for index in out.indices()]
            for out, start in zip(node.outs, starts)]


def strided_slice(node):
    p, x = node.params, node.ins[0]
    picks = []
    for axis, size in enumerate(x.dims):
        begin, end, step = (int(v) for v in p["ranges"][3 * axis:3 * axis + 3])
        begin = None if int(p.get("begin_mask", 0)) >> axis & 1 else begin
        end = None if int(p.get("end_mask", 0)) >> axis & 1 else end
        if int(p.get("shrink_axes", 0)) >> axis & 1:
            picks.append([begin])
        else:
            picks.append(list(range(size))[begin:end:step])
    return [[x.at(index) for index in itertools.product(*picks)]]


def stack(node):
    axis = int(node.params["axis"])
    return [[node.ins[index[axis]].at(index[:axis] + index[axis + 1:]) for index in node.outs[0].indices()]]


def unstack(node):
    axis = int(node.params["axis"])
    return [[node.ins[0].at(index[:axis] + (n,) + index[axis:]) for index in out.indices()]
            for n, out in enumerate(node.outs)]


def pad(node):
    x, amount, scheme = node.ins[0], node.params["pad_amount"], int(node.params["scheme"])
    result = []
    for index in node.outs[0].indices():
        source, outside = [], False
        for axis, i in enumerate(index):
            i, size = i - amount[2 * axis], x.dims[axis]
            outside = outside or not 0 <= i < size
            if scheme == 1:
                i = -i - 1 if i < 0 else 2 * size - 1 - i if i >= size else i
            elif scheme == 2:
                i = -i if i < 0 else 2 * size - 2 - i if i >= size else i
            elif scheme == 3:
                i = clip(0, size - 1)(i)
            source.append(i)
        result.append(node.params.get("pad_constant_value", 0) if outside and scheme == 0 else x.at(source))
    return [result]


def one_hot(node):
    axis = int(node.params["axis"])
    return [[node.params.get("on_value", 1) if node.ins[0].at(index[:axis] + index[axis + 1:]) == index[axis]
             else node.params.get("off_value", 0) for index in node.outs[0].indices()]]


# ---- pictures --------------------------------------------------------------------------------------

def source_place(node, o, axis):
    size_in, size_out = node.ins[0].dims[axis], node.outs[0].dims[axis]
    if node.params.get("align_corners", 0) and size_out > 1:
        return o * (size_in - 1) / (size_out - 1)
    if node.params.get("half_pixel_centers", 0):
        return (o + 0.5) * size_in / size_out - 0.5
    return o * size_in / size_out


def resize_bilinear(node):
    x, result = node.ins[0], []
    for n, h, w, c in node.outs[0].indices():
        weights = []
        for o, axis in ((h, 1), (w, 2)):
            place, last = max(source_place(node, o, axis), 0), x.dims[axis] - 1
            low = min(int(place), last)
            weights.append(((low, 1 - (place - low)), (min(low + 1, last), place - low)))
        result.append(math.fsum(x.at((n, i, j, c)) * p * q for i, p in weights[0] for j, q in weights[1]))
    return [result]


def nearest(node, index):
    n, h, w, c = index
    half = node.params.get("half_pixel_centers", 0) and not node.params.get("align_corners", 0)

    def pick(o, axis):
        place = source_place(node, o, axis) + (0.5 if half or node.params.get("align_corners", 0) else 0)
        return min(int(place), node.ins[0].dims[axis] - 1)
    return n, pick(h, 1), pick(w, 2), c


def depth_to_space(node, index):
    (bh, bw), depth = node.params["block_size"], node.outs[0].dims[3]
    n, h, w, c = index
    block = h % bh * bw + w % bw
    crd = int(node.params.get("mode", 0)) == 1
    return n, h // bh, w // bw, c * bh * bw + block if crd else block * depth + c


def space_to_depth(node, index):
    (bh, bw), depth = node.params["block_size"], node.ins[0].dims[3]
    n, h, w, c = index
    crd = int(node.params.get("mode", 0)) == 1
    block, channel = (c % (bh * bw), c // (bh * bw)) if crd else (c // depth, c % depth)
    return n, h * bh + block // bw, w * bw + block % bw, channel


def channel_shuffle(node, index):
    axis, groups = int(node.params["axis"]), int(node.params["num_groups"])
    i, size = index[axis], node.ins[0].dims[axis]
    return index[:axis] + (i % groups * (size // groups) + i // groups,) + index[axis + 1:]


OPERATORS = {
    "Gather": gather, "GatherElements": gather_elements, "GatherNd": gather_nd, "ScatterNd": scatter_nd,
    "ScatterElements": scatter_elements, "MatMul": matmul, "FullyConnected": fully_connected, "Conv2d": conv2d,
    "DepthWiseConv2d": depthwise, "TransposeConv2d": transpose_conv, "Batchnorm": batchnorm,
    "RmsNorm": normed(rms, along_axes), "LayerNorm": normed(standard, along_axes),
    "InstanceNorm": normed(standard, along_picture), "GroupNorm": normed(standard, group_lines),
    "L2Norm": normed(l2, along_axis), "Softmax": normed(softmax, along_axis),
    "LogSoftmax": normed(log_softmax, along_axis),
    "PoolMax2d": pool(lambda values, size, params: max(values)), "PoolAvg2d": pool(average),
    "Relu": unary(lambda x: max(x, 0)), "Relu1": unary(clip(-1, 1)), "Relu6": unary(clip(0, 6)),
    "ReluMinMax": lambda node: unary(clip(node.params["min_value"], node.params["max_value"]))(node),
    "Sigmoid": unary(sigmoid), "Tanh": unary(math.tanh), "Gelu": unary(gelu), "HardSwish": unary(hard_swish),
    "Elu": lambda node: unary(elu(node.params.get("alpha", 1)))(node), "Prelu": prelu, "ElementWiseNeuron": neuron,
    "ElementWiseBinary": lambda node: broadcast(BINARY[BINARY_OPERATIONS[int(node.params["operation"])]])(node),
    "ElementWiseUnary": lambda node: unary(UNARY[UNARY_OPERATIONS[int(node.params["operation"])]])(node),
    "ElementWiseSelect": broadcast(lambda c, a, b: a if c else b),
    "ReduceMean": reduce(lambda v: math.fsum(v) / len(v), along_axes), "ReduceSum": reduce(sum, along_axes),
    "ReduceMax": reduce(max, along_axes), "ReduceMin": reduce(min, along_axes),
    "ReduceProd": reduce(math.prod, along_axes), "ReduceSumSquare": reduce(lambda v: sum(x * x for x in v), along_axes),
    "Argmax": reduce(first_of(max), along_axis), "Argmin": reduce(first_of(min), along_axis), "TopK": top_k,
    "CumulativeSum": cumulative_sum, "Reshape": same, "ExpandDims": same, "Squeeze": same, "Cast": same,
    "Convert": same, "Quantize": same, "Dequantize": same, "Transpose": moved(transposed), "Concat": concat,
    "Split": split, "StridedSlice": strided_slice, "Pack": stack, "UnPack": unstack,
    "Tile": moved(lambda node, index: [i % d for i, d in zip(index, node.ins[0].dims)]), "Pad": pad,
    "OneHot": one_hot, "NonZero": non_zero, "ResizeBilinear": resize_bilinear, "ResizeNearestNeighbor": moved(nearest),
    "DepthToSpace": moved(depth_to_space), "SpaceToDepth": moved(space_to_depth),
    "ChannelShuffle": moved(channel_shuffle)}
OPERATORS.update(("ElementWise" + name, broadcast(f)) for name, f in BINARY.items() if f is not None)
OPERATORS.update(("ElementWise" + name, unary(f)) for name, f in UNARY.items())


class Node:
    def __init__(self, number, name):
        self.number, self.name, self.ins, self.outs, self.params = number, name, [], [], {}

    def tensor(self, what, fields):
        _, type_name, dims, encoding, data = fields
        if type_name == "-":
            return
        tensor = Tensor([int(d) for d in dims.split(",")], None, type_name, encoding)
        if what == "in":
            decode(tensor, bytes.fromhex(data))
        (self.ins if what == "in" else self.outs).append(tensor)

    def param(self, name, value):
        self.params[name] = [int(v) for v in value[1:-1].split(",")] if value[0] == "[" else float(value)

    def print(self):
        if self.name in OPERATORS:
            values = OPERATORS[self.name](self)
            print(self.number, "".join(encode(out, v).hex() for out, v in zip(self.outs, values)))


def main(path):
    node = None
    with open(path, encoding="ascii") as file:
        for line in file:
            what, *fields = line.split()
            if what == "case":
                node = Node(fields[0], fields[1])
            elif what == "param":
                node.param(*fields)
            elif what == "end":
                node.print()
            else:
                node.tensor(what, fields)


if __name__ == "__main__":
    main(sys.argv[1])
