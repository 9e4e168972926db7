"""``LogisticNormal``."""

from __future__ import annotations

from typing import Any, ClassVar

from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.independent import Independent
from pellucid.distributions.normal import Normal
from pellucid.distributions.transformed_distribution import TransformedDistribution
from pellucid.distributions.transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """The ``StickBreakingTransform`` of normal variates, on the simplex."""

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    base_dist: Any

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        expanded = self._get_checked_instance(LogisticNormal, _instance)
        return super().expand(batch_shape, expanded)

    def _normal(self) -> Any:
        base = self.base_dist
        return base.base_dist if isinstance(base, Independent) else base

    @property
    def loc(self) -> Tensor:
        """The means of the normal variates."""
        loc: Tensor = self._normal().loc
        return loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal variates."""
        scale: Tensor = self._normal().scale
        return scale
