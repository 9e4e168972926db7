"""``torch.fx.experimental.symbolic_shapes``: the environment of symbolic sizes."""

from __future__ import annotations

from typing import Any

from pellucid import SymInt
from pellucid.fx.experimental.symbolic_trace import SizeError as SizeError
from pellucid.utils._symbolic.environment import Guard as Guard
from pellucid.utils._symbolic.environment import ShapeEnv as ShapeEnv
from pellucid.utils._symbolic.environment import Symbol as Symbol
from pellucid.utils._symbolic.expressions import Expr as Expr

__all__ = ["ShapeEnv", "guard_int", "hint_int", "is_concrete_int", "is_symbolic"]


def is_symbolic(value: Any) -> bool:
    """Whether it is a SymInt in which a symbol occurs."""
    return isinstance(value, SymInt) and value.node.is_symbolic()


def is_concrete_int(value: Any) -> bool:
    """Whether it is an int without symbols."""
    return isinstance(value, int) and not is_symbolic(value)


def hint_int(value: Any, fallback: int | None = None) -> int:
    """The size of the example."""
    return int(value)


def guard_int(value: Any) -> int:
    """The size of the example, on which the trace relies from here on."""
    if is_symbolic(value):
        value.node.shape_env.note(value.node.expr, "==", int(value), True)
    return int(value)


def guard_or_false(condition: Any) -> bool:
    """What the sizes of the example decide, on which the trace relies from here on."""
    return bool(condition)


def guard_or_true(condition: Any) -> bool:
    """As ``guard_or_false``: every size has an example, which decides."""
    return bool(condition)


def statically_known_true(condition: Any) -> bool:
    """Whether it is true of all sizes, without asking the example's."""
    return condition is True


def free_symbols(value: Any) -> set[str]:
    """The symbols of a size, of several, or of a tensor's sizes."""
    if isinstance(value, list | tuple):
        return set().union(*map(free_symbols, value))
    if hasattr(value, "shape"):
        return free_symbols(tuple(value.shape))
    return set(value.node.expr.free_symbols) if is_symbolic(value) else set()
