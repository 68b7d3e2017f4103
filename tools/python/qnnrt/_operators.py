"""The operators of ATen that graphs can have, from qnnrt_ir.h. Written by tools/python/make_abi.py."""
OPERATORS = frozenset("""
__and__.Scalar __and__.Tensor __lshift__.Scalar __lshift__.Tensor __or__.Scalar __or__.Tensor __rshift__.Scalar __rshift__.Tensor
__xor__.Scalar __xor__.Tensor _assert_tensor_metadata.default _grouped_mm.default _native_batch_norm_legit_no_training.default
_prelu_kernel.default _safe_softmax.default _softmax.default _to_copy.default _upsample_bicubic2d_aa.default _upsample_bicubic2d_aa.vec
_upsample_bilinear2d_aa.default _upsample_bilinear2d_aa.vec _upsample_nearest_exact1d.default _upsample_nearest_exact1d.vec
_upsample_nearest_exact2d.default _upsample_nearest_exact2d.vec _upsample_nearest_exact3d.default _upsample_nearest_exact3d.vec
_weight_norm.default abs.default acos.default acosh.default adaptive_avg_pool1d.default adaptive_avg_pool2d.default
adaptive_avg_pool3d.default adaptive_max_pool1d.default adaptive_max_pool2d.default adaptive_max_pool3d.default add.Scalar add.Tensor
addcdiv.default addcmul.default addmm.default alias.default all.default all.dim all.dims amax.default amin.default any.default any.dim
any.dims arange.default arange.start arange.start_step argmax.default argmin.default argsort.default argsort.stable as_strided.default
as_strided_scatter.default asin.default asinh.default atan.default atan2.default atanh.default avg_pool1d.default avg_pool2d.default
avg_pool3d.default baddbmm.default batch_norm.default bincount.default bitwise_and.Scalar bitwise_and.Tensor bitwise_left_shift.Tensor
bitwise_left_shift.Tensor_Scalar bitwise_not.default bitwise_or.Scalar bitwise_or.Tensor bitwise_right_shift.Tensor
bitwise_right_shift.Tensor_Scalar bitwise_xor.Scalar bitwise_xor.Tensor bmm.default bucketize.Tensor cat.default ceil.default celu.default
channel_shuffle.default chunk.default clamp.Tensor clamp.default clamp_max.Tensor clamp_max.default clamp_min.Tensor clamp_min.default
clone.default col2im.default constant_pad_nd.default contiguous.default conv1d.default conv1d.padding conv2d.default conv2d.padding
conv3d.default conv3d.padding conv_transpose1d.default conv_transpose2d.input conv_transpose3d.input convolution.default copy.default
copysign.Scalar copysign.Tensor cos.default cosh.default cummax.default cummin.default cumprod.default cumsum.default deg2rad.default
detach.default diagonal.default diagonal_scatter.default diff.default div.Scalar div.Scalar_mode div.Tensor div.Tensor_mode
dropout.default einsum.default elu.default embedding.default empty.memory_format empty_like.default eq.Scalar eq.Tensor erf.default
erfc.default erfinv.default exp.default exp2.default expand.default expand_as.default expm1.default eye.default eye.m
feature_dropout.default fill.Scalar fill.Tensor flatten.using_ints flip.default floor.default floor_divide.Scalar floor_divide.default
fmax.default fmin.default fmod.Scalar fmod.Tensor frac.default full.default full_like.default gather.default ge.Scalar ge.Tensor
gelu.default glu.default grid_sampler.default grid_sampler_2d.default grid_sampler_3d.default group_norm.default gru.input gt.Scalar
gt.Tensor hardshrink.default hardsigmoid.default hardswish.default hardtanh.default heaviside.default histc.default hypot.default
im2col.default index.Tensor index_add.default index_copy.default index_fill.int_Scalar index_fill.int_Tensor index_put.default
index_reduce.default index_select.default instance_norm.default isfinite.default isinf.default isnan.default isneginf.default
isposinf.default kthvalue.default layer_norm.default le.Scalar le.Tensor leaky_relu.default lerp.Scalar lerp.Tensor lgamma.default
lift_fresh.default lift_fresh_copy.default linalg_vector_norm.default linear.default linspace.default log.default log10.default
log1p.default log2.default log_sigmoid.default log_softmax.int logaddexp.default logcumsumexp.default logical_and.default
logical_not.default logical_or.default logical_xor.default logit.default logspace.default logsumexp.default lstm.input lt.Scalar lt.Tensor
mT.default masked_fill.Scalar masked_fill.Tensor masked_scatter.default matmul.default max.default max.dim max.other max_pool1d.default
max_pool1d_with_indices.default max_pool2d.default max_pool2d_with_indices.default max_pool3d.default max_pool3d_with_indices.default
maximum.default mean.default mean.dim median.default median.dim min.default min.dim min.other minimum.default mish.default mm.default
mode.default movedim.int movedim.intlist msort.default mul.Scalar mul.Tensor mv.default nan_to_num.default nanmedian.default nanmedian.dim
narrow.default native_batch_norm.default native_channel_shuffle.default native_group_norm.default native_layer_norm.default ne.Scalar
ne.Tensor neg.default new_full.default new_ones.default new_zeros.default numpy_T.default one_hot.default ones.default ones_like.default
pad.default permute.default pixel_shuffle.default pixel_unshuffle.default pow.Scalar pow.Tensor_Scalar pow.Tensor_Tensor prelu.default
prod.default prod.dim_int put.default qnnrt.fft.default rad2deg.default reciprocal.default relu.default relu6.default remainder.Scalar
remainder.Scalar_Tensor remainder.Tensor repeat.default repeat_interleave.self_int reshape.default reshape_as.default rms_norm.default
rnn_relu.input rnn_tanh.input roll.default rot90.default round.decimals round.default rsqrt.default rsub.Scalar rsub.Tensor
scalar_tensor.default scaled_dot_product_attention.default scatter.reduce scatter.src scatter.value scatter.value_reduce
scatter_add.default scatter_reduce.two searchsorted.Tensor select.int select_scatter.default selu.default sgn.default sigmoid.default
sign.default silu.default sin.default sinc.default sinh.default slice.Tensor slice_scatter.default softmax.int softplus.default
softshrink.default sort.default sort.stable split.Tensor split.sizes split_with_sizes.default sqrt.default square.default squeeze.default
squeeze.dim squeeze.dims stack.default std.correction std.default std.dim std_mean.correction std_mean.default std_mean.dim sub.Scalar
sub.Tensor sum.default sum.dim_IntList swapaxes.default t.default take.default take_along_dim.default tan.default tanh.default
tensor_split.indices tensor_split.sections threshold.default to.device to.dtype to.dtype_layout to.other topk.default
torchvision.deform_conv2d.default torchvision.roi_align.default torchvision.roi_pool.default transformers.grouped_mm_fallback.default
transpose.int tril.default triu.default trunc.default type_as.default unbind.int unflatten.int unfold.default unsqueeze.default
upsample_bicubic2d.default upsample_bicubic2d.vec upsample_bilinear2d.default upsample_bilinear2d.vec upsample_linear1d.default
upsample_linear1d.vec upsample_nearest1d.default upsample_nearest1d.vec upsample_nearest2d.default upsample_nearest2d.vec
upsample_nearest3d.default upsample_nearest3d.vec upsample_trilinear3d.default upsample_trilinear3d.vec var.correction var.default var.dim
var_mean.correction var_mean.default var_mean.dim view.default view_as.default where.Scalar where.ScalarOther where.ScalarSelf where.self
xlogy.Scalar_Other xlogy.Scalar_Self xlogy.Tensor zero.default zeros.default zeros_like.default
""".split())
