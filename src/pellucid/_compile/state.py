"""What holds for all compiled callables: the stance, and which capture is running."""

from __future__ import annotations

import threading
from typing import Any, Final

STANCES: Final = (
    "default",
    "eager_then_compile",
    "aot_eager_then_compile",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
)
_stance: Final[list[str]] = ["default"]


class _OfThread(threading.local):
    captures: int = 0


_thread: Final = _OfThread()


def stance() -> str:
    return _stance[0]


def set_stance(name: str) -> None:
    _stance[0] = name


def is_capturing() -> bool:
    """Whether this thread captures a graph for a backend of the user."""
    return _thread.captures > 0


class Capturing:
    """A scope in which ``is_capturing``."""

    def __enter__(self) -> None:
        _thread.captures += 1

    def __exit__(self, *error: Any) -> None:
        _thread.captures -= 1
