"""Printing of scalar expressions, dtypes and axes.

The text is stable: golden tests compare it, and the compiler names kernels by it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.ir.expr import LOADS, SCALAR_OPS, Expr, load_fill, load_index

_AXES = "ijklmnopqrstuvw"


def axis_name(number: int) -> str:
    return _AXES[number] if number < len(_AXES) else f"i{number}"


def short_dtype(dtype: str) -> str:
    """``f32`` for float32, ``i64`` for int64, ``bf16``, ``bool``, ..."""
    for name, short in (("bfloat", "bf"), ("complex", "c"), ("float", "f")):
        if dtype.startswith(name):
            return short + dtype[len(name) :]
    return dtype.replace("uint", "u").replace("int", "i")


def _operand_name(operand: Any) -> str:
    return f"x{operand}"


def show_expr(e: Expr, name: Callable[[Any], str] = _operand_name) -> str:
    """``e`` in infix form; ``name`` gives the name of a load's operand."""
    memo: dict[Expr, str] = {}

    def show(node: Expr) -> str:
        if node not in memo:
            memo[node] = _show(node, show, name)
        return memo[node]

    return show(e)


def _show(e: Expr, show: Callable[[Expr], str], name: Callable[[Any], str]) -> str:
    if e.op == "const":
        return _show_constant(e)
    if e.op == "sym":
        return str(e.attr)
    if e.op == "axis":
        return axis_name(e.attr)
    if e.op in LOADS:
        index = ", ".join(show(i) for i in load_index(e))
        fill = load_fill(e)
        return f"{name(e.attr)}[{index}" + (
            f" else {show(fill)}]" if fill is not None else "]"
        )
    args = [show(a) for a in e.args]
    if e.op == "with_partials":
        return args[0]
    if e.op == "select":
        return f"({args[1]} if {args[0]} else {args[2]})"
    if e.op == "cast":
        return f"{short_dtype(e.dtype)}({args[0]})"
    if e.op == "bitcast":
        return f"bitcast_{short_dtype(e.dtype)}({args[0]})"
    symbol = SCALAR_OPS[e.op].symbol
    if symbol is None:
        return f"{e.op}({', '.join(args)})"
    return f"({args[0]} {symbol} {args[1]})" if len(args) == 2 else f"{symbol}{args[0]}"


def _show_constant(e: Expr) -> str:
    return repr(e.attr)
