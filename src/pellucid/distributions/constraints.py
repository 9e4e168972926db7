"""Constraints: which parameters a distribution takes, and which values are possible.

``constraint.check(value)`` gives a bool for each event. ``constraint_registry.py`` has
the transforms from unconstrained real numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._package.calls.argument_checks import all_true

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A set of values; the last ``event_dim`` dims of a value form one event."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each event is in the set."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__.removeprefix('_')}()"


class _Dependent(Constraint):
    """A support that depends on the parameters."""

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(
        self, *, is_discrete: bool | None = None, event_dim: int | None = None
    ) -> Any:
        """The same constraint with other properties."""
        return _Dependent(
            is_discrete=self.is_discrete if is_discrete is None else is_discrete,
            event_dim=self.event_dim if event_dim is None else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("the support depends on the distribution's parameters")


class _DependentProperty(property, _Dependent):
    """A property whose value is a constraint; of the class, a dependent one."""

    def __init__(
        self,
        function: Callable[[Any], Any] | None = None,
        *,
        is_discrete: bool = False,
        event_dim: int = 0,
    ) -> None:
        property.__init__(self, function)
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, function: Any) -> Any:  # type: ignore[override]
        return _DependentProperty(
            function, is_discrete=self.is_discrete, event_dim=self.event_dim
        )


def is_dependent(constraint: Any) -> bool:
    """Whether the constraint depends on the parameters."""
    return isinstance(constraint, _Dependent)


# Intervals


class _Bounds(Constraint):
    """Numbers between two bounds."""

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def __repr__(self) -> str:
        return (
            f"{super().__repr__()[:-1]}lower_bound={self.lower_bound}, "
            f"upper_bound={self.upper_bound})"
        )


class _Interval(_Bounds):
    """Numbers from ``lower_bound`` to ``upper_bound``."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)  # type: ignore[no-any-return]


class _HalfOpenInterval(_Bounds):
    """Numbers from ``lower_bound`` up to, not including, ``upper_bound``."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)  # type: ignore[no-any-return]


class _IntegerInterval(_Bounds):
    """Integers from ``lower_bound`` to ``upper_bound``."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        is_inside = (self.lower_bound <= value) & (value <= self.upper_bound)
        return (value % 1 == 0) & is_inside  # type: ignore[no-any-return]


class _LowerBound(Constraint):
    """Numbers above a bound."""

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}lower_bound={self.lower_bound})"


class _GreaterThan(_LowerBound):
    """Numbers above ``lower_bound``."""

    def check(self, value: Tensor) -> Tensor:
        return value > self.lower_bound  # type: ignore[no-any-return]


class _GreaterThanEq(_LowerBound):
    """Numbers from ``lower_bound`` on."""

    def check(self, value: Tensor) -> Tensor:
        return value >= self.lower_bound  # type: ignore[no-any-return]


class _IntegerGreaterThan(_LowerBound):
    """Integers from ``lower_bound`` on."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)  # type: ignore[no-any-return]


class _LessThan(Constraint):
    """Numbers below ``upper_bound``."""

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}upper_bound={self.upper_bound})"


# Vectors and matrices


class _Real(Constraint):
    """Numbers that are not NaN."""

    def check(self, value: Tensor) -> Tensor:
        return value == value


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _Simplex(Constraint):
    """Vectors without negative elements that sum to 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _OneHot(Constraint):
    """Zeros and a single one."""

    is_discrete, event_dim = True, 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Multinomial(Constraint):
    """Counts whose sum is at most ``upper_bound``."""

    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)  # type: ignore[no-any-return]


class _LowerTriangular(Constraint):
    """Matrices with 0 above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value == value.tril()).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    """Lower triangles with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(0, -2, -1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Lower triangles with a positive diagonal and rows of length 1."""

    def check(self, value: Tensor) -> Tensor:
        tolerance = pellucid.finfo(value.dtype).eps * value.shape[-1] * 10
        lengths = pellucid.linalg.vector_norm(value.detach(), 2, -1)
        is_unit = ((lengths - 1).abs() <= tolerance).all(-1)
        return super().check(value) & is_unit


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        is_square = value.shape[-2] == value.shape[-1]
        return pellucid.full(value.shape[:-2], is_square, dtype=pellucid.bool)


class _Symmetric(_Square):
    """Matrices that equal their transposes."""

    def check(self, value: Tensor) -> Tensor:
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return pellucid.isclose(value, value.mT, atol=1e-6).flatten(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not all_true(symmetric):
            return symmetric
        return (pellucid.linalg.eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not all_true(symmetric):
            return symmetric
        return pellucid.linalg.cholesky_ex(value).info == 0


# Compositions of constraints


class _IndependentConstraint(Constraint):
    """``base_constraint`` of all elements in the last dims."""

    def __init__(
        self, base_constraint: Constraint, reinterpreted_batch_ndims: int
    ) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        holds = self.base_constraint.check(value)
        count = self.reinterpreted_batch_ndims
        if not count:
            return holds
        if holds.dim() < count:
            raise ValueError(
                f"{holds.dim()} dims of a value, and {self.event_dim} belong together"
            )
        return holds.reshape((*holds.shape[: holds.dim() - count], -1)).all(-1)

    def __repr__(self) -> str:
        count = self.reinterpreted_batch_ndims
        return f"{super().__repr__()[:-1]}{self.base_constraint!r}, {count})"


class MixtureSameFamilyConstraint(Constraint):
    """``base_constraint``, with bounds that differ between the components of a
    mixture: a value satisfies it if it satisfies that of every component.
    """

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        if value.dim() < self.event_dim:
            raise ValueError(
                f"a value of {value.dim()} dims; {self.event_dim} belong together"
            )
        each = value.unsqueeze(value.dim() - self.event_dim)
        return self.base_constraint.check(each).all(-1)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}{self.base_constraint!r})"


class _Cat(Constraint):
    """A constraint for each run of ``lengths`` slices along ``dim``."""

    def __init__(
        self,
        cseq: Sequence[Constraint],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
    ) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        self.is_discrete = any(c.is_discrete for c in self.cseq)
        self.event_dim = max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        parts = value.split(self.lengths, self.dim)
        pairs = zip(self.cseq, parts, strict=True)
        return pellucid.cat([c.check(part) for c, part in pairs], self.dim)


class _Stack(Constraint):
    """A constraint for each slice along ``dim``."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.is_discrete = any(c.is_discrete for c in self.cseq)
        most = max(c.event_dim for c in self.cseq)
        self.event_dim = most + 1 if dim + most < 0 else most

    def check(self, value: Tensor) -> Tensor:
        parts = value.unbind(self.dim)
        pairs = zip(self.cseq, parts, strict=True)
        return pellucid.stack([c.check(part) for c, part in pairs], self.dim)


interval = _Interval
half_open_interval = _HalfOpenInterval
integer_interval = _IntegerInterval
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
independent = _IndependentConstraint
cat = _Cat
stack = _Stack

dependent = _Dependent()
dependent_property = _DependentProperty
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
real = _Real()
real_vector = independent(real, 1)
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
