"""Scalar functions for op bodies; on a Tensor they apply to every element.

Those of a single scalar op are named in its row in ``ir/scalar_ops.py``; the others are
short compositions. Start with ``where``, ``to`` and ``detach``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from pellucid_compiler.declare.tensor import Operand, Tensor, lift
from pellucid_compiler.ir import expr as ir
from pellucid_compiler.ir.expr import Expr, make, with_partials
from pellucid_compiler.ir.scalar_ops import SCALAR_OPS

INF: Final = float("inf")
NAN: Final = float("nan")
PI: Final = 3.141592653589793


def _scalar(name: str) -> Callable[..., Any]:
    """The function that applies the scalar op ``name`` to numbers, Exprs or Tensors."""

    def function(*operands: Operand) -> Any:
        return lift(lambda *args: make(name, *args), *operands)

    function.__name__ = name
    return function


globals().update(
    (op.function, _scalar(op.name)) for op in SCALAR_OPS.values() if op.function
)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Any]:
        """The function named in a row."""


def where(condition: Operand, first: Operand, second: Operand) -> Any:
    """``first`` where ``condition`` else ``second``; the untaken side has no effect."""
    return lift(ir.select, condition, first, second)


def to(x: Any, dtype: str | None) -> Any:
    """``x`` converted to ``dtype``; None leaves it unchanged."""
    if dtype is None or (isinstance(x, (Tensor, Expr)) and x.dtype == dtype):
        return x
    return lift(lambda e: ir.cast(e, dtype), x)


def bitcast(x: Any, dtype: str) -> Any:
    """The bits of ``x`` read as ``dtype``, which has the same width."""
    return lift(lambda e: ir.bitcast(e, dtype), x)


def detach(x: Any) -> Any:
    """``x`` without a derivative."""
    return lift(with_partials, x)


def is_finite(x: Any) -> Any:
    """Whether it is neither infinite nor NaN."""
    return lift(lambda e: ~(make("isinf", e) | make("isnan", e)), x)
