#!/usr/bin/env python3
"""Record what PyTorch computes for each operator of tools/qnnrt_ir.h, as a graph with expected results.

    python3 tests/ir/record_ir.py >tests/data/ir/ops.json

Needs torch; the tests need only its output. Each node is written as the exporter pytorch-ir writes it: tensors among
the positional arguments are inputs, the others are attrs. Inputs are constants of the graph, and the constant
expected/<output> has what torch computes."""
import json
import math
import sys

import torch

aten = torch.ops.aten
torch.manual_seed(1)
graph = {"model_name": "ops", "pytorch_version": torch.__version__, "graph_inputs": [], "graph_outputs": [], "weights": [],
         "weight_name_mapping": {}, "nodes": [], "constants": {}}


def short(x):
    """The elements as nested lists, with few digits."""
    if x.dtype in (torch.float16, torch.bfloat16, torch.float32):
        def cut(v):
            if isinstance(v, list):
                return [cut(w) for w in v]
            return v if not math.isfinite(v) else float("%.9g" % v)
        return cut(x.to(torch.float32).tolist())
    return x.tolist()


def meta(name, x):
    return {"name": name, "shape": list(x.shape), "dtype": str(x.dtype).replace("torch.", "")}


def plain(v):
    if isinstance(v, (torch.dtype, torch.layout, torch.device, torch.memory_format)):
        return str(v)
    return [plain(w) for w in v] if isinstance(v, (list, tuple)) else v


names = {}


def value(x):
    """The tensor as an input: a constant, stored once."""
    key = (id(x))
    if key not in names:
        name = "k%d" % len(names)
        names[key] = (name, x)
        graph["weight_name_mapping"]["c_" + name] = name
        graph["constants"][name] = {"data": short(x), "dtype": str(x.dtype).replace("torch.", "")}
    return meta("c_" + names[key][0], x)


def run(op, *args, **kwargs):
    number = len(graph["nodes"])
    schema = op._schema.arguments
    inputs, attrs, sizes, masks = [], {k: plain(v) for k, v in kwargs.items()}, [], []
    given = []
    for argument, arg in zip(schema, args):
        many = "List[Tensor]" in str(argument.type) or "List[Optional[Tensor]]" in str(argument.type)
        if isinstance(arg, torch.Tensor):
            if argument.alias_info is not None and argument.alias_info.is_write:
                arg = arg.clone()                  # a constant of its own: no other node reads what this one overwrites
            inputs.append(value(arg))
            arg = arg.clone()
        elif many:
            there = [a for a in arg if a is not None]
            inputs += [value(a) for a in there]
            sizes.append(len(there))
            if len(there) < len(arg):
                masks.append([a is None for a in arg])
        elif not (arg is None and "Tensor" in str(argument.type)):
            attrs[argument.name] = plain(arg)
        given.append(arg)
    if sizes:
        attrs["_tensor_list_sizes"] = sizes
    if masks:
        attrs["_tensor_list_none_masks"] = masks
    result = op(*given, **kwargs)
    results = list(result) if isinstance(result, (tuple, list)) else [result] if result is not None else []
    name = "n%d" % number
    outputs = []
    for i, x in enumerate(results):
        out = name if isinstance(result, torch.Tensor) else "%s_%d" % (name, i)
        outputs.append(meta(out, x))
        graph["constants"]["expected/" + out] = {"data": short(x), "dtype": str(x.dtype).replace("torch.", "")}
    graph["graph_outputs"] += outputs
    graph["nodes"].append({"name": name, "op_type": str(op), "inputs": inputs, "outputs": outputs, "attrs": attrs})


def f(*shape, dtype=torch.float32, scale=16):
    """Small multiples of 1/16, exact in every float type."""
    return (torch.randint(-3 * scale, 3 * scale + 1, shape).to(torch.float32) / scale).to(dtype)


def n(*shape, low=-5, high=6, dtype=torch.int64):
    return torch.randint(low, high, shape).to(dtype)


def b(*shape):
    return torch.randint(0, 2, shape).bool()


x, y, row, col, one = f(2, 3, 4), f(2, 3, 4), f(4), f(3, 1), f()
i, j, m = n(2, 3), n(3), b(2, 3)
half, brain = f(2, 3, dtype=torch.float16), f(2, 3, dtype=torch.bfloat16)
small = f(2, 3)
positive = small.abs() + 0.0625

