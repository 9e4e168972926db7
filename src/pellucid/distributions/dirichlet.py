"""``Dirichlet``."""

from __future__ import annotations

from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Vectors that sum to 1: gamma variates over their sum."""

    arg_constraints: ClassVar = {
        "concentration": constraints.independent(constraints.positive, 1)
    }
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self, concentration: Tensor, validate_args: bool | None = None
    ) -> None:
        if concentration.dim() < 1:
            raise ValueError("Dirichlet: concentration needs at least one dim")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = pellucid._standard_gamma(self.concentration.expand(shape))
        return drawn / drawn.sum(-1, keepdim=True)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def mode(self) -> Tensor:
        less = (self.concentration - 1).clamp(min=0)
        mode = less / less.sum(-1, keepdim=True)
        corner = (self.concentration < 1).all(-1, keepdim=True)
        place = self.concentration.argmax(-1)
        one_hot = pellucid.nn.functional.one_hot(place, self.concentration.shape[-1])
        return pellucid.where(corner, one_hot.to(mode.dtype), mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, keepdim=True)
        rest = self.concentration * (total - self.concentration)
        return rest / (total.pow(2) * (total + 1))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        powers = pellucid.xlogy(a - 1, value).sum(-1)
        return powers + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        a, k = self.concentration, self.concentration.shape[-1]
        total = a.sum(-1)
        return (
            a.lgamma().sum(-1)
            - total.lgamma()
            - (k - total) * total.digamma()
            - ((a - 1) * a.digamma()).sum(-1)
        )
