"""``InverseGamma``."""

from __future__ import annotations

from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.gamma import Gamma
from pellucid.distributions.transformed_distribution import TransformedDistribution
from pellucid.distributions.transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The distribution of ``1 / x`` for a gamma variate x."""

    arg_constraints: ClassVar = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True
    base_dist: Any

    def __init__(
        self, concentration: Any, rate: Any, validate_args: bool | None = None
    ) -> None:
        base = Gamma(concentration, rate, validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        expanded = self._get_checked_instance(InverseGamma, _instance)
        return super().expand(batch_shape, expanded)

    @property
    def concentration(self) -> Tensor:
        """The shape."""
        concentration: Tensor = self.base_dist.concentration
        return concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the gamma variate."""
        rate: Tensor = self.base_dist.rate
        return rate

    @property
    def mean(self) -> Tensor:
        a = self.concentration
        return pellucid.where(a > 1, self.rate / (a - 1), float("inf"))

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        variance = self.rate.square() / ((a - 1).square() * (a - 2))
        return pellucid.where(a > 2, variance, float("inf"))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
