"""Parameter initialisation, in place and without recording gradients.

Each function makes the same random calls as PyTorch's, in the same order, so equal
seeds give equal weights.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._package.calls.overridable import make_overridable

_Generator = Any

_GAINS = {
    **dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d", "sigmoid"), 1),
    **dict.fromkeys((f"conv_transpose{n}d" for n in (1, 2, 3)), 1),
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that compensates a nonlinearity's effect on the standard deviation.

    ``param`` is the slope of "leaky_relu", 0.01 by default.
    """
    if nonlinearity != "leaky_relu":
        if nonlinearity not in _GAINS:
            known = ", ".join([*_GAINS, "leaky_relu"])
            raise ValueError(f"no gain for {nonlinearity!r}; known are {known}")
        return _GAINS[nonlinearity]
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise ValueError(f"the slope of leaky_relu is a number, not {slope!r}")
    return math.sqrt(2.0 / (1 + slope**2))


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: _Generator = None
) -> Tensor:
    """Draws from U(a, b)."""
    with pellucid.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: _Generator = None
) -> Tensor:
    """Draws from N(mean, std^2)."""
    with pellucid.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: _Generator = None,
) -> Tensor:
    """Draws from N(mean, std^2) until every value is in [a, b]."""
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            f"trunc_normal_: mean {mean} is more than 2 std from [{a}, {b}]; the "
            "distribution may be wrong",
            stacklevel=2,
        )
    accepted = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    with pellucid.no_grad():
        if accepted > 0.3:
            return _redraw_normal(tensor, mean, std, a, b, generator)
        return _redraw_uniform(tensor, mean, std, a, b, generator)


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _redraw_normal(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: _Generator
) -> Tensor:
    """Truncates by rejection: redraws normal values that fell outside."""
    # Bounds rounded to the tensor's dtype; otherwise a value might never be accepted.
    low, high = (tensor.new_tensor(bound, device="cpu").item() for bound in (a, b))
    values = tensor.normal_(mean, std, generator=generator)
    while (outside := (values < low) | (values > high)).any():
        drawn = pellucid.empty_like(values).normal_(mean, std, generator=generator)
        values = pellucid.where(outside, drawn, values)
    return tensor if values is tensor else tensor.copy_(values)


def _redraw_uniform(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: _Generator
) -> Tensor:
    """Truncates by rejection: redraws uniform values, accepted by their density."""
    mode = max(a, min(mean, b))
    log_peak = -0.5 * ((mode - mean) / std) ** 2
    chance = pellucid.empty_like(tensor)

    def refused(drawn: Tensor) -> Tensor:
        log_density = drawn.sub(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_peak)
        return chance.uniform_(generator=generator).log_().gt(log_density)

    values = tensor.uniform_(a, b, generator=generator)
    pending = refused(values)
    while pending.any():
        drawn = pellucid.empty_like(tensor).uniform_(a, b, generator=generator)
        values = pellucid.where(pending, drawn, values)
        pending = pending & refused(drawn)
    return tensor if values is tensor else tensor.copy_(values)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills with ``val``."""
    with pellucid.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fills with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fills with zeros."""
    with pellucid.no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Makes a matrix the identity."""
    if tensor.ndim != 2:
        raise ValueError(f"eye_ takes a matrix, not {tensor.ndim} dimensions")
    with pellucid.no_grad():
        tensor.zero_().diagonal().fill_(1)
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Makes a convolution the identity on its input channels, per group."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError(f"dirac_ takes 3 to 5 dimensions, not {tensor.ndim}")
    if tensor.size(0) % groups:
        raise ValueError(
            f"dirac_: {tensor.size(0)} output channels cannot be divided into "
            f"{groups} groups"
        )
    if tensor.is_meta:
        return tensor
    per_group = tensor.size(0) // groups
    center = tuple(size // 2 for size in tensor.shape[2:])
    with pellucid.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.size(1))):
                tensor[(group * per_group + channel, channel, *center)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """(fan in, fan out) of a layer's weight: inputs per output, outputs per input."""
    if tensor.ndim < 2:
        raise ValueError(
            "fan in and fan out need a weight of at least 2 dimensions, not "
            f"{tensor.ndim}"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode is 'fan_in' or 'fan_out', not {mode!r}")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def _xavier_std(tensor: Tensor, gain: float) -> float:
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return gain * math.sqrt(2.0 / float(fan_in + fan_out))


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: _Generator = None
) -> Tensor:
    """Draws from U(-a, a), a = gain * sqrt(6 / (fan_in + fan_out)).

    Glorot and Bengio, 2010.
    """
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(
    tensor: Tensor, gain: float = 1.0, generator: _Generator = None
) -> Tensor:
    """Draws from N(0, 2 * gain^2 / (fan_in + fan_out)); Glorot and Bengio, 2010."""
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _kaiming_std(
    tensor: Tensor, a: float, mode: str, nonlinearity: str
) -> float | None:
    """The standard deviation, or None with a warning for a tensor without elements."""
    if 0 in tensor.shape:
        warnings.warn("a tensor without elements has nothing to fill", stacklevel=3)
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: _Generator = None,
) -> Tensor:
    """Draws from U(-b, b), b = gain * sqrt(3 / fan), gain for slope ``a``.

    He et al., 2015.
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: _Generator = None,
) -> Tensor:
    """Draws from N(0, gain^2 / fan), gain for slope ``a``; He et al., 2015."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0, std, generator)


