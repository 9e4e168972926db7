"""The source location of this process's Python code, for ranks that wait for it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from types import FrameType

import pellucid

_PACKAGE = os.path.dirname(pellucid.__file__) + os.sep


def _outside(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((_PACKAGE, "<frozen")):
            yield frame
        frame = frame.f_back


def call_site() -> str:
    """File and line of the user's call, such as "train.py:31"."""
    frame = next(_outside(sys._getframe(1)), None)
    if frame is None:
        return "no file"
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def user_frames() -> list[dict[str, str | int]]:
    """The calling thread's frames outside this package, innermost first."""
    return [
        {
            "name": frame.f_code.co_name,
            "filename": frame.f_code.co_filename,
            "line": frame.f_lineno,
        }
        for frame in _outside(sys._getframe(1))
    ]


def main_thread_place() -> str:
    """Functions and lines of the main thread, innermost first, at most three."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    places = [
        f"{f.f_code.co_name} ({os.path.basename(f.f_code.co_filename)}:{f.f_lineno})"
        for _, f in zip(range(3), _outside(frame), strict=False)
    ]
    return ", called by ".join(places) or "no Python code"
