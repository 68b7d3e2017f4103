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
