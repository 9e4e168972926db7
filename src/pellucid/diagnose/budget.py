"""How long a report may take: three times the program's time, and a few seconds.

`__main__.py` starts the budget with the command; `experiments.py` shares it out among
the comparison of values, pairs of runs and replays, and says what was left out.
"""

from __future__ import annotations

import time

_TIMES, _BESIDES = 3, 4.0  # of a program's time, and seconds
_PATIENCE = 3


class Budget:
    """Counts seconds since it was made: those of the CPU of this process, and what
    children spent, asleep too, but not without a core. ``ran``: seconds of the program;
    those of the recorded run until another run is timed.
    """

    def __init__(self) -> None:
        self._begin, self._spent = time.process_time(), 0.0
        self.ran = float("inf")
        self._is_timed = False
        self._slower = 1.0

    @property
    def left(self) -> float:
        """Seconds until the end."""
        spent = self._spent + time.process_time() - self._begin
        return _TIMES * self.ran + _BESIDES - spent

    @property
    def patience(self) -> float:
        """Seconds of the wall after which a child that should be done is ended: other
        programs may have the cores, as they had them lately.
        """
        return _PATIENCE * max(self.left, self.ran) * self._slower

    def spend(self, seconds: float, wall: float = 0.0) -> None:
        """A child took some seconds, and some of the wall."""
        self._spent += seconds
        self._slower = max(wall / max(seconds, 0.1), 1.0)

    def recorded(self, seconds: float) -> None:
        """The program took this long while it was recorded, or longer."""
        self.ran = seconds

    def timed(self, seconds: float) -> None:
        """A run took this long."""
        self.ran = min(self.ran, seconds) if self._is_timed else seconds
        self._is_timed = True
