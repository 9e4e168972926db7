"""cuDNN: convolutions on GPUs of NVIDIA, where its library is installed.

The switches are attributes of this module, as in PyTorch: ``enabled``, ``benchmark``,
``benchmark_limit``, ``deterministic``, ``allow_tf32``, ``fp32_precision``,
``conv.fp32_precision`` and ``rnn.fp32_precision``. Without the library, or where it
does not take a convolution, the project's kernels run, and the switches have no effect.
The runtime's side is ``runtime/cuda/convolutions.h``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

from pellucid import _C
from pellucid._package.vendor_libraries import find_library

enabled = True
benchmark = False
benchmark_limit: int | None = 10
deterministic = False
allow_tf32 = True
fp32_precision = "none"

_SWITCHES = (
    *("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32"),
    "fp32_precision",
)
_FLOAT_DTYPES = ("torch.float32", "torch.float64", "torch.float16", "torch.bfloat16")


def _require_precision(given: Any) -> None:
    if given not in ("none", "ieee", "tf32"):
        raise ValueError(
            f"fp32_precision is {given!r}; give 'ieee', 'tf32', or 'none' for what the "
            "more general switch says"
        )


class _Precision:
    """How float32 is multiplied in one kind of op: ``fp32_precision``, ``"ieee"`` or
    ``"tf32"``; set to ``"none"``, it is the module's, or else what ``allow_tf32`` says.
    """

    def __init__(self) -> None:
        self._own = "none"

    @property
    def fp32_precision(self) -> str:
        """The precision that is used."""
        module = sys.modules[__name__]
        for chosen in (self._own, module.fp32_precision):
            if chosen != "none":
                return str(chosen)
        return "tf32" if module.allow_tf32 else "ieee"

    @fp32_precision.setter
    def fp32_precision(self, precision: str) -> None:
        _require_precision(precision)
        self._own = precision
        _tell(sys.modules[__name__])


conv = _Precision()
rnn = _Precision()  # no effect: recurrent layers run by the project's kernels


class _Switches(ModuleType):
    """The module's class: passes every switch that is set to the runtime."""

    def __setattr__(self, name: str, value: Any) -> None:
        before = getattr(self, name, None)
        super().__setattr__(name, value)
        if name not in _SWITCHES:
            return
        try:
            _tell(self)
        except (TypeError, ValueError, OverflowError):
            super().__setattr__(name, before)
            raise


def _tell(module: Any) -> None:
    _require_precision(module.fp32_precision)
    limit = module.benchmark_limit or 0
    if limit < 0:
        raise ValueError(
            f"benchmark_limit is {limit}; give how many algorithms to time, 0 for all"
        )
    allows = module.conv.fp32_precision == "tf32"
    _C._set_cudnn(
        *(bool(module.enabled), bool(module.benchmark), limit),
        *(bool(module.deterministic), allows),
    )


@cache
def _library() -> str:
    """Where the library is; "" without a GPU or where it is not installed."""
    if not _C._find_cuda()[0]:
        return ""
    return find_library("cudnn")


def is_available() -> bool:
    """Whether there is a GPU of NVIDIA, and the library is installed."""
    return bool(_library())


def version() -> int | None:
    """The library's version, such as 91002 for 9.10.2; None without the library."""
    return _C._cudnn_version(_library()) if is_available() else None


def is_acceptable(tensor: Any) -> bool:
    """Whether a convolution of the tensor may run by the library: it is on a GPU and
    has a floating-point dtype, and the library is installed and enabled."""
    is_there = tensor.device.type == "cuda" and str(tensor.dtype) in _FLOAT_DTYPES
    return is_there and enabled and is_available()


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str | None = None,
) -> tuple[Any, ...]:
    """Sets the switches that are given; returns all as they were."""
    module = sys.modules[__name__]
    given = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)
    before = tuple(getattr(module, name) for name in _SWITCHES)
    for name, value in zip(_SWITCHES, (*given, _fp32_precision), strict=True):
        if value is not None:
            setattr(module, name, value)
    return before


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """Sets the switches for a block.

    ``benchmark``: the first convolution of every size times the library's algorithms,
    ``benchmark_limit`` of them (0: all), and the project's kernels, and the fastest are
    used from then on. ``deterministic``: only algorithms that give the same bits in
    every run. ``allow_tf32``: whether products of float32 may be rounded to tf32.

        with torch.backends.cudnn.flags(enabled=True, deterministic=True):
            y = conv(x)
    """
    before = set_flags(
        enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision
    )
    try:
        yield
    finally:
        for name, value in zip(_SWITCHES, before, strict=True):
            setattr(sys.modules[__name__], name, value)


sys.modules[__name__].__class__ = _Switches
