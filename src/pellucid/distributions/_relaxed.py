"""The base class of the relaxed distributions: a base on the scale of logarithms or log
odds, and the transform from there to probabilities.
"""

from __future__ import annotations

from typing import Any

from pellucid import Tensor
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.transformed_distribution import TransformedDistribution
from pellucid.distributions.transforms import Transform


class Relaxed(TransformedDistribution):
    """``_transform`` of a ``_relaxed_base`` with a temperature and probabilities."""

    has_rsample = True
    base_dist: Any
    _relaxed_base: type[Distribution]
    _transform: type[Transform]

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        of_base: Any = self._relaxed_base
        base = of_base(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, self._transform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        expanded = self._get_checked_instance(Relaxed, _instance)
        return super().expand(batch_shape, expanded)

    @property
    def temperature(self) -> Any:
        """How far samples are from 0 and 1."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The log odds, or the logarithms of the probabilities."""
        logits: Tensor = self.base_dist.logits
        return logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of 1, or of the classes."""
        probs: Tensor = self.base_dist.probs
        return probs
