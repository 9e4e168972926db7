"""Softmax and normalizations: bodies that run as one kernel over a row."""

import operator
from math import prod

from pellucid_compiler.catalogue.real_only import require_float, require_real
from pellucid_compiler.catalogue.statistics import moments
from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    cast,
    detach,
    exp,
    fused,
    greatest_over,
    isinf,
    log,
    mean_over,
    num_elements,
    require,
    reshape,
    rsqrt,
    save_for_backward,
    sizes_text,
    tabulate,
    to,
    total_over,
    where,
    wrap_dim,
)


@fused(
    "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    forms=("special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",),
    backward="_softmax_backward_data()",
    casts_out=False,
)
def softmax(x, dim, dtype):
    """``exp(x - m) / sum exp(x - m)`` along ``dim``, m the greatest element."""
    x, dim = _as_float("softmax", x, dtype), [wrap_dim(dim, x.rank)]
    e = exp(x - detach(greatest_over(x, dim, keepdim=True)))
    return e / total_over(e, dim, keepdim=True)


@softmax.seen_as
def _(x, dim, dtype):
    x = x if dtype is None or dtype == x.dtype else x.to(dtype)
    if not x.is_floating_point():
        return NotImplemented
    return api.ops.aten._softmax.default(x, dim, False)


@fused(
    "_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    method=False,
    out=False,
)
def safe_softmax(x, dim, dtype):
    """``softmax`` that gives zeros where all elements along ``dim`` are -inf."""
    x, dim = _as_float("_safe_softmax", x, dtype), [wrap_dim(dim, x.rank)]
    top = detach(greatest_over(x, dim, keepdim=True))
    e = exp(x - where(isinf(top), 0.0, top))
    s = total_over(e, dim, keepdim=True)
    return e / where(s == 0, 1.0, s)


def _as_float(name, x, dtype):
    x = to(x, dtype)
    require(
        x.is_floating,
        f"{name}: exponentials of {x.dtype} are not {x.dtype}; convert with "
        ".to(torch.float32) or pass a float dtype",
        error=NotImplementedError,
    )
    return x


def softmax_gradient(x, dim, _, y, grad, derived):
    """The rule of ``softmax``, written in its result ``y``."""
    dim = [wrap_dim(dim, x.rank)]
    return to(y * grad - y * total_over(y * grad, dim, keepdim=True), x.dtype)


for op in (softmax, safe_softmax):
    op.vjp("saved values: saves y alone; the derived rule saves exp and its sum")(
        softmax_gradient
    )


@fused(
    "log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    forms=(
        "special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) "
        "-> Tensor",
    ),
    backward="_log_softmax_backward_data()",
    casts_out=False,
)
def log_softmax(x, dim, dtype):
    """``x - m - log sum exp(x - m)`` along ``dim``, m the greatest element."""
    x, dim = _as_float("log_softmax", x, dtype), [wrap_dim(dim, x.rank)]
    x = x - detach(greatest_over(x, dim, keepdim=True))
    return x - log(total_over(exp(x), dim, keepdim=True))


@log_softmax.seen_as
def _(x, dim, dtype):
    x = x if dtype is None or dtype == x.dtype else x.to(dtype)
    if not x.is_floating_point():
        return NotImplemented
    return api.ops.aten._log_softmax.default(x, dim, False)


def log_softmax_gradient(x, dim, _, y, grad, derived):
    """The rule of ``log_softmax``, written in its result ``y``."""
    dim = [wrap_dim(dim, x.rank)]
    return to(grad - exp(y) * total_over(grad, dim, keepdim=True), x.dtype)


log_softmax.vjp("saved values: saves y alone")(log_softmax_gradient)


def _standardized(x, dim, eps):
    """``(x - mean) / sqrt(var + eps)`` over ``dim``, used by all normalizations."""
    variance, center = moments(x, dim, 0, True)
    scale = rsqrt(variance + eps)
    save_for_backward(center, scale)
    return (x - center) * scale


