"""cuDNN: absent. Its switches can be set and read; they have no effect."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True
fp32_precision = "none"


def is_available() -> bool:
    """False: there is no cuDNN."""
    return False


def version() -> None:
    """None: there is no cuDNN."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """False: no tensor is on a GPU."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str = "none",
) -> tuple[Any, ...]:
    """Sets the switches that are given; returns all as they were."""
    module = sys.modules[__name__]
    given = {
        "enabled": _enabled,
        "benchmark": _benchmark,
        "benchmark_limit": _benchmark_limit,
        "deterministic": _deterministic,
        "allow_tf32": _allow_tf32,
        "fp32_precision": _fp32_precision,
    }
    before = tuple(getattr(module, name) for name in given)
    for name, value in given.items():
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
    """Sets the switches for a block."""
    before = set_flags(
        enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision
    )
    try:
        yield
    finally:
        set_flags(*before)
