"""Softmax, log_softmax and layer_norm: compositions that run as one kernel over
a row.
"""

from pellucid.lang import (
    detach,
    exp,
    fused,
    greatest_over,
    log,
    require,
    sqrt,
    to,
    total_over,
    wrap_dim,
)
from pellucid.ops.statistics import var_mean


@fused(
    "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
)
def softmax(x, dim, dtype):
    """``exp(x - m) / sum exp(x - m)`` along ``dim``, m the greatest element."""
    x, dim = to(x, dtype), [wrap_dim(dim, x.rank)]
    e = exp(x - detach(greatest_over(x, dim, keepdim=True)))
    return e / total_over(e, dim, keepdim=True)


@softmax.vjp("saved values: saves y alone; the derived rule saves exp and its sum")
def _(x, dim, dtype, y, grad, derived):
    dim = [wrap_dim(dim, x.rank)]
    return to(y * grad - y * total_over(y * grad, dim, keepdim=True), x.dtype)


@fused("log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
def log_softmax(x, dim, dtype):
    """``x - m - log sum exp(x - m)`` along ``dim``, m the greatest element."""
    x, dim = to(x, dtype), [wrap_dim(dim, x.rank)]
    x = x - detach(greatest_over(x, dim, keepdim=True))
    return x - log(total_over(exp(x), dim, keepdim=True))


@log_softmax.vjp("saved values: saves y alone")
def _(x, dim, dtype, y, grad, derived):
    dim = [wrap_dim(dim, x.rank)]
    return to(grad - exp(y) * total_over(grad, dim, keepdim=True), x.dtype)


@fused(
    "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
    "Tensor? bias=None, float eps=1e-05) -> Tensor",
    namespace="nn.functional",
    method=False,
)
def layer_norm(x, normalized_shape, weight, bias, eps):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` over the last dims (Ba 2016)."""
    count = len(normalized_shape)
    require(count > 0, "layer_norm: normalized_shape is empty; name at least one size")
    require(
        x.rank >= count,
        f"layer_norm: an input of rank {x.rank} has no {count} last dims to normalize",
    )
    for tensor in (x, weight, bias):
        _require_last_sizes(tensor, normalized_shape)
    variance, center = var_mean(x, [-1 - d for d in range(count)], 0, True)
    y = (x - center) / sqrt(variance + eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def _require_last_sizes(tensor, sizes):
    if tensor is None:
        return
    require(
        tensor.rank >= len(sizes),
        f"layer_norm: a tensor of rank {tensor.rank} for {len(sizes)} normalized dims",
    )
    for actual, size in zip(
        tensor.shape[tensor.rank - len(sizes) :], sizes, strict=True
    ):
        require(
            actual == size,
            "layer_norm: normalized_shape says {} where the tensor has size {}",
            size,
            actual,
        )
