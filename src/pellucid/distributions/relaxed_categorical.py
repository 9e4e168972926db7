"""``RelaxedOneHotCategorical``: differentiable approximations of one-hot vectors."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions._relaxed import Relaxed
from pellucid.distributions.categorical import Categorical
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.transforms import ExpTransform
from pellucid.distributions.utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """The logarithms of a ``RelaxedOneHotCategorical`` (Maddison et al. 2017)."""

    arg_constraints: ClassVar = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        expanded = super().expand(batch_shape, _instance)
        expanded._categorical = self._categorical.expand(batch_shape)
        return expanded

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter, classes last."""
        return self._categorical.param_shape

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self._categorical.probs

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(pellucid.rand(shape, dtype=self.logits.dtype))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)  # type: ignore[no-any-return]

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        count = self._categorical._num_events
        temperature = pellucid.as_tensor(self.temperature, dtype=value.dtype)
        scale = math.lgamma(count) + (count - 1) * temperature.log()
        score = logits - value * temperature
        return (score - score.logsumexp(-1, keepdim=True)).sum(-1) + scale  # type: ignore[no-any-return]


class RelaxedOneHotCategorical(Relaxed):
    """Points of the simplex, near one-hot vectors for a low ``temperature``."""

    arg_constraints: ClassVar = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.simplex
    _relaxed_base, _transform = ExpRelaxedCategorical, ExpTransform
