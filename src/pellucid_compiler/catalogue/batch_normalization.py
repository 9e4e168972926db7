"""Batch normalization, by statistics of the batch or by given statistics."""

from pellucid_compiler.catalogue.normalization import map_channels
from pellucid_compiler.catalogue.real_only import require_real
from pellucid_compiler.catalogue.statistics import moments
from pellucid_compiler.declare import (
    cast,
    fused,
    num_elements,
    require,
    rsqrt,
    to,
    total_over,
)
from pellucid_compiler.ir.dtypes import wide_dtype


def _other_dims(x):
    return [0, *range(2, x.rank)]


def _require_channels(x, **vectors):
    require_real("batch_norm", x)
    require(
        x.rank >= 2,
        f"batch_norm: an input of rank {x.rank} has no channels",
        error=IndexError,
    )
    for name, vector in vectors.items():
        if vector is not None:
            require(
                vector.rank == 1,
                f"batch_norm: statistics, weight and bias are vectors, not of rank "
                f"{vector.rank}",
            )
            require(
                vector.shape[0] == x.shape[1],
                f"batch_norm: {name} should contain {{}} elements not {{}}",
                x.shape[1],
                vector.shape[0],
            )


def _normalized(x, mean, variance, weight, bias, eps):
    """Computes one factor and one offset per channel, so that an element costs only two
    operations.
    """
    factor = rsqrt(variance + eps)
    factor = factor if weight is None else factor * weight
    offset = -mean * factor
    offset = offset if bias is None else offset + bias
    scaled = map_channels(lambda e, f: e * f, x, factor)
    return to(map_channels(lambda e, b: e + b, scaled, offset), x.dtype)


@fused(
    "pellucid::_batch_norm_with_batch(Tensor input, Tensor? weight, Tensor? bias, "
    "float eps) "
    "-> (Tensor, Tensor, Tensor)",
    method=False,
    out=False,
    node="NativeBatchNormBackward0",
    layout="images",
)
def batch_norm_with_batch(x, weight, bias, eps):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` per channel (Ioffe 2015), and
    mean and biased variance of the batch, in float32 for half precision.
    """
    _require_channels(x, weight=weight, bias=bias)
    wide = to(x, wide_dtype(x.dtype))
    variance, mean = moments(wide, _other_dims(x), 0, False)
    y = _normalized(wide, mean, variance, weight, bias, eps)
    return to(y, x.dtype), mean, variance


@batch_norm_with_batch.vjp(
    "saved values: reads the statistics, the derived rule computes them again"
)
def _(
    x, weight, bias, eps, y, mean, variance, grad, grad_mean, grad_variance, derived
):  # fmt: skip
    dims = _other_dims(x)
    scale = rsqrt(variance + eps)
    centered = map_channels(lambda e, m: e - m, x, mean)
    count = cast(num_elements(x, dims), x.dtype)
    grad_bias = total_over(grad, dims)
    grad_weight = total_over(grad * centered, dims) * scale
    factor = scale if weight is None else scale * weight
    slope = grad_variance * 2 - grad_weight * scale * factor
    level = grad_mean - grad_bias * factor
    direct = map_channels(lambda e, f: e * f, grad, factor)
    spread = map_channels(lambda e, f: e * f, centered, slope / count)
    grad_x = map_channels(lambda e, b: e + b, direct + spread, level / count)
    gradients = [to(grad_x, x.dtype)]
    if weight is not None:
        gradients.append(to(grad_weight, weight.dtype))
    if bias is not None:
        gradients.append(to(grad_bias, bias.dtype))
    return tuple(gradients)


@fused(
    "pellucid::_batch_norm_with_statistics(Tensor input, Tensor mean, Tensor variance, "
    "Tensor? weight, Tensor? bias, float eps) -> Tensor",
    method=False,
    out=False,
    node="NativeBatchNormBackward0",
    layout="images",
    backward="native_batch_norm_backward(running_mean=mean, running_var=variance, "
    "save_mean=None, save_invstd=None, train=False)",
)
def batch_norm_with_statistics(x, mean, variance, weight, bias, eps):
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` per channel."""
    _require_channels(
        x, running_mean=mean, running_var=variance, weight=weight, bias=bias
    )
    return _normalized(x, mean, variance, weight, bias, eps)
