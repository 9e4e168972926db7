"""``FisherSnedecor``."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.utils import broadcast_all, shape_of

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The F distribution: a ratio of mean squares of ``df1`` and ``df2`` normals."""

    arg_constraints: ClassVar = {
        "df1": constraints.positive,
        "df2": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(shape_of(self.df1, df1, df2), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return pellucid.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return pellucid.where(self.df1 > 2, mode, math.nan)

    @property
    def variance(self) -> Tensor:
        a, b = self.df1, self.df2
        variance = 2 * b.pow(2) * (a + b - 2) / (a * (b - 2).pow(2) * (b - 4))
        return pellucid.where(b > 4, variance, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        above = pellucid._standard_gamma((0.5 * self.df1).expand(shape)) / self.df1
        below = pellucid._standard_gamma((0.5 * self.df2).expand(shape)) / self.df2
        return above / below

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b = 0.5 * self.df1, 0.5 * self.df2
        ratio = self.df1 / self.df2
        constant = (a + b).lgamma() - a.lgamma() - b.lgamma()
        powers = a * ratio.log() + (a - 1) * value.log()
        return constant + powers - (a + b) * (ratio * value).log1p()
