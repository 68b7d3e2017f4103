"""The cases of tests/data/ir/net.json, layers: see tests/ir/record_ir.py, which has f(), n(), b() and run()."""
# pylint: disable=undefined-variable
im, film = f(1, 4, 6, 5), f(1, 2, 3, 4, 5)

# Convolutions over three dimensions: groups, strides, dilation, padding in each; without a batch.
run(aten.conv3d.default, film, f(3, 2, 2, 3, 2), f(3), [1, 2, 1], [1, 1, 0], [2, 1, 1])
run(aten.conv3d.default, film, f(4, 1, 3, 1, 1), None, [2, 1, 2], [1, 0, 0], [1, 1, 1], 2)
run(aten.conv3d.default, f(2, 4, 2, 2, 3), f(4, 2, 1, 2, 2), f(4), [1], [0], [1], 2)
run(aten.conv3d.default, f(2, 3, 4, 3), f(3, 2, 3, 3, 3), f(3), [1], [1])
run(aten.conv3d.default, f(3, 2, 3, 3, 3), f(2, 2, 1, 1, 1), f(2))
run(aten.conv3d.padding, film, f(2, 2, 3, 2, 3), f(2), [1, 1, 1], "same")
run(aten.conv3d.padding, film, f(2, 2, 2, 2, 2), None, [2, 1, 1], "valid")
run(aten.conv3d.default, film, f(4, 1, 2, 2, 1), f(4), [1, 1, 1], [1, 0, 1], [1, 2, 1], 2)
