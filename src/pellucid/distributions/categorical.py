"""``Categorical``."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions._families import counted, only_one
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.utils import probs_to_logits

__all__ = ["Categorical"]


class Categorical(Distribution):
    """One of several classes, by probabilities or their logarithms in the last dim."""

    arg_constraints: ClassVar = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    has_enumerate_support = True
    probs: Tensor
    logits: Tensor

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        only_one("Categorical", probs, logits)
        parameter = logits if probs is None else probs
        if parameter.dim() < 1:
            raise ValueError("Categorical: the parameter needs at least one dim")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
        self._num_events = parameter.shape[-1]
        super().__init__(parameter.shape[:-1], validate_args=validate_args)

    def __getattr__(self, name: str) -> Any:
        if name == "logits" and "probs" in self.__dict__:
            return probs_to_logits(self.probs)
        if name == "probs" and "logits" in self.__dict__:
            return self.logits.exp()
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter, classes last."""
        return self.probs.shape

    @property
    def mean(self) -> Tensor:
        return pellucid.full(self.batch_shape, math.nan, dtype=self.probs.dtype)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        return pellucid.full(self.batch_shape, math.nan, dtype=self.probs.dtype)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = pellucid.Size(sample_shape)
        with pellucid.no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            drawn = pellucid.multinomial(rows, shape.numel(), True).T
            return drawn.reshape(self._extended_shape(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        place = value.long().unsqueeze(-1)
        place, logits = pellucid.broadcast_tensors(place, self.logits)
        return logits.gather(-1, place[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        least = pellucid.finfo(self.logits.dtype).min
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return counted(self, self._num_events, pellucid.int64, expand)
