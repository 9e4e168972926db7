"""Scalar functions for op bodies; on a Tensor they apply to every element.

Each is one scalar op of ``ir/scalar_ops.py`` or a short composition. ``where``, ``to``
and ``detach`` are the ones to know first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pellucid_compiler.declare.tensor import Operand, Tensor, lift
from pellucid_compiler.ir import expr as ir
from pellucid_compiler.ir.expr import Expr, make, with_partials

INF: Final = float("inf")
NAN: Final = float("nan")
PI: Final = 3.141592653589793


def _scalar(name: str) -> Callable[..., Any]:
    """The function that applies the scalar op ``name`` to numbers, Exprs or Tensors."""

    def function(*operands: Operand) -> Any:
        return lift(lambda *args: make(name, *args), *operands)

    function.__name__ = name
    return function


exp = _scalar("exp")
exp2 = _scalar("exp2")
expm1 = _scalar("expm1")
log = _scalar("log")
log2 = _scalar("log2")
log10 = _scalar("log10")
log1p = _scalar("log1p")
sqrt = _scalar("sqrt")
rsqrt = _scalar("rsqrt")
sin = _scalar("sin")
cos = _scalar("cos")
tan = _scalar("tan")
asin = _scalar("asin")
acos = _scalar("acos")
atan = _scalar("atan")
atan2 = _scalar("atan2")
sinh = _scalar("sinh")
cosh = _scalar("cosh")
tanh = _scalar("tanh")
asinh = _scalar("asinh")
acosh = _scalar("acosh")
atanh = _scalar("atanh")
erf = _scalar("erf")
erfc = _scalar("erfc")
erfinv = _scalar("erfinv")
lgamma = _scalar("lgamma")
digamma = _scalar("digamma")
floor = _scalar("floor")
ceil = _scalar("ceil")
trunc = _scalar("trunc")
round_even = _scalar("round")
sign = _scalar("sign")
isnan = _scalar("isnan")
isinf = _scalar("isinf")
maximum = _scalar("maximum")  # NaN if either operand is
minimum = _scalar("minimum")
power = _scalar("pow")
fmod = _scalar("fmod")
copysign = _scalar("copysign")
bitand = _scalar("bitand")
bitor = _scalar("bitor")
bitxor = _scalar("bitxor")
shift_left = _scalar("shl")
shift_right = _scalar("shr")
logical_and = _scalar("and")
logical_or = _scalar("or")
logical_not = _scalar("not")
conj = _scalar("conj")
real = _scalar("real")
imag = _scalar("imag")
complex_of = _scalar("complex")  # of a real and an imaginary part


def where(condition: Operand, first: Operand, second: Operand) -> Any:
    """``first`` where ``condition`` else ``second``; the untaken side has no effect."""
    return lift(ir.select, condition, first, second)


def to(x: Any, dtype: str | None) -> Any:
    """``x`` converted to ``dtype``; None leaves it as it is."""
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
    """Neither infinite nor NaN."""
    return lift(lambda e: ~(make("isinf", e) | make("isnan", e)), x)
