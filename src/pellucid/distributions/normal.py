"""``Normal``."""

from __future__ import annotations

import math
from typing import Any

from pellucid import Tensor
from pellucid.distributions._families import LocationScale
from pellucid.distributions.exp_family import ExponentialFamily
from pellucid.distributions.utils import LOG_ROOT_2_PI, _standard_normal

__all__ = ["Normal"]


class Normal(LocationScale, ExponentialFamily):
    """The normal distribution with mean ``loc`` and standard deviation ``scale``.

    >>> torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor(0.0))
    tensor(-0.9189)
    """

    def _standard(self, shape: Any) -> Tensor:
        return _standard_normal(shape, self.loc.dtype, self.loc.device)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2)

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._checked(value)
        return -(x * x) / 2 - self.scale.log() - LOG_ROOT_2_PI

    def cdf(self, value: Tensor) -> Tensor:
        return 0.5 * (1 + (self._checked(value) / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + LOG_ROOT_2_PI + self.scale.log()
