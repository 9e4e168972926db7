"""Scalar expressions evaluated by mpmath: the true values that error bounds
refer to.
"""

from collections.abc import Mapping
from typing import Any

import mpmath
from mpmath import mp

from pellucid_compiler.ir.dtypes import is_float
from pellucid_compiler.ir.expr import Expr

DIGITS = 250

_FUNCTIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "floordiv": lambda a, b: mpmath.floor(a / b),
    "mod": lambda a, b: a - b * mpmath.floor(a / b),
    "fmod": lambda a, b: a - b * _trunc(a / b),
    "pow": lambda a, b: mpmath.power(a, b),
    "maximum": lambda a, b: max(a, b),
    "minimum": lambda a, b: min(a, b),
    "atan2": mpmath.atan2,
    "copysign": lambda a, b: abs(a) if b >= 0 else -abs(a),
    "neg": lambda a: -a,
    "abs": abs,
    "sign": mpmath.sign,
    "floor": mpmath.floor,
    "ceil": mpmath.ceil,
    "trunc": lambda a: _trunc(a),
    "round": mpmath.nint,
    "rsqrt": lambda a: 1 / mpmath.sqrt(a),
    "exp2": lambda a: mpmath.power(2, a),
    "log2": lambda a: mpmath.log(a, 2),
    "erfc": mpmath.erfc,
    "lgamma": lambda a: mpmath.log(abs(mpmath.gamma(a))),
    "trigamma": lambda a: mpmath.psi(1, a),
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
    "isnan": mpmath.isnan,
    "isinf": mpmath.isinf,
    "conj": lambda a: a,
    "real": lambda a: a,
}
_BY_NAME = [
    "sqrt",
    "exp",
    "expm1",
    "log",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfinv",
    "digamma",
]


def _trunc(a: Any) -> Any:
    return mpmath.floor(a) if a >= 0 else mpmath.ceil(a)


def exact_value(
    e: Expr, elements: Mapping[int, Any], numbers: Mapping[str, Any]
) -> Any:
    """``e`` for exact elements of its operands; ``ValueError`` outside its domain."""
    memo: dict[Expr, Any] = {}

    def value(node: Expr) -> Any:
        if node not in memo:
            memo[node] = _compute(node, value, elements, numbers)
        return memo[node]

    with mp.workdps(DIGITS):
        try:
            result = value(e)
        except (ZeroDivisionError, OverflowError, TypeError) as error:
            raise ValueError(str(error)) from None
        if isinstance(result, mpmath.mpc) or mpmath.isnan(result):
            raise ValueError(f"{e} is not real here")
        return result


def _compute(e: Expr, value: Any, elements: Mapping[int, Any], numbers: Any) -> Any:
    if e.op == "const":
        return e.attr if e.dtype == "bool" else mp.mpf(e.attr)
    if e.op == "sym":
        return mp.mpf(numbers[e.attr])
    if e.op == "load":
        return mp.mpf(elements[e.attr])
    if e.op == "select":
        return value(e.args[1]) if value(e.args[0]) else value(e.args[2])
    if e.op == "with_partials":
        return value(e.args[0])
    if e.op == "cast":
        actual = value(e.args[0])
        if e.dtype == "bool":
            return actual != 0
        return actual if is_float(e.dtype) else _trunc(mp.mpf(actual))
    args = [value(a) for a in e.args]
    if e.op in _BY_NAME:
        return getattr(mpmath, e.op)(*args)
    return _FUNCTIONS[e.op](*args)
