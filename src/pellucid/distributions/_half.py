"""``HalfNormal`` and ``HalfCauchy``: absolute values of symmetric variates."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.transformed_distribution import TransformedDistribution
from pellucid.distributions.transforms import AbsTransform


class Half(TransformedDistribution):
    """The absolute value of a distribution that is symmetric about 0."""

    arg_constraints: ClassVar = {"scale": constraints.positive}
    has_rsample = True
    support = constraints.nonnegative
    _whole: Any

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        whole = type(self)._whole(0, scale, validate_args)
        super().__init__(whole, AbsTransform(), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        expanded = self._get_checked_instance(Half, _instance)
        return super().expand(batch_shape, expanded)

    @property
    def scale(self) -> Tensor:
        return self.base_dist.scale  # type: ignore[no-any-return]

    @property
    def mode(self) -> Tensor:
        return pellucid.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        log_density = self.base_dist.log_prob(value) + math.log(2)
        return pellucid.where(value >= 0, log_density, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1  # type: ignore[no-any-return]

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)  # type: ignore[no-any-return]

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)  # type: ignore[no-any-return]