for name in "relu relu6 silu gelu sigmoid tanh hardtanh hardsigmoid hardswish leaky_relu elu softplus mish neg abs sign floor ceil round " \
            "trunc square exp erf cos sin isnan isinf".split():
    run(getattr(aten, name).default, small)
for name in "rsqrt sqrt reciprocal log log2".split():
    run(getattr(aten, name).default, positive)
for name in "relu_ relu6_ silu_ sigmoid_ hardtanh_ hardsigmoid_ hardswish_ leaky_relu_".split():
    run(getattr(aten, name).default, small)
for name in "relu neg abs sign square cos sqrt exp sigmoid reciprocal".split():
    run(getattr(aten, name).default, i.abs() + 1)
for name in "silu gelu rsqrt neg softplus".split():
    run(getattr(aten, name).default, brain.abs() + 1)
    run(getattr(aten, name).default, half.abs() + 1)
run(aten.gelu.default, small, approximate="tanh")
run(aten.hardtanh.default, small, 0.0, 6.0)
run(aten.leaky_relu.default, small, 0.2)
run(aten.elu.default, small, 0.5)
run(aten.softplus.default, small, 2, 1)
run(aten.round.default, torch.tensor([0.5, 1.5, -0.5, -2.5, 2.25]))
run(aten.isnan.default, torch.tensor([float("nan"), 1.0, float("inf"), float("-inf")]))
run(aten.isinf.default, torch.tensor([float("nan"), 1.0, float("inf"), float("-inf")]))
run(aten.logical_not.default, m)
run(aten.logical_not.default, i)
run(aten.bitwise_not.default, m)
run(aten.bitwise_not.default, i)
run(aten.clamp.default, small, -1)
run(aten.clamp.default, small, None, 0.5)
run(aten.clamp.default, i, -1.5, 2)
run(aten.clamp_.default, small, -1, 1)
run(aten.clamp_min.default, small, 0.25)
run(aten.clamp_max.default, i, 2)
run(aten.tril.default, x)
run(aten.triu.default, x, 1)
run(aten.triu.default, f(4, 4), -1)
run(aten.dropout.default, small, 0.5, False)
run(aten.dropout.default, small, 0.0, True)
run(aten.dropout_.default, small, 0.5, False)
run(aten.feature_dropout.default, small, 0.5, False)

# Two operands: broadcasts, ranks, types.
pairs = [(x, y), (x, row), (col, x), (x, one), (one, one), (i, j), (i, small), (small, i), (half, brain), (half, small), (i, n(2, 3, dtype=torch.int32)),
         (m, i), (n(2, 3, low=0, dtype=torch.uint8), n(3, dtype=torch.int8)), (half, f()), (i, f()), (f(dtype=torch.float64), half),
         (f(0, 3), f(1, 3))]
for p, q in pairs:
    run(aten.add.Tensor, p, q)
    run(aten.mul.Tensor, p, q)
    run(aten.le.Tensor, p, q)
for p, q in pairs[:11]:
    run(aten.sub.Tensor, p, q)
    run(aten.div.Tensor, p, q.abs() + 1)
    run(aten.maximum.default, p, q)
    run(aten.eq.Tensor, p, q)
run(aten.add.Tensor, m, b(2, 3))
for p in (small, half, i, m, one, n()):
    for q in (2, 0.5, True):
        run(aten.add.Tensor, p, q)
        run(aten.mul.Tensor, p, q)
        run(aten.lt.Scalar, p, q)
    run(aten.div.Tensor, p, 4)
    run(aten.div.Tensor, p, 0.25)
run(aten.add.Tensor, x, y, alpha=3)
run(aten.add.Tensor, i, j, alpha=-2)
run(aten.sub.Tensor, x, row, alpha=0.5)
run(aten.sub.Tensor, x, 1.5)
for op, p, q in ((aten.add_.Tensor, x, row), (aten.sub_.Tensor, x, row), (aten.mul_.Tensor, half, small), (aten.div_.Tensor, small, positive),
                 (aten.min.other, x, row), (aten.max.other, x, row), (aten.minimum.default, i, j), (aten.rsub.Tensor, x, row),
                 (aten.floor_divide.default, i, j.abs() + 1), (aten.floor_divide.default, small, positive), (aten.remainder.Tensor, i, j.abs() + 2),
                 (aten.remainder.Tensor, small, positive), (aten.pow.Tensor_Tensor, positive, small), (aten.pow.Tensor_Tensor, i, j.abs()),
                 (aten.ne.Tensor, i, j), (aten.lt.Tensor, x, y), (aten.gt.Tensor, x, y), (aten.ge.Tensor, x, y), (aten.logical_and.default, m, i),
                 (aten.logical_or.default, m, b(3)), (aten.logical_xor.default, m, b(2, 1)), (aten.__and__.Tensor, m, b(3)),
                 (aten.__and__.Tensor, i, j), (aten.__or__.Tensor, m, b(3)), (aten.__xor__.Tensor, i, j), (aten.bitwise_and.Tensor, i, j),
                 (aten.bitwise_or.Tensor, m, b(2, 3)), (aten.bitwise_xor.Tensor, m, b(2, 3))):
    run(op, p, q)
