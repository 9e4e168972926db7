"""``Gumbel``."""

from __future__ import annotations

import math
from typing import Any

from pellucid import Tensor
from pellucid.distributions._families import LocationScale, open_uniform
from pellucid.distributions.utils import EULER

__all__ = ["Gumbel"]


class Gumbel(LocationScale):
    """The limit distribution of the maximum of many variates."""

    def _standard(self, shape: Any) -> Tensor:
        return -(-open_uniform(shape, self.loc).log()).log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * EULER

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._checked(value)
        return -x - (-x).exp() - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        return (-(-self._checked(value)).exp()).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + EULER)
