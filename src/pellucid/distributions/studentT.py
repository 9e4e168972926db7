"""``StudentT``."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.utils import _standard_normal, broadcast_all, shape_of

__all__ = ["StudentT"]


class StudentT(Distribution):
    """A normal variate over the root mean square of ``df`` others."""

    arg_constraints: ClassVar = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        df: Any,
        loc: Any = 0.0,
        scale: Any = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(shape_of(self.df, df, loc, scale), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return pellucid.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        spread = self.scale.pow(2) * self.df / (self.df - 2)
        variance = pellucid.where(self.df > 2, spread, math.inf)
        return pellucid.where(self.df > 1, variance, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, self.df.dtype, self.df.device)
        squares = 2 * pellucid._standard_gamma((0.5 * self.df).expand(shape))
        return self.loc + self.scale * normal * (self.df / squares).sqrt()

    def _log_constant(self) -> Tensor:
        half = 0.5 * self.df
        return (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + half.lgamma()
            - (half + 0.5).lgamma()
        )

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        return -0.5 * (self.df + 1) * (y * y / self.df).log1p() - self._log_constant()

    def entropy(self) -> Tensor:
        half = 0.5 * self.df
        return self._log_constant() + (half + 0.5) * (
            (half + 0.5).digamma() - half.digamma()
        )
