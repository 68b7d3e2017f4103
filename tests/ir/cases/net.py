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

# Transposed convolutions over three dimensions.
run(aten.conv_transpose3d.input, f(1, 2, 2, 3, 2), f(2, 3, 2, 3, 2), f(3), [2, 1, 2], [1, 1, 0], [1, 0, 0])
run(aten.conv_transpose3d.input, f(1, 4, 2, 2, 2), f(4, 1, 2, 2, 2), None, [1, 2, 1], [0, 0, 0], [0, 0, 0], 2, [2, 1, 1])
run(aten.conv_transpose3d.input, f(2, 2, 3, 3), f(2, 2, 2, 2, 2), None, [2, 2, 2])

# Pools: three dimensions, places of the largest, adaptive ones.
run(aten.max_pool3d.default, film, [2, 2, 3], [1, 2, 1], [1, 1, 1], [1, 1, 2], True)
run(aten.max_pool3d.default, film, [2], [2])
run(aten.max_pool3d.default, f(3, 3, 4, 3), [1, 2, 2])
run(aten.max_pool2d_with_indices.default, im, [3, 2], [2, 1], [1, 1], [1, 2])
run(aten.max_pool2d_with_indices.default, torch.tensor([[[2.0, 2.0, float("nan"), 1.0], [float("-inf")] * 4, [float("-inf")] * 4]]), [2, 2], [1, 2])
run(aten.max_pool3d_with_indices.default, film, [2, 2, 2], [1, 2, 2])
run(aten.max_pool1d_with_indices.default, f(2, 7), [3], [2], [1])
run(aten.max_pool2d.default, n(1, 2, 5, 4), [2, 2], [2, 1])
run(aten.avg_pool3d.default, film, [2, 2, 2], [1, 2, 2], [1, 0, 1], False, True)
run(aten.avg_pool3d.default, film, [3, 2, 2], [2, 2, 2], [1, 1, 0], True, False)
run(aten.avg_pool3d.default, film, [3, 3, 3], [2, 2, 2], [1, 1, 1], True, True, 5)
run(aten.avg_pool3d.default, f(2, 3, 4, 3), [2, 2, 1])
run(aten.adaptive_avg_pool3d.default, film, [2, 3, 1])
run(aten.adaptive_avg_pool3d.default, film, [1, 1, 1])
run(aten._adaptive_avg_pool3d.default, film, [3, 2, 4])
run(aten._adaptive_avg_pool2d.default, im, [4, 3])
run(aten.adaptive_max_pool1d.default, f(2, 3, 7), [3])
run(aten.adaptive_max_pool2d.default, im, [2, 5])
run(aten.adaptive_max_pool2d.default, im, [4, 2])
run(aten.adaptive_max_pool3d.default, film, [2, 3, 2])
run(aten.adaptive_max_pool3d.default, film, [1, 2, 5])

# Resizing: sizes, factors, corners; float16; one row.
line, four, film2 = f(2, 3, 7), f(1, 2, 4, 4), f(1, 1, 2, 3, 3)
small_im = f(1, 2, 4, 3)
for name, x0, corners in (("upsample_nearest1d", line, 0), ("upsample_nearest2d", small_im, 0), ("upsample_nearest3d", film2, 0),
                          ("_upsample_nearest_exact1d", line, 0), ("_upsample_nearest_exact2d", small_im, 0), ("_upsample_nearest_exact3d", film2, 0),
                          ("upsample_linear1d", line, 1), ("upsample_bilinear2d", small_im, 1), ("upsample_trilinear3d", film2, 1),
                          ("upsample_bicubic2d", small_im, 1), ("_upsample_bilinear2d_aa", small_im, 1), ("_upsample_bicubic2d_aa", small_im, 1)):
    spatial = x0.ndim - 2
    for corner in ([False, True] if corners else [None]):
        more = [] if corner is None else [corner]
        run(getattr(aten, name).vec, x0, [7, 2, 3][:spatial], *more, None)
        run(getattr(aten, name).vec, x0, None, *more, [1.7, 0.7, 1.0][:spatial])
        run(getattr(aten, name).default, x0, [2, 5, 3][:spatial], *more)
    run(getattr(aten, name).default, x0, [5, 4, 6][:spatial], *([False] if corners else []), *[2.0, 2.0, 2.5][:spatial])
run(aten.upsample_nearest2d.vec, n(1, 2, 3, 2, low=0, dtype=torch.uint8), [7, 5], None)
run(aten.upsample_bilinear2d.vec, im.to(torch.float16), [7, 5], False, None)
run(aten.upsample_bicubic2d.vec, four, [1, 9], False, None)
run(aten.upsample_bicubic2d.vec, f(1, 1, 1, 2), [3, 5], True, None)
run(aten._upsample_bilinear2d_aa.vec, four, [1, 2], False, None)

# Sampling at places, some of them outside.
places = f(1, 3, 4, 2) * 0.5 + 0.01
for mode in (0, 1, 2):
    for padding in (0, 1, 2):
        run(aten.grid_sampler.default, im, places, mode, padding, bool((mode + padding) % 2))
run(aten.grid_sampler_2d.default, f(2, 3, 4, 5), f(2, 2, 3, 2) * 0.4, 0, 0, True)
run(aten.grid_sampler_2d.default, f(1, 1, 1, 3), f(1, 2, 3, 2), 0, 2, True)
run(aten.grid_sampler_2d.default, im, torch.tensor([[[[float("nan"), 0.0], [float("inf"), 0.5], [-1e30, 1e30], [1.0, -1.0]]]]), 0, 0, False)
for mode in (0, 1):
    for padding in (0, 1, 2):
        run(aten.grid_sampler_3d.default, film, f(1, 2, 2, 3, 3) * 0.5 + 0.01, mode, padding, bool(padding % 2))

