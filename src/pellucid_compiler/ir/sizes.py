"""Evaluation of size expressions with Python integers: shapes, guards, requirements.

The same definition as evaluate.py for expressions without loads and axes, but without
NumPy: tracing an op at run time evaluates conditions on sizes, and must not import it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pellucid_compiler.ir.dtypes import python_value
from pellucid_compiler.ir.expr import SCALAR_OPS, Expr
from pellucid_compiler.ir.traversal import bottom_up


def size_value(e: Expr, env: Mapping[str, Any]) -> Any:
    """The value of ``e``; ``KeyError`` if it needs a symbol that is not in ``env``."""
    values: dict[Expr, Any] = {}

    def operands(node: Expr) -> tuple[Expr, ...]:
        if node.op == "select":
            return _select_operands(node, values)
        return node.args[:1] if node.op == "with_partials" else node.args

    def value(node: Expr) -> Any:
        args = [values[a] for a in operands(node)]
        return _value(node, args, env)

    return bottom_up(e, values, operands, value)


def _select_operands(e: Expr, values: Mapping[Expr, Any]) -> tuple[Expr, ...]:
    """The condition and, once known, the branch that is taken."""
    condition, first, second = e.args
    if condition not in values:
        return (condition,)
    return condition, first if values[condition] else second


def _value(e: Expr, args: list[Any], env: Mapping[str, Any]) -> Any:
    if e.op == "const":
        return e.attr
    if e.op == "sym":
        return env[e.attr]
    if e.op in ("select", "with_partials"):
        return args[-1]
    if e.op == "cast":
        return python_value(args[0], e.dtype)
    rule = SCALAR_OPS.get(e.op)
    if rule is None or rule.value is None:
        raise TypeError(f"{e} is not an expression of sizes and numbers")
    return rule.value(*args)


def shape_value(shape: tuple[Expr, ...], env: Mapping[str, Any]) -> tuple[int, ...]:
    """The sizes of a shape as integers."""
    return tuple(int(size_value(size, env)) for size in shape)
