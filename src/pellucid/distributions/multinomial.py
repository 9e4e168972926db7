"""``Multinomial``."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.binomial import Binomial
from pellucid.distributions.categorical import Categorical
from pellucid.distributions.distribution import Distribution
from pellucid.nn import functional

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each class occurs in ``total_count`` trials."""

    arg_constraints: ClassVar = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("Multinomial: total_count must be one integer")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        expanded = super().expand(batch_shape, _instance)
        expanded._categorical = self._categorical.expand(batch_shape)
        return expanded

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.multinomial(self.total_count)

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = pellucid.Size(sample_shape)
        drawn = self._categorical.sample(pellucid.Size((self.total_count,)) + shape)
        hot = functional.one_hot(drawn, self._categorical._num_events)
        return hot.sum(0).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits = pellucid.where((value == 0) & (self.probs == 0), 0.0, self.logits)
        choices = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return choices + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        n = self.total_count
        counts = pellucid.arange(1, n + 1, dtype=self.probs.dtype)
        shape = [-1, *([1] * (len(self.batch_shape) + 1))]
        values = counts.reshape(shape)
        chances = Binomial(n, self.probs).log_prob(values).exp()
        ties = (chances * (values + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - math.lgamma(n + 1) + ties