for op, p, q in ((aten.add.Scalar, i, 2), (aten.sub.Scalar, small, 2), (aten.rsub.Scalar, small, 1.0), (aten.mul.Scalar, i, 0.5), (aten.div.Scalar, i, 2),
                 (aten.floor_divide.default, i, 2), (aten.floor_divide.default, small, 0.75), (aten.remainder.Scalar, i, 3), (aten.remainder.Scalar, small, -1.25), (aten.pow.Tensor_Scalar, small, 2),
                 (aten.pow.Tensor_Scalar, small, 3), (aten.pow.Tensor_Scalar, positive, 0.5), (aten.pow.Tensor_Scalar, positive, -0.5),
                 (aten.pow.Tensor_Scalar, i, 2), (aten.pow.Tensor_Scalar, i.abs() + 1, 0.5), (aten.pow.Tensor_Scalar, brain, 2), (aten.pow.Scalar, 10000.0, small), (aten.pow.Scalar, 2, i.abs()),
                 (aten.eq.Scalar, i, 1), (aten.ne.Scalar, i, 0), (aten.le.Scalar, i, 0), (aten.gt.Scalar, small, 0), (aten.ge.Scalar, small, 0.5),
                 (aten.__and__.Scalar, i, 1), (aten.__or__.Scalar, i, 4)):
    run(op, p, q)
run(aten.div.Tensor_mode, i, 2, rounding_mode="floor")
run(aten.div.Tensor_mode, i, j.abs() + 1, rounding_mode="trunc")
run(aten.div.Tensor_mode, small, positive, rounding_mode="floor")
run(aten.div.Tensor_mode, i, 2, rounding_mode=None)

run(aten.where.self, m, small, positive)
run(aten.where.self, b(3, 1), row, f(1, 4, dtype=torch.float16))
run(aten.where.self, m, i, one)
run(aten.where.ScalarOther, m, small, float("-inf"))
run(aten.where.ScalarOther, m, i, 0)
run(aten.where.ScalarSelf, m, 1.5, i)
run(aten.where.Scalar, m, 0.0, -10000.0)
run(aten.where.Scalar, m, 1, 0)
run(aten.masked_fill.Scalar, x, b(3, 4), -1e9)
run(aten.masked_fill_.Scalar, i, m, 7)
run(aten.masked_fill.Tensor, small, m, one)
run(aten.masked_fill_.Tensor, small, m, one)

for dim in ([-1], [0, 2], [1], []):
    for keep in (False, True):
        run(aten.mean.dim, x, dim, keep)
        run(aten.sum.dim_IntList, x, dim, keep)
        run(aten.amax.default, x, dim, keep)
run(aten.mean.dim, x, None)
run(aten.mean.dim, i, [0], dtype=torch.float32)
run(aten.mean.default, x)
run(aten.mean.dim, half, [1], True)
run(aten.sum.default, i)
run(aten.sum.default, m)
run(aten.sum.dim_IntList, m, [1], True)
run(aten.sum.dim_IntList, half, [0], dtype=torch.float32)
run(aten.prod.default, j.abs() + 1)
run(aten.prod.dim_int, small, 0, True)
run(aten.amin.default, i, [0])
for name in ("max", "min", "any", "all"):
    run(getattr(aten, name).default, i)
    run(getattr(aten, name).dim, i, 1)
    run(getattr(aten, name).dim, i, 0, True)
for name in ("argmax", "argmin"):
    run(getattr(aten, name).default, x)
    run(getattr(aten, name).default, x, 1)
    run(getattr(aten, name).default, x, -1, True)
