"""``HalfCauchy``."""

from __future__ import annotations

import math

import pellucid
from pellucid import Tensor
from pellucid.distributions._half import Half
from pellucid.distributions.cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """The absolute value of a Cauchy variate with ``loc`` 0."""

    _whole = Cauchy

    @property
    def mean(self) -> Tensor:
        return pellucid.full_like(self.scale, math.inf)

    @property
    def variance(self) -> Tensor:
        return pellucid.full_like(self.scale, math.inf)
