"""Which transform maps unconstrained real numbers to a constraint.

``biject_to(constraint)`` is bijective and has a Jacobian determinant;
``transform_to(constraint)`` may be overparameterised, which suits optimizers better.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

_Factory = Callable[[Any], transforms.Transform]


class ConstraintRegistry:
    """Transforms by the types of constraints; call it with a constraint."""

    def __init__(self) -> None:
        self._registry: dict[type, _Factory] = {}

    def register(self, constraint: Any, factory: _Factory | None = None) -> Any:
        """Registers the factory for a type of constraint, or an object's type."""
        if factory is None:
            return lambda function: self.register(constraint, function)
        kind = constraint if isinstance(constraint, type) else type(constraint)
        if not issubclass(kind, constraints.Constraint):
            raise TypeError(f"register takes a type of constraint, not {constraint!r}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> transforms.Transform:
        """The transform to ``constraint``."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                f"there is no transform to {type(constraint).__name__}: register one"
            )
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _register_both(*kinds: Any) -> Callable[[_Factory], _Factory]:
    def declare(factory: _Factory) -> _Factory:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return declare


@_register_both(constraints.real)
def _to_real(constraint: Any) -> transforms.Transform:
    return transforms.identity_transform


def _register_independent(registry: ConstraintRegistry) -> None:
    def to_independent(constraint: Any) -> transforms.Transform:
        base = registry(constraint.base_constraint)
        count = constraint.reinterpreted_batch_ndims
        return transforms.IndependentTransform(base, count)

    registry.register(constraints.independent, to_independent)


_register_independent(biject_to)
_register_independent(transform_to)


@_register_both(constraints.greater_than, constraints.greater_than_eq)
def _to_greater_than(constraint: Any) -> transforms.Transform:
    moved = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), moved])


@_register_both(constraints.less_than)
def _to_less_than(constraint: Any) -> transforms.Transform:
    moved = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), moved])


@_register_both(constraints.interval, constraints.half_open_interval)
def _to_interval(constraint: Any) -> transforms.Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    moved = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), moved])


biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
transform_to.register(
    constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform()
)
for _definite in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_definite, lambda c: transforms.PositiveDefiniteTransform())


@_register_both(constraints.corr_cholesky)
def _to_corr_cholesky(constraint: Any) -> transforms.Transform:
    return transforms.CorrCholeskyTransform()


def _register_joins(registry: ConstraintRegistry) -> None:
    def to_cat(constraint: Any) -> transforms.Transform:
        parts = [registry(c) for c in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    def to_stack(constraint: Any) -> transforms.Transform:
        parts = [registry(c) for c in constraint.cseq]
        return transforms.StackTransform(parts, constraint.dim)

    registry.register(constraints.cat, to_cat)
    registry.register(constraints.stack, to_stack)


_register_joins(biject_to)
_register_joins(transform_to)
