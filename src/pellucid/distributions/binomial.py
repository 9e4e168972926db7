"""``Binomial``."""

from __future__ import annotations

from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions._families import CountedTrials, counted

__all__ = ["Binomial"]


class Binomial(CountedTrials):
    """How many of ``total_count`` trials succeed."""

    arg_constraints: ClassVar = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        shape = self._set_with_count(total_count, probs, logits)
        super().__init__(shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        most = ((self.total_count + 1) * self.probs).floor()
        return most.clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.mean * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with pellucid.no_grad():
            drawn: Tensor = pellucid.binomial(
                self.total_count.expand(shape), self.probs.expand(shape)
            )
            return drawn

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        choices = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        logits = self.logits
        normal = n * logits.clamp(min=0) + n * (-logits.abs()).exp().log1p()
        return choices + value * logits - normal

    def entropy(self) -> Tensor:
        self._same_count("the entropy")
        probabilities = self.log_prob(self.enumerate_support(False))
        return -(probabilities.exp() * probabilities).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        most = self._same_count("the support")
        return counted(self, most + 1, self.total_count.dtype, expand)
