"""The cases of tests/data/ir/random.json, which random programs found: see tests/ir/record_ir.py, which has f(), n(), b() and run()."""
# pylint: disable=undefined-variable
x, i, m = f(2, 3), n(2, 3), b(2, 3)
fractions = torch.tensor([[0.625, 0.5, -1.75], [2.5, -0.5, 1.625]])

# Elements become integers before they are added.
run(aten.sum.default, fractions, dtype=torch.int64)
run(aten.sum.dim_IntList, fractions, [0], dtype=torch.int32)
run(aten.prod.dim_int, fractions, -1, dtype=torch.int64)
run(aten.cumsum.default, fractions, 1, dtype=torch.int64)
run(aten.cumprod.default, fractions, 0, dtype=torch.int32)
# The same for the arguments of arange.
run(aten.arange.start_step, 4.5, 13.5, 1.5, dtype=torch.int64)
run(aten.arange.start_step, 1.5, -0.5, -0.5, dtype=torch.int32)
# A bool of a number that is not 0 is true.
run(aten.full.default, [2], 0.5, dtype=torch.bool)
run(aten.full_like.default, m, -0.25)
run(aten.new_full.default, m, [3], 0.5)
run(aten.fill.Scalar, m, 0.25)
run(aten.masked_fill.Scalar, m, b(2, 3), 0.5)
run(aten.scatter.value, m, 0, torch.tensor([[1]]), 0.1)
run(aten.scalar_tensor.default, 0.5, dtype=torch.bool)
# alpha belongs to the input.
run(aten.rsub.Scalar, x, -0.5, 2)
run(aten.rsub.Scalar, i, 3, 2)
run(aten.rsub.Tensor, x, f(3), alpha=-3)
run(aten.rsub.Tensor, i, x, alpha=7)
run(aten.linalg_vector_norm.default, x, float("-inf"), [1])
run(aten.elu.default, x, 1, -0.5, -1.0)
run(aten.elu.default, x, 2, 0.5, 0.25)
# Angles of integers that are no positions.
run(aten.sin.default, n(3, low=-9, high=0))
run(aten.cos.default, n(3, low=-9, high=0, dtype=torch.int8))
# An axis of 1.
run(aten.log_softmax.int, f(3, 1), 1)
run(aten.log_softmax.int, f(), 0)
run(aten.softmax.int, f(2, 1, 3), -2)
# Numbers have the dtype of the operands: they wrap, or are rounded; limits do not wrap.
u, halves = torch.tensor([0, 1, 3, 254], dtype=torch.uint8), torch.tensor([0.1, 0.2], dtype=torch.float16)
run(aten.gt.Scalar, u, -2)
run(aten.eq.Scalar, u, -2)
run(aten.le.Scalar, u, 300)
run(aten.eq.Scalar, halves, 0.1)
run(aten.ge.Tensor, torch.tensor([0.1, 0.2]), torch.tensor(0.1, dtype=torch.float64))
run(aten.clamp.default, u, -2, 3)
run(aten.clamp_max.default, u, 300)
run(aten.hardtanh.default, u)
run(aten.threshold.default, torch.tensor([-4, -2, -3, 7], dtype=torch.int8), -2.5, 2.0)
run(aten.linspace.default, -3, 1, 3, dtype=torch.uint8)
run(aten.logspace.default, 0.5, 3, 3, dtype=torch.int16)
# Bools: each element before it is added; a factor that is not 0 is true.
run(aten.sum.default, torch.tensor([0.5, 0.25]), dtype=torch.bool)
run(aten.prod.dim_int, torch.tensor([[0.5, 0.25], [0.5, 0.0]]), 1, dtype=torch.bool)
run(aten.index_add.default, torch.tensor([True, False, True]), 0, torch.tensor([1, 2]), torch.tensor([True, True]), alpha=-1)
run(aten.index_add.default, torch.tensor([True, False]), 0, torch.tensor([1]), torch.tensor([True]), alpha=0.1)
run(aten.any.dim, torch.tensor([[0, 3], [0, 0]], dtype=torch.uint8), 1)
run(aten.all.default, u)
# What a factor of 0 belongs to is not read.
nan = torch.tensor([[math.nan, 1.0]])
run(aten.addmm.default, f(1, 2), nan[:, :1].clone(), f(1, 2), alpha=0)
run(aten.addmm.default, nan, f(1, 3), f(3, 2), beta=0)
run(aten.baddbmm.default, nan[None], f(2, 1, 3), f(2, 3, 2), beta=0, alpha=0.5)
# Windows that begin inside of the picture, and end far outside of it.
p = f(1, 1, 2, 2)
run(aten.max_pool2d.default, p, [3, 3], [3, 3], [0, 0], [1, 1], True)
run(aten.max_pool2d_with_indices.default, p, [3, 3], [2, 2], [1, 1], [2, 2], True)
run(aten.avg_pool2d.default, p, [3, 3], [3, 3], [0, 0], True, False)
run(aten.avg_pool1d.default, p[0], [3], [2], [0], True, True)
run(aten.elu.default, torch.tensor([-1.0, math.inf, 0.5]), 2, 3.0, 3)
run(aten.bincount.default, torch.tensor([0, 2, 2], dtype=torch.uint8), f(3), 4)
# 0 to a negative power.
run(aten.pow.Tensor_Tensor, torch.tensor([-1, 0, 2, 0]), torch.tensor([-6, -1, -3, 0]))
run(aten.pow.Scalar, 0, torch.tensor([-2, 0, 3]))
# Windows that lie beside the picture; fractions that become integers; a number that wraps.
run(aten.max_pool1d_with_indices.default, f(1, 1, 1), [3], [], [1], [2], True)
run(aten.scatter.value_reduce, torch.tensor([[-3, 5]]), 1, torch.tensor([[0]]), -0.5, reduce="multiply")
run(aten.scatter.value_reduce, torch.tensor([[-3, 5]]), 1, torch.tensor([[1]]), -2.5, reduce="add")
run(aten.lt.Tensor, u, torch.tensor(-98, dtype=torch.int8))
