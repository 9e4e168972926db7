"""How long a report may take: three times the program's time, and a few seconds.

`__main__.py` starts the budget with the command; `experiments.py` shares it out among
the comparison of values, pairs of runs and replays, and says what was left out.
"""

from __future__ import annotations

import time

_TIMES, _BESIDES = 3, 4.0  # of a program's time, and seconds


class Budget:
    """Begins when it is made. ``ran``: seconds of the program, with a core; those of
    the recorded run until another run is timed.
    """

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self.ran = float("inf")
        self._is_timed = False

    @property
    def left(self) -> float:
        """Seconds, without those in which other programs had the cores."""
        end = self._begin + _TIMES * self.ran + _BESIDES
        return end - time.perf_counter()

    def without_core(self, seconds: float) -> None:
        """Does not count some seconds."""
        self._begin += seconds

    def recorded(self, seconds: float) -> None:
        """The program took this long while it was recorded, or longer."""
        self.ran = seconds

    def timed(self, seconds: float) -> None:
        """A run took this long."""
        self.ran = min(self.ran, seconds) if self._is_timed else seconds
        self._is_timed = True