# Regions of images, moved windows.
import torchvision  # noqa: E402  pylint: disable=wrong-import-position
boxes = torch.tensor([[0, 0.0, 0.0, 4.0, 5.5], [1, 1.0, 2.0, 9.0, 7.0], [0, -3.0, -2.0, 1.5, 1.0], [1, 3.0, 3.0, 3.1, 3.1]])
two = f(2, 3, 6, 5)
for ratio, aligned in ((2, True), (2, False), (0, True), (0, False), (1, True)):
    run(torch.ops.torchvision.roi_align.default, two, boxes, 0.75, 2, 3, ratio, aligned)
run(torch.ops.torchvision.roi_pool.default, two, boxes, 0.75, 2, 3)
moved = torch.ops.torchvision.deform_conv2d.default
run(moved, im, f(4, 4, 3, 3), f(1, 18, 6, 5) * 0.5, f(1, 9, 6, 5).abs(), f(4), 1, 1, 1, 1, 1, 1, 1, 1, True)
run(moved, two, f(2, 3, 2, 2), f(2, 8, 3, 2), torch.zeros(2, 1), torch.zeros(2), 2, 2, 1, 0, 2, 1, 1, 1, False)
run(moved, im, f(2, 2, 3, 2), f(1, 24, 4, 6), f(1, 12, 4, 6), f(2), 1, 1, 0, 1, 1, 1, 2, 2, True)

# Windows as columns and back; blocks of channels.
run(aten.im2col.default, im, [2, 3], [1, 1], [0, 0], [1, 2])
run(aten.im2col.default, im, [2, 2], [2, 1], [1, 1], [2, 1])
run(aten.im2col.default, f(2, 4, 4), [2, 2], [1, 1], [0, 0], [2, 2])
run(aten.im2col.default, f(2, 3, 4, 6), [2, 3], [1, 1], [0, 0], [2, 3])
run(aten.col2im.default, f(2, 8, 6), [4, 6], [2, 2], [1, 1], [0, 0], [2, 2])
run(aten.col2im.default, f(1, 12, 24), [5, 6], [2, 3], [1, 1], [0, 1], [1, 1])
run(aten.col2im.default, f(8, 9), [4, 3], [2, 2], [1, 2], [1, 1], [2, 1])
run(aten.pixel_unshuffle.default, f(1, 2, 4, 6), 2)
run(aten.pixel_unshuffle.default, f(2, 3, 6), 3)
run(aten.pixel_shuffle.default, f(2, 1, 4, 2, 3), 2)
run(aten.pixel_shuffle.default, n(9, 2, 2), 3)
run(aten.channel_shuffle.default, f(1, 6, 2, 3), 2)
run(aten.channel_shuffle.default, f(2, 6, 2, 3), 3)
run(aten.native_channel_shuffle.default, f(1, 4, 3), 2)
run(aten.native_group_norm.default, im, f(4), f(4), 1, 4, 30, 2, 1e-5)
run(aten.native_group_norm.default, f(2, 4, 3), None, None, 2, 4, 3, 4, 1e-3)
run(aten.batch_norm.default, film, f(2), f(2), f(2), f(2).abs() + 0.5, False, 0.1, 1e-5, False)

# einsum: products, sums, diagonals, dimensions of "...", sizes of 1, outer products, no arrow, sizes of 0.
x, y, z, w = f(2, 3, 4), f(2, 4, 5), f(3, 3), f(1, 4)
for equation, operands in (
        ("bij,bjk->bik", [x, y]), ("ij,kj->ik", [f(3, 4), f(5, 4)]), ("bij, bjk", [x, y]), ("b...j,bjk->...kb", [f(2, 3, 1, 4), y]),
        ("ii->i", [z]), ("ii", [z]), ("iji->ji", [f(3, 2, 3)]), ("i,j->ij", [f(3), f(4)]), ("ba", [f(2, 3)]), ("bhqd,bhkd->bhqk", [f(2, 2, 3, 4), f(2, 2, 5, 4)]),
        ("...i,...i->...", [f(2, 3, 4), f(3, 4)]), ("...ij->...ji", [x]), ("bij,ij->", [x, w.expand(3, 4)]), ("ij,j->ij", [f(3, 4), f(4)]),
        ("aB,Bc", [f(2, 3), f(3, 2)]), ("bn,anm,bm->ba", [f(2, 3), f(4, 3, 5), f(2, 5)]), ("ij,jk,kl,lm->im", [f(2, 3), f(3, 2), f(2, 4), f(4, 2)]),
        ("ij,ij->ij", [f(3, 4), w]), ("kj,ji->", [w, f(1, 3)]), (",i->i", [f(), f(3)]), ("ij,jk->ik", [f(2, 0), f(0, 3)]), ("b i...->i b...", [f(2, 3, 1, 2)]),
        ("iij,jkk->ik", [f(2, 2, 3), f(3, 4, 4)]), ("ab...,...cd->b...d", [f(2, 3, 4), f(1, 2, 3)]), ("ij,jk->ik", [n(2, 3), n(3, 2)]),
        ("i...,j->...", [n(2, 3), n(4)]), ("bik,iok->bo", [f(2, 3, 2, dtype=torch.float16), f(3, 2, 2, dtype=torch.float16)])):
    run(aten.einsum.default, equation, operands)
