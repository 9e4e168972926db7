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
    """Times of calls, in nanoseconds, as they were made."""

    def __init__(self) -> None:
        self.times: list[int] = []

    def is_without_region(self) -> bool:
        """Whether the next call is to run as it is."""
        return _WITHOUT[len(self.times)]

    def add(self, time: int) -> None:
        """A call has ended."""
        self.times.append(time)

    def is_done(self) -> bool:
        """Whether all calls were made; the last one is in a region."""
        return len(self.times) == len(_WITHOUT)

    def is_won(self) -> bool:
        """Whether the region was faster."""
        best = [
            min(
                t
                for t, without in zip(self.times, _WITHOUT, strict=True)
                if without is w
            )
            for w in (False, True)
        ]
        return best[0] <= _GAIN * best[1]