run(aten.topk.default, torch.tensor([[3.0, 1.0, 4.0, 1.5], [9.0, 2.0, 6.0, 5.0]]), 2)
run(aten.topk.default, torch.tensor([[3.0, 1.0, 4.0, 1.5], [9.0, 2.0, 6.0, 5.0]]), 1, 0, False)
run(aten.var.correction, x, [1], correction=1)
run(aten.var.correction, x, [-1], correction=0, keepdim=True)
run(aten.var.dim, x, [0, 1], False)
run(aten.std.correction, x, [-1], correction=1)
run(aten.linalg_vector_norm.default, x)
run(aten.linalg_vector_norm.default, x, 2, [-1], True)
run(aten.linalg_vector_norm.default, x, 1, [1])
run(aten.linalg_vector_norm.default, x, float("inf"), [0])
run(aten.cumsum.default, i, 1)
run(aten.cumsum.default, m, -1)
run(aten.cumsum.default, x, 0)
run(aten.cumprod.default, x, 2)
run(aten.cumsum.default, i, 0, dtype=torch.float32)
for dim in (-1, 0, 1):
    run(aten.softmax.int, x, dim)
    run(aten.log_softmax.int, x, dim)
run(aten.softmax.int, half, -1, torch.float32)
run(aten.softmax.int, torch.tensor([[float("-inf"), 1.0, 2.0]]), -1)
run(aten._softmax.default, x, 1, False)

for name in "alias detach detach_ clone lift_fresh lift_fresh_copy contiguous".split():
    run(getattr(aten, name).default, small)
run(aten.clone.default, i, memory_format=torch.contiguous_format)
dtypes = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
for p in (small, positive, i.abs(), m, half, brain, torch.tensor([0.1, 3.14159, 1e-3, 65000.0])):
    for d in dtypes:
        if p.dtype.is_floating_point and d in (torch.int8, torch.uint8, torch.int16) and (p.max() > 100 or p.min() < 0):
            continue
        run(aten.to.dtype, p, d)
run(aten.to.dtype, small, torch.float32, False, True)
run(aten.to.dtype_layout, small, dtype=torch.float16, layout=torch.strided, device=torch.device("cpu"))
run(aten.to.device, small, torch.device("cpu"), torch.float64)
run(aten._to_copy.default, small, dtype=torch.int64)
run(aten.to.other, small, half)
run(aten.type_as.default, i, small)
run(aten.copy.default, x, row)
run(aten.copy_.default, half, small)

run(aten.view.default, x, [2, -1])
run(aten.view.default, x, [4, 3, 2])
run(aten.view.default, one, [1, 1])
run(aten._unsafe_view.default, x, [6, 4])
run(aten.reshape.default, x, [-1])
run(aten.reshape.default, f(1), [])
run(aten.reshape.default, f(2, 0), [0, 4])
run(aten.view_as.default, x, f(6, 4))
run(aten.reshape_as.default, x, f(24))
run(aten.expand.default, col, [2, 3, 4])
run(aten.expand.default, col, [-1, 5])
run(aten.expand.default, one, [2])
run(aten.expand_as.default, row, x)
run(aten.flatten.using_ints, x)
run(aten.flatten.using_ints, x, 1)
run(aten.flatten.using_ints, x, 0, 1)
run(aten.flatten.using_ints, one)
run(aten.unflatten.int, x, 2, [2, 2])
run(aten.unflatten.int, x, -3, [1, -1])
for dim in (0, 2, -1, -4):
    run(aten.unsqueeze.default, x, dim)
run(aten.squeeze.default, f(1, 3, 1, 2))
run(aten.squeeze.dim, f(1, 3, 1), 0)
run(aten.squeeze.dim, f(1, 3, 1), 1)
run(aten.squeeze.dims, f(1, 3, 1, 1), [0, -1])
run(aten.permute.default, x, [2, 0, 1])
run(aten.permute.default, x, [0, -1, 1])
run(aten.transpose.int, x, 0, 2)
run(aten.transpose.int, x, -1, -2)
run(aten.t.default, small)
run(aten.t.default, row)
run(aten.numpy_T.default, small)
run(aten.movedim.int, x, 0, 2)
run(aten.movedim.int, x, -1, 0)
run(aten.slice.Tensor, x, 2, 0, 2)
run(aten.slice.Tensor, x, -1, 1, 9223372036854775807)
run(aten.slice.Tensor, x, 1, -2, -1)
run(aten.slice.Tensor, x, 2, 0, 4, 3)
run(aten.slice.Tensor, x)
run(aten.slice.Tensor, x, 0, 5, 7)
run(aten.slice.Tensor, x, 0, 1, 0)
run(aten.slice.Tensor, i, 1, None, -1)
run(aten.narrow.default, x, 2, 1, 2)
run(aten.narrow.default, x, -2, -2, 1)
for dim, index in ((0, 1), (-1, -2), (1, 0)):
    run(aten.select.int, x, dim, index)
