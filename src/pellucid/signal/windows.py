"""Windows: weights that fade a piece of a signal out towards its ends.

``sym=True`` gives a symmetric window, for filters; ``sym=False`` one period, for
spectra. Formulas from Harris 1978 and Heinzel et al. 2002.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pellucid
from pellucid import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _dtype(name: str, M: int, dtype: Any, layout: Any) -> Any:
    """The dtype of a window of ``M`` points, once the arguments are found valid."""
    if M < 0:
        raise ValueError(f"{name}: a window of {M} points; give 0 or more")
    if layout is not pellucid.strided:
        raise ValueError(f"{name}: windows are strided tensors, not {layout}")
    dtype = dtype or pellucid.get_default_dtype()
    if dtype not in (pellucid.float32, pellucid.float64):
        raise ValueError(f"{name}: windows are float32 or float64, not {dtype}")
    return dtype


def _line(start: float, step: float, M: int, dtype: Any) -> Tensor:
    return start + step * pellucid.arange(M, dtype=dtype)


def _scaled_line(start: float, scale: float, M: int, dtype: Any) -> Tensor:
    """``start``, ``start + 1``, ... times ``scale``, rounded once."""
    return pellucid.linspace(start * scale, (start + M - 1) * scale, M, dtype=dtype)


def _steps(M: int, sym: bool) -> int:
    """The number of steps from one end to the other."""
    return max(M - 1 if sym else M, 1)


def _window(values: Tensor, device: Any, requires_grad: bool) -> Tensor:
    window = values.to(device=device)
    window.requires_grad = requires_grad
    return window


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = pellucid.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``exp(-|k - center| / tau)``."""
    dtype = _dtype("exponential", M, dtype, layout)
    if tau <= 0:
        raise ValueError(f"exponential: tau {tau} is not positive")
    if sym and center is not None:
        raise ValueError("exponential: a symmetric window has its center in the middle")
    if M == 1:
        return _window(pellucid.ones(1, dtype=dtype), device, requires_grad)
    middle = (M - 1 if sym else M) / 2 if center is None else center
    distance = _scaled_line(-middle, 1 / tau, M, dtype).abs()
    return _window((-distance).exp(), device, requires_grad)


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = pellucid.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Half a wave of the sine."""
    dtype = _dtype("cosine", M, dtype, layout)
    if M == 1:
        return _window(pellucid.ones(1, dtype=dtype), device, requires_grad)
    step = math.pi / max(M if sym else M + 1, 1)
    return _window(_scaled_line(0.5, step, M, dtype).sin(), device, requires_grad)


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = pellucid.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``exp(-(k - center)² / (2 std²))``."""
    dtype = _dtype("gaussian", M, dtype, layout)
    if std <= 0:
        raise ValueError(f"gaussian: std {std} is not positive")
    if M == 1:
        return _window(pellucid.ones(1, dtype=dtype), device, requires_grad)
    middle = (M - 1 if sym else M) / 2
    scaled = _scaled_line(-middle, 1 / (std * math.sqrt(2)), M, dtype)
    return _window((-(scaled**2)).exp(), device, requires_grad)


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = pellucid.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``I0(beta sqrt(1 - t²)) / I0(beta)`` with t from -1 to 1 (Kaiser 1974)."""
    dtype = _dtype("kaiser", M, dtype, layout)
    if beta < 0:
        raise ValueError(f"kaiser: beta {beta} is negative")
    if M == 1:
        return _window(pellucid.ones(1, dtype=dtype), device, requires_grad)
    t = _line(-beta, 2 * beta / _steps(M, sym), M, dtype).clamp(max=beta)
    shape = pellucid.i0((beta * beta - t * t).clamp(min=0).sqrt())
    whole = pellucid.i0(pellucid.tensor(beta, dtype=dtype))
    return _window(shape / whole, device, requires_grad)


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = pellucid.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle from 0 up to 1 and back."""
    dtype = _dtype("bartlett", M, dtype, layout)
    if M == 1:
        return _window(pellucid.ones(1, dtype=dtype), device, requires_grad)
    line = _line(-1.0, 2 / _steps(M, sym), M, dtype)
    return _window(1 - line.abs(), device, requires_grad)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: Any = None,
    layout: Any = pellucid.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The sum of ``(-1)ⁱ a[i] cos(2 π i k / steps)``."""
    dtype = _dtype("general_cosine", M, dtype, layout)
    if not isinstance(a, Sequence):
        raise TypeError(f"general_cosine: a is a sequence of numbers, not {a!r}")
    if not a:
        raise ValueError("general_cosine: a is empty; give at least one number")
    if M == 1:
        return _window(pellucid.ones(1, dtype=dtype), device, requires_grad)
    angle = _line(0.0, 2 * math.pi / _steps(M, sym), M, dtype)
    total = pellucid.zeros(M, dtype=dtype)
    for i, weight in enumerate(a):
        total = total + (-1) ** i * weight * (angle * i).cos()
    return _window(total, device, requires_grad)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any
) -> Tensor:
    """``alpha - (1 - alpha) cos(2 π k / steps)``."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """``0.54 - 0.46 cos(2 π k / steps)``."""
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """``sin²(π k / steps)``."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Three cosines: 0.42, 0.5, 0.08."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Four cosines with a continuous first derivative (Nuttall 1981)."""
    terms = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return general_cosine(M, a=terms, sym=sym, **options)
