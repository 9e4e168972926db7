"""``RelaxedBernoulli``: differentiable approximations of Bernoulli variates."""

from __future__ import annotations

from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions._families import Chance
from pellucid.distributions._relaxed import Relaxed
from pellucid.distributions.transforms import SigmoidTransform
from pellucid.distributions.utils import broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Chance):
    """The log odds of a ``RelaxedBernoulli`` (Maddison et al. 2017)."""

    arg_constraints: ClassVar = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        super().__init__(self._set(probs, logits), validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(pellucid.rand(shape, dtype=probs.dtype))
        drawn = u.log() - (-u).log1p() + probs.log() - (-probs).log1p()
        return drawn / self.temperature  # type: ignore[no-any-return]

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        gap = logits - value * self.temperature
        temperature = pellucid.as_tensor(self.temperature, dtype=gap.dtype)
        return temperature.log() + gap - 2 * gap.exp().log1p()  # type: ignore[no-any-return]


class RelaxedBernoulli(Relaxed):
    """Numbers between 0 and 1 that approach 0 or 1 as ``temperature`` decreases."""

    arg_constraints: ClassVar = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval
    _relaxed_base, _transform = LogitRelaxedBernoulli, SigmoidTransform
