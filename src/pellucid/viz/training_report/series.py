"""A number of every step, and the few points of it that a page draws."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

_POINTS = 1000  # of a curve on the page


class Series:
    """Values by step, in the order of the steps."""

    def __init__(self) -> None:
        self.steps, self.values = array("q"), array("d")

    def add(self, step: int, value: float) -> None:
        """The step's value; of two for one step the later counts."""
        if self.steps and self.steps[-1] == step:
            self.values[-1] = value
            return
        self.steps.append(step)
        self.values.append(value)

    def data(self) -> dict[str, Any]:
        """Of each of at most 1,000 stretches of equal length: the last step, the mean,
        the least and the greatest value. A stretch without a finite value has null.
        """
        steps, values = np.array(self.steps), np.array(self.values)
        values = np.where(np.isfinite(values), values, np.nan)
        width = max(-(-len(values) // _POINTS), 1)
        starts = np.arange(0, len(values), width)
        ends = np.minimum(starts + width, len(values))
        is_known = ~np.isnan(values)
        counts = np.add.reduceat(is_known, starts, dtype=np.int64)
        sums = np.add.reduceat(np.where(is_known, values, 0), starts)
        means = np.divide(sums, counts, np.full(len(starts), np.nan), where=counts > 0)
        return {
            "steps": steps[ends - 1].tolist(),
            "means": _numbers(means),
            "least": _numbers(np.fmin.reduceat(values, starts)),
            "most": _numbers(np.fmax.reduceat(values, starts)),
            "last": _numbers(values[-1:])[0],
            "unknown": int((~is_known).sum()),  # infinite or not numbers
        }


def _numbers(values: Any) -> list[float | None]:
    """As JSON has them, with seven digits."""
    return [None if np.isnan(v) else float(f"{v:.7g}") for v in values]
