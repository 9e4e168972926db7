"""``torch.cpu``: the CPU under the names that device modules have.

Ops run when they are called, so streams and events order nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


def __getattr__(name: str) -> Any:
    if name in ("amp", "memory"):
        return import_module(f"pellucid.cpu.{name}")
    memory = import_module("pellucid.cpu.memory")
    if name in memory.__all__:  # as other devices' modules have them
        return getattr(memory, name)
    raise AttributeError(f"module 'pellucid.cpu' has no attribute {name!r}")


class Stream:
    """A queue of work: everything submitted is already done."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Stream) -> None:
        """Returns at once."""

    def record_event(self) -> Event:
        """An event that has happened."""
        return Event()

    def wait_event(self, event: Event) -> None:
        """Returns at once."""


class Event:
    """A place in a queue of work: it has always been reached."""

    def query(self) -> bool:
        """True."""
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Does nothing."""

    def synchronize(self) -> None:
        """Returns at once."""

    def wait(self, stream: Stream | None = None) -> None:
        """Returns at once."""


_stream = Stream()


@contextmanager
def StreamContext(stream: Stream | None) -> Iterator[None]:
    """A context in which ``stream`` would be the current one."""
    yield


def stream(stream: Stream | None) -> Any:
    """``StreamContext(stream)``."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The only stream."""
    return _stream


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """The name of the only device."""
    return "cpu"


def set_device(device: Any) -> None:
    """Does nothing: there is one device."""


def synchronize(device: Any = None) -> None:
    """Returns at once: ops have run when their calls return."""
