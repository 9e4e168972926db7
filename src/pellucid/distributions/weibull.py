"""``Weibull``."""

from __future__ import annotations

from typing import Any, ClassVar

from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions._families import ScaledPower
from pellucid.distributions.utils import EULER

__all__ = ["Weibull"]


class Weibull(ScaledPower):
    """``scale * e ** (1 / concentration)`` for an exponential variate e."""

    arg_constraints: ClassVar = {
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support = constraints.positive
    concentration: Tensor

    def __init__(
        self, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        super().__init__(scale, concentration, "concentration", validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        waited = self._waited(sample_shape)
        return self.scale * waited.pow(1 / self.concentration)

    @property
    def mean(self) -> Tensor:
        return self.scale * (1 + 1 / self.concentration).lgamma().exp()

    @property
    def mode(self) -> Tensor:
        k = self.concentration
        return self.scale * ((k - 1) / k).clamp(min=0).pow(1 / k)

    @property
    def variance(self) -> Tensor:
        k = self.concentration
        first, second = (1 + 1 / k).lgamma(), (1 + 2 / k).lgamma()
        return self.scale.pow(2) * (second.exp() - (2 * first).exp())

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        k, ratio = self.concentration, value / self.scale
        return (k / self.scale).log() + (k - 1) * ratio.log() - ratio.pow(k)

    def cdf(self, value: Tensor) -> Tensor:
        return -(-(value / self.scale).pow(self.concentration)).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-(-value).log1p()).pow(1 / self.concentration)

    def entropy(self) -> Tensor:
        k = self.concentration
        return EULER * (1 - 1 / k) + (self.scale / k).log() + 1
