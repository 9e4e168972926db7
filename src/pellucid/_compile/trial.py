"""A trial of whether a region makes a callable faster: times calls with and without.

The savings of a region can be estimated from its recorded ops; the cost of recording
for the rest of the program cannot. So calls are timed alternately in both ways, since
sizes and the machine's load change over time, and the faster way is used for a while.
A trial whose times are close goes on: noise must not decide it.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter_ns, thread_time_ns
from typing import Final

import pellucid

_WITHOUT: Final = (False, True, True, False)
"""Which calls run without a region; irregular, since programs may alternate."""
_FEWEST, _MOST = 8, 32
GAIN: Final = 0.98
"""The fraction of the time without a region that a region must reach."""
_CLOSE: Final = (0.85, 1.05)
"""Fractions between which a few calls do not decide."""


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
        return _WITHOUT[self._count() % len(_WITHOUT)]

    def add(self, time: int, *, without: bool) -> None:
        """Records the end of a call."""
        self.times[without].append(time)

    def is_done(self) -> bool:
        """Whether enough calls were made; asked after one in a region."""
        count = self._count()
        if count < _FEWEST or not all(self.times.values()):
            return False
        least, most = _CLOSE
        ratios = (self._ratio(min), self._ratio(median))
        return count >= _MOST or not any(least < ratio < most for ratio in ratios)

    def is_won(self, gain: float = GAIN) -> bool:
        """Whether the region was faster, also in the usual call."""
        return self._ratio(min) <= gain and self._ratio(median) <= gain

    def gain(self) -> float:
        """The nanoseconds that a usual call in a region saves."""
        return median(self.times[True]) - median(self.times[False])

    def _ratio(self, of: Callable[[list[int]], float]) -> float:
        return of(self.times[False]) / max(of(self.times[True]), 1)