run(aten.cat.default, [x, y])
run(aten.cat.default, [x, f(2, 1, 4), y], 1)
run(aten.cat.default, [f(0), x, f(0)], -1)
run(aten.cat.default, [f(0), f(0)])
run(aten.cat.default, [small, half], 0)
run(aten.cat.default, [i, small, m], 1)
run(aten.cat.default, [small, small], -1)
run(aten.concat.default, [i, n(1, 3)])
run(aten.stack.default, [small, positive])
run(aten.stack.default, [row, f(4), f(4)], -1)
run(aten.stack.default, [one, f()])
run(aten.split.Tensor, x, 3, 2)
run(aten.split.Tensor, x, 2)
run(aten.split.sizes, x, [1, 3], 2)
run(aten.split_with_sizes.default, x, [1, 2], -2)
run(aten.chunk.default, x, 3, 2)
run(aten.chunk.default, x, 2, -1)
run(aten.chunk.default, x, 5, 1)
run(aten.unbind.int, x)
run(aten.unbind.int, x, -1)
run(aten.repeat.default, small, [2, 1])
run(aten.repeat.default, small, [2, 1, 2])
run(aten.pad.default, small, [1, 2])
run(aten.pad.default, x, [1, 0, 0, 2], "constant", 1.5)
run(aten.pad.default, x, [-1, 0, 0, 1])
run(aten.pad.default, f(1, 2, 4), [1, 2], "reflect")
run(aten.pad.default, f(1, 2, 4, 3), [1, 1, 2, 0], "replicate")
run(aten.constant_pad_nd.default, i, [1, 1], 3)
run(aten.diff.default, i, 1, -1)
run(aten.diff.default, x, 1, 1, f(2, 1, 4))
run(aten.diff.default, i, 1, 1, n(2, 1), n(2, 2))
run(aten.diff.default, m, 1, 0)
run(aten.roll.default, x, [1, -1], [1, 2])
run(aten.roll.default, x, [5])
run(aten.flip.default, x, [0, 2])
big = f(3, 4, 5, 2)
run(aten.index.Tensor, x, [None, torch.tensor([0, 2])])
run(aten.index.Tensor, x, [torch.tensor([1]), None, torch.tensor([0, 3])])
run(aten.index.Tensor, x, [torch.tensor([[0, 1], [1, 0]]), torch.tensor([2, -1])])
run(aten.index.Tensor, big, [None, torch.tensor([[0], [3]]), torch.tensor([1, 4, 2])])
run(aten.index.Tensor, big, [torch.tensor([0, 2]), None, None, torch.tensor([1, 0])])
run(aten.index.Tensor, big, [None, torch.tensor([0, 2]), None, torch.tensor([1, 0])])
run(aten.index.Tensor, i, [torch.tensor(1)])
run(aten.index_select.default, x, 1, torch.tensor([2, 0, 0]))
run(aten.index_select.default, x, -1, torch.tensor(3))
run(aten.gather.default, x, 2, n(2, 3, 2, low=0, high=4))
run(aten.gather.default, x, 0, n(1, 2, 4, low=0, high=2))
for op in (aten.index_copy.default, aten.index_copy_.default):
    run(op, x, 1, torch.tensor([2, 0]), f(2, 2, 4))
    run(op, x, -1, torch.tensor([3]), f(2, 3, 1))
run(aten.embedding.default, f(5, 3), torch.tensor([[0, 4, 1]]))
run(aten.embedding.default, f(5, 3), torch.tensor(2), 0)

run(aten.linear.default, x, f(5, 4), f(5))
run(aten.linear.default, row, f(5, 4))
run(aten.linear.default, half, f(2, 3, dtype=torch.float16), None)
for p, q in ((f(2, 3), f(3, 4)), (f(3), f(3, 2)), (f(2, 3), f(3)), (f(3), f(3)), (f(2, 1, 2, 3), f(3, 3, 2)), (f(4, 2, 3), f(3, 2)), (f(2, 2, 3), f(3)),
             (f(3), f(2, 3, 4)), (f(2, 3, dtype=torch.bfloat16), f(3, 2, dtype=torch.bfloat16)), (n(2, 3), n(3, 2))):
    run(aten.matmul.default, p, q)
