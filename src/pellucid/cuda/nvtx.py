"""``torch.cuda.nvtx``: marks for NVIDIA's profilers, which need a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError: marks are for a device's profiler."""
    raise RuntimeError(
        "NVTX functions not installed. Are you sure you have a CUDA build?\n"
        "Pellucid computes on the CPU; torch.profiler.record_function marks blocks."
    )


range_push = range_pop = range_start = range_end = mark = _refuse


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Marks a block; raises RuntimeError as the others do."""
    _refuse()
    yield
