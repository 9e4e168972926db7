"""``Geometric``."""

from __future__ import annotations

from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions._families import Chance
from pellucid.distributions.utils import broadcast_all
from pellucid.nn import functional

__all__ = ["Geometric"]


class Geometric(Chance):
    """How many trials fail before the first success."""

    arg_constraints: ClassVar = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._set(probs, logits), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return pellucid.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        tiny = pellucid.finfo(self.probs.dtype).tiny
        with pellucid.no_grad():
            u = pellucid.empty(shape, dtype=self.probs.dtype).uniform_(tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        inside = pellucid.where((probs == 1) & (value == 0), 0.0, probs)
        return value * (-inside).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        odds = functional.binary_cross_entropy_with_logits(
            self.logits, self.probs, reduction="none"
        )
        return odds / self.probs
