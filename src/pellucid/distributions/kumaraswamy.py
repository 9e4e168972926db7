"""``Kumaraswamy``."""

from __future__ import annotations

from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.transformed_distribution import TransformedDistribution
from pellucid.distributions.transforms import AffineTransform, PowerTransform
from pellucid.distributions.uniform import Uniform
from pellucid.distributions.utils import EULER, broadcast_all

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """``(1 - u ** (1 / b)) ** (1 / a)`` for a uniform u (Kumaraswamy 1980)."""

    arg_constraints: ClassVar = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        concentration1: Any,
        concentration0: Any,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(
            concentration1, concentration0
        )
        base = Uniform(
            pellucid.zeros_like(self.concentration0),
            pellucid.ones_like(self.concentration0),
            validate_args=validate_args,
        )
        transforms = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        expanded = self._get_checked_instance(Kumaraswamy, _instance)
        expanded.concentration1 = self.concentration1.expand(batch_shape)
        expanded.concentration0 = self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, expanded)

    def _moment(self, order: int) -> Tensor:
        """The expected value of ``x ** order``."""
        a, b = self.concentration1, self.concentration0
        value = 1 + order / a
        return (b.log() + value.lgamma() + b.lgamma() - (value + b).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)).pow(1 / a)
        return pellucid.where((a < 1) | (b < 1), float("nan"), mode)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + EULER
        return (
            (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
        )
