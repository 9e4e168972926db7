"""What the relaxed distributions share: a base on the scale of logarithms or log odds,
and the transform that leads from there to shares.
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
        made = self._get_checked_instance(Relaxed, _instance)
        return super().expand(batch_shape, made)

    @property
    def temperature(self) -> Any:
        """How far the draws are from 0 and 1."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The log odds, or the logarithms of the probabilities."""
        found: Tensor = self.base_dist.logits
        return found

    @property
    def probs(self) -> Tensor:
        """The probabilities of 1, or of the classes."""
        found: Tensor = self.base_dist.probs
        return found
