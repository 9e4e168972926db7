"""Base classes of several distributions: ``loc + scale * x``, and probabilities given
directly or as log odds.
"""

from __future__ import annotations

from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.utils import broadcast_all, probs_to_logits, shape_of


def open_uniform(shape: Any, like: Tensor) -> Tensor:
    """Uniform numbers that are neither 0 nor 1."""
    info = pellucid.finfo(like.dtype)
    drawn = pellucid.rand(shape, dtype=like.dtype)
    return info.tiny + drawn * ((1 - info.eps) - info.tiny)


class LocationScale(Distribution):
    """``loc + scale * x`` for a fixed distribution of x."""

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    has_rsample = True
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(shape_of(self.loc, loc, scale), validate_args=validate_args)

    def _standard(self, shape: Any) -> Tensor:
        """Samples of x."""
        raise NotImplementedError

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = self._standard(self._extended_shape(sample_shape))
        return self.loc + drawn * self.scale

    def _checked(self, value: Tensor) -> Tensor:
        """The value on the scale of x, validated."""
        if self._validate_args:
            self._validate_sample(value)
        return (value - self.loc) / self.scale


class ScaledPower(Distribution):
    """Two positive parameters."""

    has_rsample = True

    def __init__(self, scale: Any, shape: Any, name: str, validate: Any) -> None:
        self.scale, other = broadcast_all(scale, shape)
        setattr(self, name, other)
        super().__init__(shape_of(self.scale, scale, shape), validate_args=validate)

    def _waited(self, sample_shape: Any) -> Tensor:
        """Samples of the exponential distribution of rate 1."""
        shape = self._extended_shape(sample_shape)
        return pellucid.empty(shape, dtype=self.scale.dtype).exponential_()


def only_one(name: str, probs: Any, logits: Any) -> None:
    """Raises unless exactly one of the two is given."""
    if (probs is None) == (logits is None):
        raise ValueError(f"{name}: give one of `probs` and `logits`")


class Chance(Distribution):
    """A probability, or its log odds; the other is computed at first use."""

    probs: Tensor
    logits: Tensor

    def _set(self, probs: Any, logits: Any) -> Any:
        """Stores the one that is given; returns its batch shape."""
        only_one(type(self).__name__, probs, logits)
        parameter = logits if probs is None else probs
        (value,) = broadcast_all(parameter)
        setattr(self, "logits" if probs is None else "probs", value)
        return shape_of(value, parameter)

    def __getattr__(self, name: str) -> Any:
        if name == "logits" and "probs" in self.__dict__:
            value = probs_to_logits(self.probs, is_binary=True)
        elif name == "probs" and "logits" in self.__dict__:
            value = self.logits.sigmoid()
        else:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return value

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter that was given."""
        return self.probs.shape if "probs" in self.__dict__ else self.logits.shape


def counted(self: Distribution, count: int, dtype: Any, expand: bool) -> Tensor:
    """The numbers 0, 1, ... in a new first dim."""
    values = pellucid.arange(count, dtype=dtype)
    values = values.view(-1, *([1] * len(self.batch_shape)))
    return values.expand(-1, *self.batch_shape) if expand else values


class CountedTrials(Chance):
    """``total_count`` trials."""

    total_count: Tensor

    def _set_with_count(self, total_count: Any, probs: Any, logits: Any) -> Any:
        only_one(type(self).__name__, probs, logits)
        name, parameter = ("logits", logits) if probs is None else ("probs", probs)
        self.total_count, value = broadcast_all(total_count, parameter)
        self.total_count = self.total_count.to(value.dtype)
        setattr(self, name, value)
        return value.shape

    def _same_count(self, quantity: str) -> int:
        """The number of trials, which must be the same everywhere."""
        most = int(self.total_count.max())
        if not bool((self.total_count == most).all()):
            raise NotImplementedError(f"{quantity} of different total_counts")
        return most
