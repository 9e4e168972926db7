"""``ContinuousBernoulli``."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid._package.calls.argument_checks import all_true
from pellucid.distributions import constraints
from pellucid.distributions._families import Chance
from pellucid.distributions.exp_family import ExponentialFamily
from pellucid.distributions.utils import broadcast_all, clamp_probs
from pellucid.nn.functional import binary_cross_entropy_with_logits

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Chance, ExponentialFamily):
    """Numbers between 0 and 1 with a density proportional to ``p ** x (1 - p) **
    (1 - x)`` (Loaiza-Ganem and Cunningham 2019).

    Between ``lims``, formulas that divide by ``1 - 2 p`` are replaced by series.
    """

    arg_constraints: ClassVar = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        shape = self._set(probs, logits)
        if (
            probs is not None
            and (validate_args if validate_args is not None else self._validate_args)
            and not all_true(constraints.unit_interval.check(self.probs))
        ):
            raise ValueError("the parameter probs must be between 0 and 1")
        if probs is not None:
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(shape, validate_args=validate_args)

    def _is_outside(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self) -> Tensor:
        """The probabilities, moved away from 1/2 where they are close to it."""
        return pellucid.where(self._is_outside(), self.probs, self._lims[0])

    def _log_normalizer(self) -> Tensor:
        p = self._cut()
        below = pellucid.where(p <= 0.5, p, 0.0)
        above = pellucid.where(p >= 0.5, p, 1.0)
        slopes = ((-p).log1p() - p.log()).abs().log()
        sizes = pellucid.where(p <= 0.5, (-2 * below).log1p(), (2 * above - 1).log())
        x = (self.probs - 0.5).pow(2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return pellucid.where(self._is_outside(), slopes - sizes, series)

    @property
    def mean(self) -> Tensor:
        p = self._cut()
        exact = p / (2 * p - 1) + 1 / ((-p).log1p() - p.log())
        x = self.probs - 0.5
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x
        return pellucid.where(self._is_outside(), exact, series)

    @property
    def variance(self) -> Tensor:
        p = self._cut()
        exact = p * (p - 1) / (1 - 2 * p).pow(2) + 1 / ((-p).log1p() - p.log()).pow(2)
        x = (self.probs - 0.5).pow(2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return pellucid.where(self._is_outside(), exact, series)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(pellucid.rand(shape, dtype=self.probs.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        bits = binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._log_normalizer() - bits

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        p = self._cut()
        powers = p.pow(value) * (1 - p).pow(1 - value)
        exact = (powers + p - 1) / (2 * p - 1)
        exact = pellucid.where(self._is_outside(), exact, value)
        ends = pellucid.where(value >= 1, 1.0, exact)
        return pellucid.where(value <= 0, 0.0, ends)

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut()
        exact = ((-p + value * (2 * p - 1)).log1p() - (-p).log1p()) / (
            p.log() - (-p).log1p()
        )
        return pellucid.where(self._is_outside(), exact, value)

    def entropy(self) -> Tensor:
        low, high = (-self.probs).log1p(), self.probs.log()
        return self.mean * (low - high) - self._log_normalizer() - low
