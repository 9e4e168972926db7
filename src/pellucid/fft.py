"""Fourier transforms: not offered, since tensors of complex numbers do not compute yet.

Libraries import the functions by name; calling one says what there is to do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

_NAMES = (
    *("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"),
    *("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"),
    *("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"),
    *("fftfreq", "rfftfreq", "fftshift", "ifftshift"),
)


def _refused(name: str) -> Callable[..., NoReturn]:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"torch.fft.{name} is not offered: complex tensors do not compute yet. "
            "numpy.fft takes tensor.numpy()"
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Refuses."
    return function


def __getattr__(name: str) -> Callable[..., NoReturn]:
    if name not in _NAMES:
        raise AttributeError(f"module 'pellucid.fft' has no attribute {name!r}")
    return _refused(name)


def __dir__() -> list[str]:
    return sorted(_NAMES)
