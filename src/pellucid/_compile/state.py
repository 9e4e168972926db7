"""Global state of compiled callables: the stance, built-in backends, observers."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakSet

# Backends that only run the graphs they receive.
RUN_AS_WRITTEN: Final = ("eager", "eager_noexcept", "eager_debug", "aot_eager")
STANCES: Final = (
    "default",
    "eager_then_compile",
    "aot_eager_then_compile",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
)
# For reports (diagnose): live callables, and those created during a recording.
_in_use: Final[WeakSet[Any]] = WeakSet()
_observers: Final[list[list[Any]]] = []
_stance: Final[list[tuple[str, Any]]] = [("default", None)]  # and a forced backend
_threads: Final = threading.local()


def note_compilation(made: Any) -> None:
    """Registers every compiled callable when it is created."""
    _in_use.add(made)
    for observer in _observers:
        observer.append(made)


def in_use() -> list[Any]:
    """The compilations of all live callables."""
    return list(_in_use)


@contextmanager
def compilations() -> Iterator[list[Any]]:
    """A scope: lists the live callables and those created inside."""
    found = in_use()
    _observers.append(found)
    try:
        yield found
    finally:
        _observers[:] = [o for o in _observers if o is not found]


@functools.cache
def config() -> Any:
    """``torch._dynamo.config``."""
    from pellucid._dynamo import config

    return config


@functools.cache
def counters() -> Any:
    """``torch._dynamo.utils.counters``."""
    from pellucid._dynamo.utils import counters

    return counters


def stance() -> str:
    return _stance[0][0]


def forced_backend() -> Any:
    """The backend that replaces every callable's own, or None."""
    return _stance[0][1]


def set_stance(name: str, forced_backend: Any) -> None:
    _stance[0] = name, forced_backend


@contextmanager
def exporting() -> Iterator[None]:
    """A scope in which ``torch.export`` traces in this thread."""
    before = is_exporting()
    _threads.exporting = True
    try:
        yield
    finally:
        _threads.exporting = before


def is_exporting() -> bool:
    return getattr(_threads, "exporting", False)


def capture() -> Any:
    """The mode (capture/mode.py) that captures this thread's graphs for a backend, or
    None.
    """
    return getattr(_threads, "capture", None)


def set_capture(mode: Any) -> Any:
    """Sets the mode; returns the previous one."""
    before = capture()
    _threads.capture = mode
    return before
