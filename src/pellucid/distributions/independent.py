"""``Independent``."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.utils import sum_last

__all__ = ["Independent"]


class Independent(Distribution):
    """A distribution with the last batch dims reinterpreted as event dims."""

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        count = reinterpreted_batch_ndims
        batch = base_distribution.batch_shape
        if count > len(batch):
            raise ValueError(
                f"Independent: {count} dims of a batch of {len(batch)} dims cannot "
                "become part of the event"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, count
        shape = batch + base_distribution.event_shape
        split = len(batch) - count
        super().__init__(shape[:split], shape[split:], validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        count = self.reinterpreted_batch_ndims
        return constraints.independent(self.base_dist.support, count)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        expanded = self._get_checked_instance(Independent, _instance)
        count, shape = self.reinterpreted_batch_ndims, pellucid.Size(batch_shape)
        expanded.base_dist = self.base_dist.expand(shape + self.event_shape[:count])
        expanded.reinterpreted_batch_ndims = count
        Distribution.__init__(expanded, shape, self.event_shape, validate_args=False)
        expanded._validate_args = self._validate_args
        return expanded

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        if self.reinterpreted_batch_ndims:
            return False
        return self.base_dist.has_enumerate_support

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("the support of events of several elements")
        return self.base_dist.enumerate_support(expand)

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        log_densities = self.base_dist.log_prob(value)
        return sum_last(log_densities, self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
