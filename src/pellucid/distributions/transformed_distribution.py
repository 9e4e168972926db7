"""``TransformedDistribution``: a distribution under transforms."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.independent import Independent
from pellucid.distributions.transforms import ComposeTransform, Transform
from pellucid.distributions.utils import sum_last

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of ``t(x)`` for an x of ``base_distribution``.

    >>> base = torch.distributions.Normal(0.0, 1.0)
    >>> exp = torch.distributions.ExpTransform()
    >>> log_normal = torch.distributions.TransformedDistribution(base, exp)
    >>> log_normal.log_prob(torch.tensor(1.0))
    tensor(-0.9189)
    """

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Any,
        validate_args: bool | None = None,
    ) -> None:
        sequence = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(sequence, list) or not all(
            isinstance(t, Transform) for t in sequence
        ):
            raise ValueError(
                f"TransformedDistribution takes a Transform or a list of them, not "
                f"{transforms!r}"
            )
        self.transforms: list[Transform] = sequence
        whole = ComposeTransform(sequence)
        before = base_distribution.batch_shape + base_distribution.event_shape
        domain_events = whole.domain.event_dim
        if len(before) < domain_events:
            raise ValueError(
                f"the transforms take events of {domain_events} dims, and the "
                f"distribution's shape is {tuple(before)}"
            )
        shape = whole.forward_shape(before)
        base = base_distribution.expand(
            whole.inverse_shape(shape)[
                : len(before) - len(base_distribution.event_shape)
            ]
        )
        moved = domain_events - len(base.event_shape)
        self.base_dist: Any = Independent(base, moved) if moved > 0 else base
        grown = whole.codomain.event_dim - whole.domain.event_dim
        events = max(whole.codomain.event_dim, len(self.base_dist.event_shape) + grown)
        split = len(shape) - events
        super().__init__(shape[:split], shape[split:], validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        has_rsample: bool = self.base_dist.has_rsample
        return has_rsample

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        if not self.transforms:
            base_support: constraints.Constraint = self.base_dist.support
            return base_support
        support: constraints.Constraint = self.transforms[-1].codomain
        missing = len(self._event_shape) - support.event_dim
        return constraints.independent(support, missing) if missing > 0 else support

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        expanded = self._get_checked_instance(TransformedDistribution, _instance)
        shape = pellucid.Size(batch_shape)
        whole = ComposeTransform(self.transforms)
        before = whole.inverse_shape(shape + self.event_shape)
        events = len(self.base_dist.event_shape)
        expanded.base_dist = self.base_dist.expand(before[: len(before) - events])
        expanded.transforms = self.transforms
        Distribution.__init__(expanded, shape, self.event_shape, validate_args=False)
        expanded._validate_args = self._validate_args
        return expanded

    def _transformed(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def _original(self, y: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            y = transform.inv(y)
        return y

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with pellucid.no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        events, total, y = len(self._event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            events += transform.domain.event_dim - transform.codomain.event_dim
            term = transform.log_abs_det_jacobian(x, y)
            total = total - sum_last(term, events - transform.domain.event_dim)  # type: ignore[assignment]
            y = x
        log_density = self.base_dist.log_prob(y)
        log_density = sum_last(log_density, events - len(self.base_dist.event_shape))
        return total + log_density

    def _direction(self) -> Any:
        """1 if the composed transform is increasing, -1 if it is decreasing."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return sign

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        probability = self.base_dist.cdf(self._original(value))
        sign = self._direction()
        if isinstance(sign, int) and sign == 1:
            result: Tensor = probability
        else:
            result = sign * (probability - 0.5) + 0.5
        return result

    def icdf(self, value: Tensor) -> Tensor:
        sign = self._direction()
        if not (isinstance(sign, int) and sign == 1):
            value = sign * (value - 0.5) + 0.5
        return self._transformed(self.base_dist.icdf(value))
