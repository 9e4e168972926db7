"""``Cauchy``."""

from __future__ import annotations

import math
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.distributions._families import LocationScale

__all__ = ["Cauchy"]


class Cauchy(LocationScale):
    """The distribution of the ratio of two normal numbers; it has no mean."""

    def _standard(self, shape: Any) -> Tensor:
        return pellucid.empty(shape, dtype=self.loc.dtype).cauchy_()

    @property
    def mean(self) -> Tensor:
        return pellucid.full_like(self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return pellucid.full_like(self.loc, math.inf)

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._checked(value)
        return -math.log(math.pi) - self.scale.log() - (x * x).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self._checked(value).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
