"""``NegativeBinomial``."""

from __future__ import annotations

from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions._families import CountedTrials
from pellucid.distributions.gamma import Gamma
from pellucid.nn import functional

__all__ = ["NegativeBinomial"]


class NegativeBinomial(CountedTrials):
    """How many trials succeed before ``total_count`` fail."""

    arg_constraints: ClassVar = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        shape = self._set_with_count(total_count, probs, logits)
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        most = (self.total_count - 1) * self.logits.exp()
        return most.floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with pellucid.no_grad():
            rates = Gamma(self.total_count, (-self.logits).exp(), False)
            drawn: Tensor = pellucid.poisson(rates.sample(sample_shape))
            return drawn

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        known = n * functional.logsigmoid(-self.logits)
        known = known + value * functional.logsigmoid(self.logits)
        choices = (n + value).lgamma() - (1 + value).lgamma() - n.lgamma()
        return known + pellucid.where(n + value == 0, 0.0, choices)
