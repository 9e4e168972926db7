"""``Laplace``."""

from __future__ import annotations

import math
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.distributions._families import LocationScale

__all__ = ["Laplace"]


class Laplace(LocationScale):
    """The double exponential distribution about ``loc``."""

    def _standard(self, shape: Any) -> Tensor:
        eps = pellucid.finfo(self.loc.dtype).eps
        u = pellucid.empty(shape, dtype=self.loc.dtype).uniform_(eps - 1, 1)
        return -u.sign() * (-u.abs()).log1p()

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        return -(2 * self.scale).log() - self._checked(value).abs()

    def cdf(self, value: Tensor) -> Tensor:
        x = self._checked(value)
        return 0.5 - 0.5 * x.sign() * (-x.abs()).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
