"""Records imports while a program runs: one-time cost.

The interpreter and ``importlib.import_module`` both load modules that are not loaded
yet by one function, which is wrapped while a recording runs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from importlib import _bootstrap
from typing import Any

import numpy as np

from pellucid.profiler._timeline.columns import Array

_FUNCTION = "_find_and_load"


class Imports:
    """From `start` to `stop`, the imports of the thread that started it."""

    def __init__(self) -> None:
        self._original: Callable[..., Any] | None = getattr(_bootstrap, _FUNCTION, None)
        self._spans: list[tuple[int, int]] = []

    def start(self) -> None:
        """Starts recording imports."""
        original = self._original
        if original is None:
            return
        spans, thread, depth = self._spans, threading.get_ident(), 0

        def load(*args: Any) -> Any:
            nonlocal depth
            if threading.get_ident() != thread:
                return original(*args)
            begin, depth = time.perf_counter_ns(), depth + 1
            try:
                return original(*args)
            finally:
                depth -= 1
                if not depth:
                    spans.append((begin, time.perf_counter_ns()))

        setattr(_bootstrap, _FUNCTION, load)

    def stop(self) -> None:
        """Stops recording."""
        if self._original is not None:
            setattr(_bootstrap, _FUNCTION, self._original)

    def within(self, begin: Array, end: Array) -> Array:
        """The nanoseconds of given intervals that were spent in imports."""
        spans = np.array(self._spans, float).reshape(-1, 2)
        times = np.concatenate([[0.0], spans.ravel()])
        spent = np.repeat(np.append(0, (spans[:, 1] - spans[:, 0]).cumsum()), 2)[:-1]
        seconds: Array = np.interp(end, times, spent) - np.interp(begin, times, spent)
        return seconds
