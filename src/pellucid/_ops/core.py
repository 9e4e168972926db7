"""Core ATen: the set of ops that PyTorch's specification says backends implement.

Read by ``tags.py``'s readers (``Tag.core``) and by ``_decomp/core_aten.py``.
"""

from __future__ import annotations

__all__ = ["CORE"]

_NAMES = """
    _adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d
    _cdist_forward _embedding_bag _fft_c2r _fft_r2c _local_scalar_dense _log_softmax
    _native_batch_norm_legit _native_batch_norm_legit.no_stats
    _native_batch_norm_legit_no_training _pdist_forward _softmax _to_copy abs acos
    acosh add.Tensor add.Scalar addmm alias amax amin any any.dim any.dims
    arange.start_step argmax argmin as_strided asin asinh atan atan2 atan2.out atanh
    avg_pool2d avg_pool2d_backward avg_pool3d bitwise_and.Tensor bitwise_and.Scalar
    bitwise_not bitwise_or.Tensor bitwise_or.Scalar bitwise_xor.Tensor
    bitwise_xor.Scalar bmm cat ceil clamp clamp.Tensor clone col2im constant_pad_nd
    convolution convolution_backward copy cos cosh cumsum diagonal div.Tensor div.Scalar
    div.Tensor_mode div.Scalar_mode elu embedding embedding_dense_backward
    empty.memory_format empty_strided eq.Tensor eq.Scalar erf exp expand expm1
    fill.Scalar flip floor fmod.Tensor fmod.Scalar full full_like gather ge.Tensor
    ge.Scalar gelu grid_sampler_2d gt.Tensor gt.Scalar hardtanh index.Tensor index_put
    index_select isinf isnan le.Tensor le.Scalar leaky_relu log log10 log1p log2
    logical_and logical_not logical_or logical_xor lt.Tensor lt.Scalar masked_scatter
    max.dim max_pool2d_with_indices max_pool2d_with_indices_backward
    max_pool3d_with_indices maximum mean mean.dim min.dim minimum mm mul.Tensor
    mul.Scalar native_dropout native_group_norm native_group_norm_backward
    native_layer_norm native_layer_norm_backward ne.Tensor ne.Scalar neg nonzero permute
    pow.Tensor_Tensor pow.Tensor_Scalar pow.Scalar prod prod.dim_int rand randn randperm
    reciprocal reflection_pad1d reflection_pad2d reflection_pad3d relu remainder.Tensor
    remainder.Scalar repeat replication_pad2d replication_pad3d round rsqrt
    scalar_tensor scatter.value scatter.src scatter_add scatter_reduce.two select.int
    select_scatter sigmoid sign sin sinh slice.Tensor slice_scatter sort
    split_with_sizes sqrt squeeze.dim squeeze.dims sub.Tensor sub.Scalar
    sum.dim_IntList sym_numel sym_size.int sym_storage_offset sym_stride.int tan tanh
    topk trunc unsqueeze upsample_bilinear2d.vec upsample_nearest2d.vec var.dim
    var.correction view where.self
"""
CORE = frozenset(_NAMES.split())
"""Names of overloads; of ``default`` the op's alone."""
