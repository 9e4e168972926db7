"""What holds for all compiled callables: stance, backends without functions."""

from __future__ import annotations

import threading
from typing import Any, Final

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
_stance: Final[list[str]] = ["default"]
_threads: Final = threading.local()


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
