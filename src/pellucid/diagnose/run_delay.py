"""The time for which threads were ready to run and had no core (Linux alone).

Wall time without CPU time is either this, when other programs had the cores, or sleep,
when the thread waited for something. What a thread waited for may itself have had no
core: the other threads of a parallel region.
"""

from __future__ import annotations

import os
import threading
import time


def run_delay(thread: int | None = None) -> float:
    """The seconds since a thread began, by default the calling one; 0.0 if the system
    does not report them.
    """
    try:
        number = threading.get_native_id() if thread is None else thread
        with open(f"/proc/self/task/{number}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


class Clock:
    """From its creation on, the calling thread's seconds: ``wall``; ``without_core``,
    its own delay and that of other threads while it slept; ``asleep``, the others.
    """

    def __init__(self) -> None:
        self._cpu, self._own = time.thread_time(), run_delay()
        self._others = _delays_of_others()
        self._begin = time.perf_counter()

    def read(self) -> tuple[float, float, float]:
        """(wall, without_core, asleep)."""
        wall = time.perf_counter() - self._begin
        cpu, own = time.thread_time() - self._cpu, run_delay() - self._own
        own = min(own, max(wall - cpu, 0.0))
        asleep = max(wall - cpu - own, 0.0)
        others = (
            delay - self._others.get(thread, 0.0)
            for thread, delay in _delays_of_others().items()
        )
        awaited = min(max(others, default=0.0), asleep)
        return wall, own + awaited, asleep - awaited


def _delays_of_others() -> dict[int, float]:
    """By thread of this process except the calling one."""
    try:
        threads = map(int, os.listdir("/proc/self/task"))
    except OSError:
        return {}
    own = threading.get_native_id()
    return {thread: run_delay(thread) for thread in threads if thread != own}
