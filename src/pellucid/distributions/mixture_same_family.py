"""``MixtureSameFamily``."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.categorical import Categorical
from pellucid.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture of the last batch dim's components, with ``Categorical`` weights."""

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("MixtureSameFamily: the mixture must be a Categorical")
        self._mixture = mixture_distribution
        self._components = component_distribution
        batch = component_distribution.batch_shape
        if mixture_distribution.param_shape[-1] != batch[-1]:
            raise ValueError(
                f"MixtureSameFamily: {mixture_distribution.param_shape[-1]} weights "
                f"for {batch[-1]} components"
            )
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the component's index."""
        return self._mixture

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._components

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.MixtureSameFamilyConstraint(self._components.support)

    def _weights(self) -> Tensor:
        shape = self._mixture.probs.shape + (1,) * len(self._event_shape)
        return self._mixture.probs.reshape(shape)

    def _component_dim(self) -> int:
        return -1 - len(self._event_shape)

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self._components.mean).sum(self._component_dim())

    @property
    def variance(self) -> Tensor:
        dim = self._component_dim()
        within = (self._weights() * self._components.variance).sum(dim)
        gaps = self._components.mean - self.mean.unsqueeze(dim)
        return within + (self._weights() * gaps.pow(2)).sum(dim)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        expanded = self._get_checked_instance(MixtureSameFamily, _instance)
        shape = pellucid.Size(batch_shape)
        count = self._components.batch_shape[-1:]
        expanded._components = self._components.expand(shape + count)
        expanded._mixture = self._mixture.expand(shape)
        Distribution.__init__(expanded, shape, self.event_shape, validate_args=False)
        expanded._validate_args = self._validate_args
        return expanded

    def cdf(self, value: Tensor) -> Tensor:
        terms = self._components.cdf(value.unsqueeze(self._component_dim()))
        return (terms * self._mixture.probs).sum(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with pellucid.no_grad():
            chosen = self._mixture.sample(sample_shape)
            drawn = self._components.sample(sample_shape)
            dim, events = self._component_dim(), len(self._event_shape)
            index = chosen.reshape(chosen.shape + (1,) * (events + 1))
            shape = list(drawn.shape)
            shape[dim] = 1
            return drawn.gather(dim, index.expand(shape)).squeeze(dim)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        terms = self._components.log_prob(value.unsqueeze(self._component_dim()))
        weights = self._mixture.logits.log_softmax(-1)
        return pellucid.logsumexp(terms + weights, -1)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture},\n  {self._components})"