run(aten.mm.default, small, f(3, 2))
run(aten.bmm.default, x, f(2, 4, 2))
run(aten.mv.default, small, f(3))
run(aten.addmm.default, f(2), small, f(3, 2))
run(aten.addmm.default, f(2, 2), small, f(3, 2), beta=0.5, alpha=2)
run(aten.baddbmm.default, f(2, 1, 2), x, f(2, 4, 2), beta=1, alpha=0.5)
im = f(1, 4, 6, 5)
run(aten.conv2d.default, im, f(3, 4, 3, 3))
run(aten.conv2d.default, im, f(4, 2, 3, 2), f(4), [2, 1], [1, 0], [1, 2], 2)
run(aten.conv2d.default, im, f(8, 1, 3, 3), None, [2], [1], [1], 4)
run(aten.conv2d.default, f(4, 6, 5), f(2, 4, 1, 1), f(2))
run(aten.conv2d.padding, im, f(3, 4, 3, 2), f(3), [1, 1], "same")
run(aten.conv2d.padding, im, f(3, 4, 3, 3), None, [2, 1], "valid")
run(aten.conv1d.default, f(2, 3, 7), f(4, 3, 3), f(4), [2], [1])
run(aten.conv1d.padding, f(2, 3, 7), f(4, 3, 4), None, [1], "same", [2])
run(aten.conv3d.default, f(1, 2, 3, 4, 3), f(2, 2, 2, 2, 2), f(2), [1, 1, 1], [0, 1, 0])
run(aten.conv_transpose2d.input, f(1, 4, 3, 2), f(4, 2, 3, 3), f(2), [2, 1], [1, 0], [1, 0])
run(aten.conv_transpose2d.input, f(1, 4, 3, 2), f(4, 2, 2, 2), None, [2, 2], [0, 0], [0, 0], 2, [1, 2])
run(aten.conv_transpose1d.default, f(1, 4, 3), f(4, 2, 3), f(2), [2])
run(aten.max_pool2d.default, im, [2, 2])
run(aten.max_pool2d.default, im, [3], [2], [1])
run(aten.max_pool2d.default, im, [3, 2], [2, 2], [1, 1], [1, 2], True)
run(aten.max_pool2d.default, f(1, 1, 5, 5) - 9, [2, 2], [3, 3], [1, 1], [1, 1], True)
run(aten.max_pool1d.default, f(1, 2, 7), [3], [2], [1])
run(aten.avg_pool2d.default, im, [2, 2])
run(aten.avg_pool2d.default, im, [3, 3], [2, 2], [1, 1], False, False)
run(aten.avg_pool2d.default, im, [3, 3], [2, 2], [1, 1], True, True)
run(aten.avg_pool2d.default, im, [3, 2], [2, 2], [1, 0], True, False, 4)
run(aten.avg_pool1d.default, f(1, 2, 7), [3], [2], [1])
for size in ([1, 1], [2, 3], [4, 5], [3, 2]):
    run(aten.adaptive_avg_pool2d.default, im, size)
run(aten.adaptive_avg_pool1d.default, f(1, 2, 7), [3])
run(aten.upsample_nearest2d.vec, im, [9, 7], None)
run(aten.upsample_nearest2d.vec, im, None, [2.0, 1.5])
run(aten.upsample_nearest2d.default, im, [12, 10], 2.0, 2.0)
run(aten.upsample_bilinear2d.vec, im, [9, 7], False, None)
run(aten.upsample_bilinear2d.vec, im, [9, 7], True, None)
run(aten.upsample_bilinear2d.vec, im, None, False, [2.0, 2.0])
run(aten.upsample_bilinear2d.default, im, [3, 4], False)
run(aten.pixel_shuffle.default, f(1, 8, 2, 3), 2)
mean, var = f(4), f(4).abs() + 0.5
run(aten.batch_norm.default, im, f(4), f(4), mean, var, False, 0.1, 1e-5, False)
run(aten.batch_norm.default, f(3, 4), f(4), f(4), mean, var, False, 0.1, 1e-3, True)
run(aten.batch_norm.default, im, None, None, mean, var, False, 0.1, 1e-5, False)
run(aten.instance_norm.default, im, f(4), f(4), None, None, True, 0.1, 1e-5, False)
run(aten.instance_norm.default, im, None, None, None, None, True, 0.1, 1e-5, False)
run(aten.layer_norm.default, x, [4], row, f(4))
run(aten.layer_norm.default, x, [3, 4], f(3, 4), f(3, 4), 1e-3)
run(aten.layer_norm.default, x, [4])
run(aten.layer_norm.default, x, [4], row)
run(aten.rms_norm.default, x, [4], row, 1e-6)
run(aten.rms_norm.default, x, [4])
run(aten.group_norm.default, im, 2, f(4), f(4))
run(aten.group_norm.default, f(2, 4, 3), 4)
q, k, v = f(1, 2, 3, 4), f(1, 2, 5, 4), f(1, 2, 5, 3)
sdpa = aten.scaled_dot_product_attention.default
run(sdpa, q, k, v)
run(sdpa, q, k, v, f(3, 5), 0.0, False)
run(sdpa, q, k, v, b(1, 1, 3, 5) | torch.eye(3, 5).bool(), 0.0, False, scale=0.25)
run(sdpa, q, f(1, 2, 3, 4), f(1, 2, 3, 4), None, 0.0, True)
run(sdpa, f(1, 4, 3, 4), k, f(1, 2, 5, 4), None, 0.0, False, enable_gqa=True)

