"""``torch.fx.experimental.symbolic_shapes``: the environment of symbolic sizes."""

from __future__ import annotations

from typing import Any

from pellucid import SymInt
from pellucid.fx.experimental.size_nodes import SizeError as SizeError
from pellucid.utils._symbolic.environment import Guard as Guard
from pellucid.utils._symbolic.environment import (
    GuardOnDataDependentSymNode as GuardOnDataDependentSymNode,
)
from pellucid.utils._symbolic.environment import ShapeEnv as ShapeEnv
from pellucid.utils._symbolic.environment import Symbol as Symbol
from pellucid.utils._symbolic.expressions import Expr as Expr

__all__ = ["ShapeEnv", "guard_int", "hint_int", "is_concrete_int", "is_symbolic"]


def is_symbolic(value: Any) -> bool:
    """Whether it is a SymInt that contains a symbol."""
    return isinstance(value, SymInt) and value.node.is_symbolic()


def is_concrete_int(value: Any) -> bool:
    """Whether it is an int without symbols."""
    return isinstance(value, int) and not is_symbolic(value)


def hint_int(value: Any, fallback: int | None = None) -> int:
    """The size of the example."""
    return int(value)


def guard_int(value: Any) -> int:
    """The example's size; the trace is specialised to it."""
    if is_symbolic(value):
        value.node.shape_env.note(value.node.expr, "==", int(value), True)
    return int(value)


def guard_or_false(condition: Any) -> bool:
    """The condition's value for the example's sizes, recorded as a guard."""
    return bool(condition)


def guard_or_true(condition: Any) -> bool:
    """Like ``guard_or_false``: the example's sizes decide."""
    return bool(condition)


def statically_known_true(condition: Any) -> bool:
    """Whether it is true for all sizes, without using the example's."""
    return condition is True


def free_symbols(value: Any) -> set[str]:
    """The symbols in a size, in several, or in a tensor's sizes."""
    if isinstance(value, list | tuple):
        return set().union(*map(free_symbols, value))
    if hasattr(value, "shape"):
        return free_symbols(tuple(value.shape))
    return set(value.node.expr.free_symbols) if is_symbolic(value) else set()