def orthogonal_(
    tensor: Tensor, gain: float = 1, generator: _Generator = None
) -> Tensor:
    """Fills with a matrix of orthonormal rows or columns; Saxe et al., 2013.

    Dimensions after the first are flattened.
    """
    if tensor.ndim < 2:
        raise ValueError(f"orthogonal_ takes 2 or more dimensions, not {tensor.ndim}")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    shape = (rows, tensor.numel() // rows)
    drawn = tensor.new_empty(shape).normal_(0, 1, generator=generator)
    wide = shape[0] < shape[1]
    q, r = pellucid.linalg.qr(drawn.t() if wide else drawn)
    # The sign makes q uniform over the orthogonal group (Mezzadri, 2007).
    q = q * r.diagonal().sign()
    with pellucid.no_grad():
        tensor.copy_((q.t() if wide else q).reshape(tensor.shape))
        return tensor.mul_(gain)


def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: _Generator = None
) -> Tensor:
    """Draws a matrix from N(0, std^2) with a fraction ``sparsity`` of each column zero.

    Martens, 2010.
    """
    if tensor.ndim != 2:
        raise ValueError(f"sparse_ takes a matrix, not {tensor.ndim} dimensions")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with pellucid.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[pellucid.randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(name: str) -> Any:
    """A deprecated name without the underscore, which warns."""
    current = globals()[f"{name}_"]

    def deprecated(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"nn.init.{name} is now nn.init.{name}_",
            FutureWarning,
            stacklevel=2,
        )
        return current(*args, **kwargs)

    deprecated.__name__ = name
    deprecated.__doc__ = f"Deprecated name of ``{name}_``."
    return deprecated


uniform = _deprecated("uniform")
normal = _deprecated("normal")
constant = _deprecated("constant")
eye = _deprecated("eye")
dirac = _deprecated("dirac")
xavier_uniform = _deprecated("xavier_uniform")
xavier_normal = _deprecated("xavier_normal")
kaiming_uniform = _deprecated("kaiming_uniform")
kaiming_normal = _deprecated("kaiming_normal")
orthogonal = _deprecated("orthogonal")
sparse = _deprecated("sparse")

make_overridable(globals(), ("uniform_", "normal_", "constant_", "kaiming_uniform_"))


# Private names of PyTorch that libraries call; they run under ``no_grad`` too.
_no_grad_uniform_, _no_grad_normal_ = uniform_, normal_
_no_grad_trunc_normal_, _no_grad_fill_ = trunc_normal_, constant_
_no_grad_zero_ = zeros_
