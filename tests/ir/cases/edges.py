"""The cases of tests/data/ir/edges.json: NaN, infinity and numbers near 0, which only the evaluator has as torch does; see tests/ir/record_ir.py."""
# pylint: disable=undefined-variable
inf, nan = float("inf"), float("nan")
edge = torch.tensor([nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -7.0, 1e-5])
many = "tan atan sinh cosh asinh exp2 expm1 erfc sinc deg2rad rad2deg log_sigmoid selu celu hardshrink softshrink frac sgn asin acos atanh erfinv log10 log1p " \
        "acosh lgamma logical_not isnan isinf isfinite isposinf isneginf nan_to_num relu silu sign sigmoid hardtanh elu softplus mish relu6 log2 erf"
for name in many.split():
    run(getattr(aten, name).default, edge)
run(aten.nan_to_num.default, edge, 1.5, 3.0, -2.0)
run(aten.nan_to_num.default, edge.half())
run(aten.logit.default, edge, 0.125)
for op in (aten.atan2.default, aten.hypot.default, aten.logaddexp.default, aten.fmax.default, aten.fmin.default, aten.heaviside.default, aten.copysign.Tensor,
           aten.xlogy.Tensor, aten.maximum.default, aten.minimum.default, aten.logical_and.default, aten.logical_or.default, aten.logical_xor.default,
           aten.eq.Tensor, aten.ne.Tensor, aten.lt.Tensor, aten.ge.Tensor, aten.floor_divide.default, aten.fmod.Tensor, aten.remainder.Tensor):
    run(op, edge, edge.flip(0))
run(aten.floor_divide.default, torch.tensor([1.0, -1.0, 0.3, 7.5]), torch.tensor([0.1, 0.1, 0.1, -0.5]))
run(aten.logsumexp.default, torch.tensor([[-inf, -inf], [-inf, 1.0], [inf, 1.0], [nan, 1.0], [1e4, 1e4]]), [1])
run(aten.div.Tensor_mode, edge, 2.0, rounding_mode="floor")
run(aten.div.Tensor_mode, edge, 2.0, rounding_mode="trunc")
byte = torch.tensor([1, 200, 7], dtype=torch.uint8)
run(aten.floor_divide.Scalar, byte, -1)
run(aten.max.other, byte, torch.tensor(-3))
run(aten.cos.default, torch.tensor([151515594, -58479088], dtype=torch.int32))
run(aten.any.dims, edge, [0])
