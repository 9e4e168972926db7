"""``Pareto``."""

from __future__ import annotations

from typing import Any, ClassVar

from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions._families import ScaledPower

__all__ = ["Pareto"]


class Pareto(ScaledPower):
    """``scale * exp(e / alpha)`` for an exponential variate e."""

    arg_constraints: ClassVar = {
        "alpha": constraints.positive,
        "scale": constraints.positive,
    }
    alpha: Tensor

    def __init__(
        self, scale: Any, alpha: Any, validate_args: bool | None = None
    ) -> None:
        super().__init__(scale, alpha, "alpha", validate_args)

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.greater_than_eq(self.scale)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        waited = self._waited(sample_shape)
        return self.scale * (waited / self.alpha).exp()

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a = self.alpha
        return a.log() + a * self.scale.log() - (a + 1) * value.log()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 1 - (self.scale / value).pow(self.alpha)

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-(-value).log1p() / self.alpha).exp()

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
