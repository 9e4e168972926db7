"""The time for which a thread was ready to run and had no core (Linux alone)."""

from __future__ import annotations

import threading


def run_delay() -> float:
    """The seconds since the calling thread began; 0.0 if the system does not report
    them.

    Wall time without CPU time is either this, when other programs had the cores, or
    sleep, when the thread waited for something.
    """
    try:
        thread = threading.get_native_id()
        with open(f"/proc/self/task/{thread}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
