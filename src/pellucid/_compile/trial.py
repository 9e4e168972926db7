"""Whether a region makes a callable faster: some calls with one, some without.

What a region spares is estimated of the ops that it recorded; what recording costs the
rest of the program cannot be. So calls are timed in both ways by turns, since sizes and
the machine's load change over time, and the faster way is taken for a while.
"""

from __future__ import annotations

from typing import Final

_WITHOUT: Final = (False, True, True, False) * 2
"""Which calls run without a region: programs may do different things by turns."""
_GAIN: Final = 0.98
"""What a region has to reach of the time without one."""


class Trial:
    """Times of calls, in nanoseconds. Threads may call at once: then a few calls more
    than requested are timed.
    """

    def __init__(self) -> None:
        self.times: dict[bool, list[int]] = {False: [], True: []}

    def _count(self) -> int:
        return sum(map(len, self.times.values()))

    def is_without_region(self) -> bool:
        """Whether the next call is to run as it is."""
        return _WITHOUT[min(self._count(), len(_WITHOUT) - 1)]

    def add(self, time: int, *, without: bool) -> None:
        """A call has ended."""
        self.times[without].append(time)

    def is_done(self) -> bool:
        """Whether all calls were made; the last one is in a region."""
        return self._count() >= len(_WITHOUT) and all(self.times.values())

    def is_won(self) -> bool:
        """Whether the region was faster."""
        return min(self.times[False]) <= _GAIN * min(self.times[True])
