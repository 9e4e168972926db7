"""Started processes: each in its own session, ended with the one that started it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal

__all__ = ["die_with_parent", "end_session"]

_SET_DEATH_SIGNAL = 1  # prctl's PR_SET_PDEATHSIG


def die_with_parent() -> None:
    """In the child: requests SIGKILL when its parent ends in any way."""
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)


def end_session(pid: int) -> None:
    """Kills the session's processes that are left."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