run(aten.full.default, [2, 3], 1.5)
run(aten.full.default, [2], 7, dtype=torch.int32, device=torch.device("cpu"), pin_memory=False)
run(aten.full.default, [2], 7)
run(aten.full.default, [], float("-inf"))
run(aten.full.default, [1], True)
run(aten.ones.default, [2, 3])
run(aten.ones.default, [2], dtype=torch.bool)
run(aten.zeros.default, [3], dtype=torch.int64)
run(aten.full_like.default, i, 3)
run(aten.full_like.default, small, -1.25, dtype=torch.float16)
run(aten.ones_like.default, i)
run(aten.zeros_like.default, small, dtype=torch.bool)
run(aten.new_full.default, half, [2], 0.5)
run(aten.new_ones.default, i, [2, 2])
run(aten.new_zeros.default, i, [3], dtype=torch.float32)
run(aten.fill.Scalar, small, 2)
run(aten.scalar_tensor.default, -3.5)
run(aten.scalar_tensor.default, 4, dtype=torch.int64)
run(aten.arange.default, 5)
run(aten.arange.default, 2.5)
run(aten.arange.default, 4, dtype=torch.float32)
run(aten.arange.start, -2, 3)
run(aten.arange.start, 1.5, 4)
run(aten.arange.start_step, 0, 10, 3)
run(aten.arange.start_step, 5, 0, -2)
run(aten.arange.start_step, 0, 1, 0.25)
run(aten.arange.start_step, 0, 8, 2, dtype=torch.int64)
run(aten._assert_tensor_metadata.default, small, None, None, torch.float32)
run(aten.repeat_interleave.self_int, small, 2)
run(aten.repeat_interleave.self_int, small, 3, -1)
run(aten.repeat_interleave.self_int, i, 2, 0, output_size=2 * i.shape[0])
run(aten.native_layer_norm.default, x, [4], row, f(4), 1e-5)
run(aten.native_layer_norm.default, x, [3, 4], None, None, 1e-3)
run(aten.native_batch_norm.default, im, f(4), f(4), mean, var, False, 0.1, 1e-5)
run(aten._native_batch_norm_legit_no_training.default, im, None, None, mean, var, 0.1, 1e-3)
run(aten.convolution.default, im, f(2, 4, 3, 3), f(2), [2, 1], [1, 1], [1, 1], False, [0, 0], 1)
run(aten.convolution.default, f(1, 4, 9), f(4, 2, 3), None, [1], [0], [2], False, [0], 2)
run(aten.convolution.default, im, f(4, 3, 2, 2), f(3), [2, 2], [0, 0], [1, 1], True, [1, 0], 1)
tied = torch.tensor([[3.0, 1.0, 3.0, 1.5, -2.0], [9.0, float("nan"), 6.0, float("-inf"), 6.0]])
run(aten.sort.default, tied, 0)
run(aten.sort.default, n(7, 3), 0, True)
run(aten.sort.default, f(5))
run(aten.argsort.default, f(2, 7, scale=64), 1)
run(aten.argsort.default, f(3, 5, dtype=torch.float16, scale=64), -2, True)
run(aten.scatter.src, f(3, 4), 1, torch.tensor([[3, 0], [1, 2]]), f(2, 3))
run(aten.scatter.src, i, 0, torch.tensor([[1, 0, 1]]), n(1, 3))
run(aten.scatter.value, f(3, 4), 0, torch.tensor([[2, 0, 1, 2]]), 7.5)
run(aten.masked_scatter.default, f(2, 3), torch.tensor([True, False, True]), f(5))
run(aten.masked_scatter.default, f(3), b(2, 3), f(2, 3))
run(aten.max_pool2d.default, f(1, 2, 7, 9), [2, 3], [1, 2], [1, 1], [3, 2])
run(aten.max_pool2d.default, f(2, 6, 6), [2, 2], [1, 1], [0, 0], [2, 2], True)
for op in (aten.index_put.default, aten.index_put_.default):
    run(op, x, [None, torch.tensor([2, 0])], f(2, 2, 4))
    run(op, x, [None, None, torch.tensor([3, -4])], f(3, 2))
