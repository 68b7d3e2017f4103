"""The cases of tests/data/ir/elem.json, operators on each element: see tests/ir/record_ir.py, which has f(), n(), b() and run()."""
# pylint: disable=undefined-variable
small, other, row, col, one = f(2, 3), f(2, 3), f(3), f(2, 1), f()
i, j, half = n(2, 3), n(3), f(2, 3, dtype=torch.float16)
unit = f(2, 3) / 4

# One operand.
for name in "tan atan sinh cosh asinh exp2 expm1 erfc sinc deg2rad rad2deg log_sigmoid selu celu hardshrink softshrink frac sgn".split():
    run(getattr(aten, name).default, small)
for name in "asin acos atanh erfinv".split():
    run(getattr(aten, name).default, unit)
for name in "log10 log1p acosh lgamma".split():
    run(getattr(aten, name).default, small.abs() + 1.25)
for name in "tan expm1 log1p sgn isfinite isposinf isneginf erf deg2rad".split():
    run(getattr(aten, name).default, i.abs() + 1)
run(aten.log1p.default, torch.tensor([1e-2, -3e-3, 1e-3, 2e-4]))
run(aten.expm1.default, torch.tensor([1e-2, -3e-3, 1e-3, 2e-4]))
run(aten.nan_to_num.default, i)
run(aten.square.default, b(2, 3))
run(aten.prelu.default, one, f(1))
run(aten.logit.default, unit.abs() + 0.125)
run(aten.celu.default, small, 2.0)
run(aten.hardshrink.default, small, 1.0)
run(aten.softshrink.default, small, 1.0)
run(aten.threshold.default, small, 0.5, -1.0)
run(aten.threshold.default, i, 1, 9)
run(aten.round.decimals, small, decimals=1)
run(aten.round.decimals, small * 100, decimals=-1)
for shape in ([2, 3], [2, 3, 4], [3]):
    run(aten.prelu.default, f(*shape), f(1))
    if len(shape) > 1:
        run(aten.prelu.default, f(*shape), f(shape[1]))
run(aten._prelu_kernel.default, f(2, 3, 2, 2), f(1, 3, 1, 1))

# Two and three.
pairs = [(small, other), (small, row), (col, small), (row, one), (i, small), (half, small)]
for p, q in pairs:
    for op in (aten.atan2.default, aten.fmod.Tensor, aten.xlogy.Tensor, aten.copysign.Tensor):
        run(op, p, q.abs() + 0.5 if op is aten.xlogy.Tensor else q + 0.03125 if op is aten.fmod.Tensor else q)
for p, q in pairs[:4]:
    for op in (aten.hypot.default, aten.logaddexp.default, aten.fmax.default, aten.fmin.default, aten.heaviside.default):
        run(op, p, q)
run(aten.atan2.default, i, j)
run(aten.xlogy.Tensor, i, j.abs() + 1)
run(aten.xlogy.Scalar_Other, small, 2)
run(aten.xlogy.Scalar_Self, 2.5, small.abs() + 0.25)
run(aten.copysign.Scalar, small, -1)
run(aten.copysign.Tensor, i, j)
run(aten.fmod.Tensor, n(2, 3), n(3).abs() + 2)
run(aten.fmod.Scalar, i, 3)
run(aten.fmod.Scalar, small, -1.25)
run(aten.fmax.default, i, j)
run(aten.remainder.Scalar_Tensor, 7, n(3).abs() + 2)
run(aten.div.Scalar_mode, i, 2, rounding_mode="floor")
run(aten.div.Scalar_mode, small, 0.75, rounding_mode="trunc")
run(aten.floor_divide.Scalar, i, 3)
run(aten.lerp.Scalar, small, other, 0.25)
run(aten.lerp.Scalar, small, row, 1.5)
run(aten.lerp.Tensor, small, other, f(2, 1))
for op in (aten.addcmul.default, aten.addcdiv.default):
    run(op, small, other, row.abs() + 0.5)
    run(op, col, row, other.abs() + 0.5, value=0.5)
    run(op, f(2, 1, 4), f(3, 1), f(2, 1, 1).abs() + 0.5, value=-2)
run(aten.addcmul.default, i, j, n(2, 1), value=3)
run(aten.clamp.Tensor, small, row, row + 1)
run(aten.clamp.Tensor, small, None, row)
run(aten.clamp.Tensor, col, row, None)
run(aten.clamp.Tensor, i, j, j + 2)
run(aten.clamp.Tensor, i, small, small + 1)
run(aten.clamp_min.Tensor, small, row)
run(aten.clamp_max.Tensor, i, n())

# Bits, and operators that write their input.
for name in "__xor__ bitwise_and bitwise_or bitwise_xor __lshift__ __rshift__".split():
    run(getattr(aten, name).Scalar, i, 3)
for name in "__lshift__ __rshift__ bitwise_left_shift bitwise_right_shift".split():
    run(getattr(aten, name).Tensor, i, j.abs())
for name in "bitwise_left_shift bitwise_right_shift".split():
    run(getattr(aten, name).Tensor_Scalar, n(2, 3, dtype=torch.int32), 2)
for name in "neg_ exp_ log1p_ celu_ elu_ sqrt_".split():
    run(getattr(aten, name).default, small.abs())
run(aten.addcmul_.default, small, other, row)
run(aten.lerp_.Scalar, small, other, 0.25)
run(aten.pow_.Scalar, small, 2)
run(aten.fill_.Scalar, small, 2)
run(aten.fill_.Tensor, small, one)
run(aten.zero_.default, i)
run(aten.fill.Tensor, i, torch.tensor(3))
run(aten.zero.default, small)

# Over dimensions.
cube = f(2, 3, 4)
for name in "var std var_mean std_mean".split():
    packet = getattr(aten, name)
    run(packet.default, cube)
    run(packet.default, cube, False)
    run(packet.dim, cube, [1], True, True)
    run(packet.dim, cube, [0, -1], False)
    run(packet.correction, cube, [-1], correction=0)
    run(packet.correction, cube, None, correction=2, keepdim=True)
    run(packet.correction, half, [1])
for dim in ([0], [-1], [0, 2]):
    run(aten.logsumexp.default, cube, dim)
    run(aten.logsumexp.default, cube, dim, True)
run(aten.logsumexp.default, i, [1])
run(aten.any.dims, b(2, 3, 2), [0, 2])
run(aten.all.dims, b(2, 3, 2), [1, -1], True)
for shape in ([5, 1], [2, 3, 4]):
    run(aten.all.default, f(*shape).abs() + 1)
    run(aten.any.default, torch.zeros(shape))
run(aten.fill.Tensor, small, one)
run(aten.clamp.default, n(2, 3, dtype=torch.int16), None, 2)
far = torch.tensor([[-200.0, 0.5, 100.0], [-95.0, 88.0, -1.0]])
for op in (aten.log_sigmoid.default, aten.silu.default, aten.sigmoid.default, aten.softplus.default, aten.selu.default, aten.mish.default, aten.erfc.default):
    run(op, far)
run(aten.logaddexp.default, far, far.flip(1))
run(aten.logsumexp.default, far, [1])
run(aten.pow.Scalar, 2, -far.abs())
run(aten.pow.Scalar, 0.5, far.abs())
for dim in (0, 1, -1):
    run(aten.glu.default, f(2, 4, 6), dim)
run(aten.glu.default, f(1, 4, 3, 2), 1)
