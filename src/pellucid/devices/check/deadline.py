"""Ends a run of the kit when a check hangs, and says which call of the backend does.

Nothing can return to a program from a backend that does not, so the process ends: with
the check, the last step that was offered, and every thread's traceback.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pellucid.devices.launching import Event

# How long after the deadline a process ends whose interpreter lock is never free.
_LOCKED_SECONDS = 5.0


@contextmanager
def deadline(seconds: float, what: str, log: Sequence[Event]) -> Iterator[None]:
    """A block that must end within ``seconds``; ``log`` has the steps so far."""

    def end() -> None:
        last = log[-1] if log else None
        after = f", after {last.op} ({last.form}) {last.outcome}" if last else ""
        print(
            f"{what} has not ended after {seconds:g} s{after}. The backend hangs in "
            "the call that these tracebacks show; --timeout sets the limit.",
            file=sys.stderr,
            flush=True,
        )
        faulthandler.dump_traceback(all_threads=True)
        os._exit(1)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    faulthandler.dump_traceback_later(seconds + _LOCKED_SECONDS, exit=True)
    try:
        yield
    finally:
        timer.cancel()
        faulthandler.cancel_dump_traceback_later()
