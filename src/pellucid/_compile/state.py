"""What holds for all compiled callables: stance, backends without functions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakSet

# Backends that are given graphs only to run them as they are.
RUN_AS_WRITTEN: Final = ("eager", "eager_noexcept", "eager_debug", "aot_eager")
STANCES: Final = (
    "default",
    "eager_then_compile",
    "aot_eager_then_compile",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
)
# What reports look at (diagnose): all that are in use, and all made while one records.
_in_use: Final[WeakSet[Any]] = WeakSet()
_observers: Final[list[list[Any]]] = []
_stance: Final[list[str]] = ["default"]
_threads: Final = threading.local()


def note_compilation(made: Any) -> None:
    """Of every compiled callable, when it is made."""
    _in_use.add(made)
    for observer in _observers:
        observer.append(made)


@contextmanager
def compilations() -> Iterator[list[Any]]:
    """A list of those in use and of those that are made inside."""
    found = list(_in_use)
    _observers.append(found)
    try:
        yield found
    finally:
        _observers[:] = [o for o in _observers if o is not found]


def stance() -> str:
    return _stance[0]


def set_stance(name: str) -> None:
    _stance[0] = name


def capture() -> Any:
    """The mode that records this thread's ops for a backend (capture/mode.py), or
    None.
    """
    return getattr(_threads, "capture", None)


def set_capture(mode: Any) -> Any:
    """Returns the one before."""
    before = capture()
    _threads.capture = mode
    return before
