"""Records the calls of ``time.sleep`` of a program's thread, with their lines."""

from __future__ import annotations

import time
from threading import get_ident
from typing import Any, SupportsIndex

SLEEP = "time.sleep"  # the name of the ranges


class Sleeping:
    """From `start` to `stop`, a range in the log around each call."""

    def start(self) -> None:
        """Record from now on."""
        from pellucid.profiler import record_function

        original, thread = time.sleep, get_ident()

        def sleep(seconds: float | SupportsIndex, /) -> None:
            if get_ident() != thread:  # its waits are not the program's
                return original(seconds)
            with record_function(SLEEP):
                return original(seconds)

        self._original: Any = original
        time.sleep = sleep

    def stop(self) -> None:
        """Record no more."""
        time.sleep = self._original
