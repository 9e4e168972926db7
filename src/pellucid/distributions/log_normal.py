"""``LogNormal``."""

from __future__ import annotations

from typing import Any

from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions._families import LocationScale
from pellucid.distributions.normal import Normal

__all__ = ["LogNormal"]


class LogNormal(LocationScale):
    """The distribution of ``exp(x)`` for a normal x."""

    support = constraints.positive  # type: ignore[assignment]

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return Normal(self.loc, self.scale, False).rsample(sample_shape).exp()

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        squared = self.scale.pow(2)
        return squared.expm1() * (2 * self.loc + squared).exp()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logarithm = value.log()
        return Normal(self.loc, self.scale, False).log_prob(logarithm) - logarithm

    def cdf(self, value: Tensor) -> Tensor:
        return Normal(self.loc, self.scale, False).cdf(value.log())

    def icdf(self, value: Tensor) -> Tensor:
        return Normal(self.loc, self.scale, False).icdf(value).exp()

    def entropy(self) -> Tensor:
        return Normal(self.loc, self.scale, False).entropy() + self.loc
