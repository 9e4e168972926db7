"""Records imports while a program runs: one-time cost.

A finder in front of ``sys.meta_path``, as the import system offers it: it asks the
finders behind it, and the loader of what they find runs inside of a span.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np

from pellucid.profiler._timeline.columns import Array


class Imports(MetaPathFinder):
    """From `start` to `stop`, the imports of the thread that started it."""

    def __init__(self) -> None:
        self._spans: list[tuple[int, int]] = []
        self._thread, self._depth = 0, 0

    def start(self) -> None:
        """Starts recording imports."""
        self._thread = threading.get_ident()
        sys.meta_path.insert(0, self)

    def stop(self) -> None:
        """Stops recording."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    @contextmanager
    def span(self) -> Iterator[None]:
        """Records what runs inside, unless it is inside of another span."""
        if threading.get_ident() != self._thread:
            yield
            return
        begin, self._depth = time.perf_counter_ns(), self._depth + 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._spans.append((begin, time.perf_counter_ns()))

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """What the other finders find, with a loader that is recorded."""
        with self.span():
            for finder in list(sys.meta_path):
                find = getattr(finder, "find_spec", None)
                if finder is self or find is None:
                    continue
                spec: ModuleSpec | None = find(fullname, path, target)
                if spec is not None:
                    if hasattr(spec.loader, "exec_module"):
                        spec.loader = _Recorded(spec.loader, self)
                    return spec
        return None

    def within(self, begin: Array, end: Array) -> Array:
        """The nanoseconds of given intervals that were spent in imports."""
        spans = np.array(self._spans, float).reshape(-1, 2)
        times = np.concatenate([[0.0], spans.ravel()])
        spent = np.repeat(np.append(0, (spans[:, 1] - spans[:, 0]).cumsum()), 2)[:-1]
        seconds: Array = np.interp(end, times, spent) - np.interp(begin, times, spent)
        return seconds


class _Recorded(Loader):
    """A module's loader inside of a span; the module keeps its own one."""

    def __init__(self, loader: Any, imports: Imports) -> None:
        self._loader, self._imports = loader, imports

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Makes the module, of an extension by loading its library."""
        with self._imports.span():
            module: ModuleType | None = self._loader.create_module(spec)
            return module

    def exec_module(self, module: ModuleType) -> None:
        """Runs the module's code."""
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        with self._imports.span():
            self._loader.exec_module(module)
