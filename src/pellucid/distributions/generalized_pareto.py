"""``GeneralizedPareto``."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.utils import broadcast_all, shape_of

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Values above a threshold ``loc``: heavy tails for a positive ``concentration``,
    exponential tails for 0 (Pickands 1975).
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(
        self,
        loc: Any,
        scale: Any,
        concentration: Any,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(
            loc, scale, concentration
        )
        shape = shape_of(self.loc, loc, scale, concentration)
        super().__init__(shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        k = self.concentration
        end = self.loc - self.scale / pellucid.where(k == 0, 1.0, k)
        high = pellucid.where(k < 0, end, math.inf)
        return constraints.interval(self.loc, high)

    def _is_exponential(self) -> Tensor:
        return self.concentration.abs() < 1e-8

    def _safe(self) -> Tensor:
        """The concentration, 1 where it is 0."""
        return pellucid.where(self._is_exponential(), 1.0, self.concentration)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(pellucid.rand(shape, dtype=self.loc.dtype))

    def _log_survival(self, value: Tensor) -> Tensor:
        z, k = (value - self.loc) / self.scale, self._safe()
        general = -(k * z).log1p() / k
        return pellucid.where(self._is_exponential(), -z, general)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        survival = self._log_survival(value)
        return (1 + self.concentration) * survival - self.scale.log()

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of ``1 - cdf``."""
        if self._validate_args:
            self._validate_sample(value)
        return self._log_survival(value)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of ``cdf``."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        k, logarithm = self._safe(), (-value).log1p()
        standard = (-k * logarithm).expm1() / k
        standard = pellucid.where(self._is_exponential(), -logarithm, standard)
        return self.loc + self.scale * standard

    @property
    def mean(self) -> Tensor:
        k = self.concentration
        safe = pellucid.where(k < 1, k, 0.5)
        return pellucid.where(k < 1, self.loc + self.scale / (1 - safe), math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        k = self.concentration
        safe = pellucid.where(k < 0.5, k, 0.25)
        variance = self.scale.square() / ((1 - safe).square() * (1 - 2 * safe))
        return pellucid.where(k < 0.5, variance, math.nan)

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
