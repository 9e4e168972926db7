"""A trial of whether a region makes a callable faster: times calls with and without.

The savings of a region can be estimated from its recorded ops; the cost of recording
for the rest of the program cannot. So calls are timed alternately in both ways, since
sizes and the machine's load change over time, and the faster way is used for a while.
"""

from __future__ import annotations

from time import perf_counter_ns, thread_time_ns
from typing import Final

import pellucid

_WITHOUT: Final = (False, True, True, False) * 2
"""Which calls run without a region; irregular, since programs may alternate."""
_GAIN: Final = 0.98
"""The fraction of the time without a region that a region must reach."""


def working_time() -> int:
    """Nanoseconds: of this thread's work, which other programs do not disturb, if ops
    run on one thread; else of the clock.
    """
    alone = pellucid.get_num_threads() == 1
    return thread_time_ns() if alone else perf_counter_ns()


class Trial:
    """Times of calls, in nanoseconds. With concurrent threads a few more calls than
    requested are timed.
    """

    def __init__(self) -> None:
        self.times: dict[bool, list[int]] = {False: [], True: []}

    def _count(self) -> int:
        return sum(map(len, self.times.values()))

    def is_without_region(self) -> bool:
        """Whether the next call runs without a region."""
        return _WITHOUT[min(self._count(), len(_WITHOUT) - 1)]

    def add(self, time: int, *, without: bool) -> None:
        """Records the end of a call."""
        self.times[without].append(time)

    def is_done(self) -> bool:
        """Whether all calls were made; the last one is in a region."""
        return self._count() >= len(_WITHOUT) and all(self.times.values())

    def is_won(self) -> bool:
        """Whether the region was faster."""
        return min(self.times[False]) <= _GAIN * min(self.times[True])