run(aten.index_put.default, x, [torch.tensor([1])], f(1), False)
run(aten.index_put.default, x, [torch.tensor([1, 0]), None, torch.tensor([0, 3])], f(2, 3))
run(aten.index_put.default, big, [None, torch.tensor([[0], [3]]), torch.tensor([1, 4, 2])], f(2, 3, 2))
run(aten.index_put.default, i, [torch.tensor(1)], n(1))
run(aten.slice_scatter.default, x, f(2, 2, 4), 1, 1, 3)
run(aten.slice_scatter.default, x, f(2, 3, 2), -1, -4, 9223372036854775807, 2)
run(aten.slice_scatter.default, x, f(1, 3, 4), 0, 1)
run(aten.slice_scatter.default, x, f(2, 3, 4))
run(aten.scatter_.src, f(3, 4), 1, torch.tensor([[3, 0], [1, 2]]), f(2, 3))
run(aten.scatter.src, x, 1, torch.tensor([2, 0]).view(1, 2, 1).expand(2, 2, 4), f(2, 2, 4))
for dim in (0, 1, 2, -1, -2):
    run(aten._weight_norm.default, x, torch.norm_except_dim(y, 2, dim), dim)
run(aten._weight_norm.default, f(4, 3, 2, 2), f(4, 1, 1, 1))
run(aten._weight_norm.default, half, f(1, 3, dtype=torch.float16), 1)
run(aten._weight_norm.default, torch.tensor([[3.0, 4.0], [0.0, 0.0]]), torch.tensor([[2.0], [1.0]]), 0)

# Rows whose mask leaves nothing: softmax has NaN there, attention 0, and a mask of the lowest number the mean.
nothing = float("-inf")
see = torch.tensor([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1]]).bool()
dark = torch.zeros(3, 5).masked_fill(~see, nothing)
for name in "softmax.int log_softmax.int _softmax.default _safe_softmax.default".split():
    base, overload = name.split(".")
    op = getattr(getattr(aten, base), overload)
    run(op, dark + f(3, 5), -1, *([False] if base == "_softmax" else []))
    run(op, (dark + f(3, 5)).t().contiguous(), 0, *([False] if base == "_softmax" else []))
run(sdpa, q, k, v, see)
run(sdpa, q, k, v, dark)
run(sdpa, q, k, v, torch.zeros(3, 5).masked_fill(~see, torch.finfo(torch.float32).min))
run(sdpa, q, k, v, torch.zeros(3, 5).masked_fill(~see, -1000.0))
run(sdpa, q, k, v, see[1:2])
run(sdpa, q, k, v, dark.view(1, 1, 3, 5) + f(1, 2, 3, 5))
wide = f(1, 4, 3, 4)
run(sdpa, wide, k, v, see, 0.0, False, enable_gqa=True)
run(sdpa, wide, k, v, dark, 0.0, False, enable_gqa=True)
run(sdpa, wide, k, v, torch.stack([see, ~see, see, see.flip(0)]).view(1, 4, 3, 5), 0.0, False, enable_gqa=True)
run(sdpa, wide, k, v, dark[1:2], 0.0, False, enable_gqa=True)
run(sdpa, q[0], k[0], v[0], see.view(1, 3, 5), 0.0, False)


def compact(value):
    return json.dumps(value, separators=(",", ":"))


# One case a line: each node, tensor and constant.
parts = []
for key, value in graph.items():
    if isinstance(value, list) and value:
        text = "[\n%s\n]" % ",\n".join(map(compact, value))
    elif isinstance(value, dict) and value:
        text = "{\n%s\n}" % ",\n".join("%s:%s" % (compact(name), compact(item)) for name, item in value.items())
    else:
        text = compact(value)
    parts.append("%s:%s" % (compact(key), text))
sys.stdout.write("{\n%s\n}" % ",\n".join(parts))
sys.stdout.write("\n")
