"""Constant folding and identities, applied as an Expr is built.

``0 * x`` is not folded for floats, since x may be infinite or NaN. ``x + 0`` is: only
the sign of a zero can differ, and sums of derivative terms start at a constant zero.
Called only by expr.make.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pellucid_compiler.ir.dtypes import is_float

if TYPE_CHECKING:
    from pellucid_compiler.ir.expr import Expr, Number, ScalarOp


def fold(rule: ScalarOp, args: tuple[Expr, ...], dtype: str) -> Expr | Number | None:
    """What a scalar op of ``args`` simplifies to: an operand, a number, or None."""
    name = rule.name
    if args[0].op == "const" and all([a.op == "const" for a in args]):
        value: Number | None = _constant(rule, [a.attr for a in args], args[0].dtype)
        if value is not None:
            return value
    if name == "complex":
        return _joined(*args)
    if len(args) == 2:
        return _binary(name, args[0], args[1], dtype)
    (a,) = args
    if name in ("neg", "not", "conj") and a.op == name:
        return a.args[0]
    if name in ("real", "imag") and a.op == "complex":
        return a.args[name == "imag"]
    if rule.is_step and rule.domain == "floats" and not is_float(dtype):
        return a
    return None


def _is(e: Expr, value: int) -> bool:
    return e.op == "const" and bool(e.attr == value)


def _constant(rule: ScalarOp, values: list[Any], dtype: str) -> Any:
    """The value for constants, if it is the same in every dtype that they may take."""
    if rule.value is None or not _folds(rule, values, dtype):
        return None
    value = rule.value(*values)
    if rule.folds == "literals":
        return float(value) if math.isfinite(value) else None
    return bool(value) if rule.result in ("compare", "logic") else value


def _folds(rule: ScalarOp, values: list[Any], dtype: str) -> bool:
    if rule.name == "div":
        return bool(values[1])
    if rule.folds == "integers":
        return not is_float(dtype)
    return rule.folds == "all" or (rule.folds == "literals" and dtype == "weakfloat")


def _binary(name: str, a: Expr, b: Expr, dtype: str) -> Expr | Number | None:
    if name == "add" and (_is(a, 0) or _is(b, 0)):
        return b if _is(a, 0) else a
    if name == "sub" and _is(b, 0):
        return a
    if name == "mul" and (_is(a, 1) or _is(b, 1)):
        return b if _is(a, 1) else a
    if name == "div" and _is(b, 1):
        return a
    if name in ("and", "or"):
        return _logic(name, a, b)
    return None if is_float(a.dtype) else _exact(name, a, b)


def _joined(real: Expr, imag: Expr) -> Expr | None:
    """The number whose parts these are."""
    if real.op == "real" and imag.op == "imag" and real.args[0] is imag.args[0]:
        return real.args[0]
    return None


def _logic(name: str, a: Expr, b: Expr) -> Expr | bool | None:
    if a is b:
        return a
    for one, other in ((a, b), (b, a)):
        if one.op == "const":
            decides = bool(one.attr) == (name == "or")
            return bool(one.attr) if decides else other
    return None


def _exact(name: str, a: Expr, b: Expr) -> Expr | Number | None:
    """Identities of integers and bools."""
    if name == "mul" and (_is(a, 0) or _is(b, 0)):
        return 0
    if name == "floordiv" and _is(b, 1):
        return a
    if name == "mod" and _is(b, 1):
        return 0
    if a is b:
        same: dict[str, Expr | Number] = {
            "sub": 0, "eq": True, "le": True, "ne": False, "lt": False,
            "maximum": a, "minimum": a,
        }  # fmt: skip
        return same.get(name)
    return None