@fused(
    "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
    "Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
    method=False,
    out=False,
    node="NativeLayerNormBackward0",
    backward="native_layer_norm_backward(mean=result1, rstd=result2)",
    also=("nn.functional.layer_norm",),
)
def layer_norm(x, normalized_shape, weight, bias, eps, cudnn_enable):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` over the last dims (Ba 2016)."""
    require_float("layer_norm", x)
    require_real("layer_norm", x)
    count = len(normalized_shape)
    require(count > 0, "layer_norm: normalized_shape is empty; name at least one size")
    require(
        x.rank >= count,
        f"layer_norm: an input of rank {x.rank} has no {count} last dims to normalize",
    )
    _require_last_sizes("layer_norm", x, normalized_shape)
    for tensor in (weight, bias):
        _require_same_sizes("layer_norm", tensor, normalized_shape)
    y = _standardized(x, [-1 - d for d in range(count)], eps)
    y = y if weight is None else y * weight
    return to(y if bias is None else y + bias, x.dtype)


@layer_norm.seen_as
def _(x, normalized_shape, weight, bias, eps, cudnn_enable):
    return api.native_layer_norm(x, normalized_shape, weight, bias, eps)


@layer_norm.vjp("speed: two sums over each row, where transposing makes five")
def _(
    x, normalized_shape, weight, bias, eps, cudnn_enable, y, center, scale, grad,
    derived,
):  # fmt: skip
    first = x.rank - len(normalized_shape)
    rows, dims = list(range(first)), list(range(first, x.rank))
    normal = (x - center) * scale
    slope = grad if weight is None else grad * weight
    along = normal * mean_over(normal * slope, dims, True)
    gradients = [to(scale * (slope - mean_over(slope, dims, True) - along), x.dtype)]
    for vector, term in ((weight, grad * normal), (bias, grad)):
        if vector is not None:
            gradients.append(to(total_over(term, rows) if rows else term, vector.dtype))
    return tuple(gradients)


def _require_same_sizes(name, tensor, sizes):
    if tensor is None:
        return
    require(
        tensor.rank == len(sizes),
        f"{name}: weight or bias of rank {tensor.rank} for {len(sizes)} normalized "
        "dims; give one number for each normalized element",
    )
    _require_last_sizes(name, tensor, sizes)


def _require_last_sizes(name, tensor, sizes):
    for actual, size in zip(
        tensor.shape[tensor.rank - len(sizes) :], sizes, strict=True
    ):
        expected = ", ".join(["{}"] * len(sizes))
        require(
            actual == size,
            f"{name}: Given normalized_shape=[{expected}], expected input with shape "
            f"[*, {expected}], but got input of size{sizes_text(tensor)}",
            *(*sizes, *sizes, *tensor.shape),
        )


@fused(
    "rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
    "float? eps=None) -> Tensor",
    refuses=("integers", "bool"),
    method=False,
    out=False,
    also=("nn.functional.rms_norm",),
)
def rms_norm(x, normalized_shape, weight, eps):
    """``x / sqrt(mean(x**2) + eps) * weight`` over the last dims (Zhang 2019).

    Without ``eps``, the dtype's machine epsilon is used.
    """
    count = len(normalized_shape)
    require(count > 0, "rms_norm: normalized_shape is empty; name at least one size")
    require(
        x.rank >= count,
        f"rms_norm: an input of rank {x.rank} has no {count} last dims to normalize",
        error=ValueError,
    )
    _require_last_sizes("rms_norm", x, normalized_shape)
    _require_same_sizes("rms_norm", weight, normalized_shape)
    if eps is None:
        eps = 2.0**-52 if x.dtype == "float64" else 2.0**-23
    y = x * rsqrt(mean_over(x * x, [-1 - d for d in range(count)], True) + eps)
    return y if weight is None else to(y * weight, x.dtype)


@rms_norm.seen_as
def _(x, normalized_shape, weight, eps):
    count = len(normalized_shape)
    sizes = list(normalized_shape)
    if not count or list(x.shape[-count:]) != sizes or not x.is_floating_point():
        return NotImplemented
    if weight is not None and (list(weight.shape) != sizes or weight.dtype != x.dtype):
        return NotImplemented
    wide = x.float() if x.dtype in (api.half, api.bfloat16) else x
    eps = api.finfo(wide.dtype).eps if eps is None else eps
    mean = wide.pow(2).mean([-1 - d for d in range(count)], True)
    y = wide * api.ops.aten.add_.Scalar(mean, eps).rsqrt()
    return (y if weight is None else y * weight).type_as(x)


@fused(
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, "
    "Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
    method=False,
    out=False,
    symbolic=("num_groups",),
    node="NativeGroupNormBackward0",
    layout="images",
    also=("nn.functional.group_norm",),
)
def group_norm(x, num_groups, weight, bias, eps, cudnn_enabled):
    """``layer_norm`` over each group of channels (dim 1) and all later dims (Wu
    2018).
    """
    require_float("group_norm", x)
    require_real("group_norm", x)
    require(x.rank >= 2, f"group_norm: an input of rank {x.rank} has no channels")
    channels = x.shape[1]
    require(num_groups > 0, "group_norm: num_groups is {}; give at least 1", num_groups)
    require(
        channels % num_groups == 0,
        "group_norm: {} channels do not divide into {} groups",
        channels,
        num_groups,
    )
    for tensor in (weight, bias):
        if tensor is not None:
            require(
                tensor.rank == 1,
                f"group_norm: weight and bias are vectors, not of rank {tensor.rank}",
            )
            require(
                tensor.shape[0] == channels,
                "group_norm: {} weights for {} channels; give one for each",
                tensor.shape[0],
                channels,
            )
    variance, center = moments(_in_groups(x, num_groups), [2, 3], 0, True)
    scale = rsqrt(variance + eps)
    save_for_backward(center, scale)
    middle, factor = _per_channel(center, x), _per_channel(scale, x)
    factor = factor if weight is None else map_channels(operator.mul, factor, weight)
    y = tabulate(x.shape, lambda *p: (x[p] - middle[p[:2]]) * factor[p[:2]])
    y = y if bias is None else map_channels(operator.add, y, bias)
    return to(y, x.dtype)


@group_norm.seen_as
def _(x, groups, weight, bias, eps, cudnn_enabled):
    if x.dim() < 2 or groups <= 0 or x.shape[1] % groups:
        return NotImplemented
    samples, channels, *pixels = x.shape
    return api.native_group_norm(
        x, weight, bias, samples, channels, prod(pixels), groups, eps
    )


def _in_groups(x, num_groups):
    """``x`` as images, groups, channels of a group, pixels."""
    pixels = num_elements(x, range(2, x.rank))
    return reshape(x, [x.shape[0], num_groups, x.shape[1] // num_groups, pixels])


def _per_channel(t, x):
    """``t``, one number for each group of each image, as one for each channel of ``x``:
    loops over channels and pixels then have two axes in every memory format.
    """
    channels = [x.shape[0], t.shape[1], x.shape[1] // t.shape[1]]
    return reshape(tabulate(channels, lambda n, g, _: t[n, g, 0, 0]), x.shape[:2])


@group_norm.vjp("speed: the sums over each channel serve all three gradients")
def _(
    x, num_groups, weight, bias, eps, cudnn_enabled, y, center, scale, grad, derived
):  # fmt: skip
    pixels = list(range(2, x.rank))
    middle, factor = _per_channel(center, x), _per_channel(scale, x)
    centered = tabulate(x.shape, lambda *p: x[p] - middle[p[:2]])
    sums, along = (
        total_over(t, pixels) if pixels else t for t in (grad, grad * centered)
    )
    along = along * factor
    gradients = []
    for vector, total in ((weight, along), (bias, sums)):
        if vector is not None:
            gradients.append(to(total_over(total, [0]), vector.dtype))
    direct = factor
    if weight is not None:
        direct, sums, along = (
            map_channels(operator.mul, t, weight) for t in (direct, sums, along)
        )
    groups = [x.shape[0], num_groups, x.shape[1] // num_groups, 1]
    count = cast(num_elements(x, [1, *pixels]) // num_groups, x.dtype)
    mean, tilt = (
        _per_channel(total_over(reshape(t, groups), [2], True) / count, x)
        for t in (sums, along)
    )
    spread, level = factor * factor * tilt, factor * mean

    def slope(*p):
        at = p[:2]
        return grad[p] * direct[at] - centered[p] * spread[at] - level[at]

    return to(tabulate(x.shape, slope), x.dtype), *gradients


def map_channels(function, x, vector):
    """``function(element, vector's element of its channel)``; dim 1 is the channel."""
    return tabulate(x.shape, lambda *p: function(x[p], vector[p[1]]))
