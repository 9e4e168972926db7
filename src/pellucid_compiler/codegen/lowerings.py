"""Lowering of scalar ops to instructions, as named by rows of ``ir/scalar_ops.py``.

Operands are in the register type of their dtype (``formats.py``) and have one dtype.
Lowerings are total where the machine is not: a division by zero or an over-wide shift
has the interpreter's value. ``LOWERINGS`` has one for every row, by the op's name.
Called by ``emit.py``; elementary functions are in ``elementary``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final, TypeAlias

from pellucid_compiler.codegen import elementary, integers
from pellucid_compiler.codegen.builder import Function, Value
from pellucid_compiler.codegen.formats import complex_part, complex_value, is_unsigned
from pellucid_compiler.ir.dtypes import is_real_float
from pellucid_compiler.ir.expr import ScalarOp
from pellucid_compiler.ir.scalar_ops import SCALAR_OPS

Lowering: TypeAlias = Callable[..., Value]
"""``lowering(function, dtype, *operands)``; ``dtype`` is the operands'."""

FORMS: dict[str, Callable[..., Value]] = {}
"""What rows may name; a form that takes a word more comes before it in the row."""


def _lowers(name: str) -> Callable[[Lowering], Lowering]:
    def register(lowering: Lowering) -> Lowering:
        FORMS[name] = lowering
        return lowering

    return register


def _real_only(function: Callable[..., Value]) -> Lowering:
    return lambda f, dtype, *args: function(f, *args)


FORMS.update((name, _real_only(f)) for name, f in elementary.FUNCTIONS.items())


# ------------------------------------------------------------------ arithmetic


@_lowers("add")
def _add(f: Function, dtype: str, a: Value, b: Value) -> Value:
    return a | b if dtype == "bool" else a + b


@_lowers("sub")
def _sub(f: Function, dtype: str, a: Value, b: Value) -> Value:
    return a - b


@_lowers("mul")
def _mul(f: Function, dtype: str, a: Value, b: Value) -> Value:
    return a & b if dtype == "bool" else a * b


@_lowers("div")
def _div(f: Function, dtype: str, a: Value, b: Value) -> Value:
    return a / b


@_lowers("neg")
def _neg(f: Function, dtype: str, a: Value) -> Value:
    return -a


@_lowers("floordiv")
def _floordiv(f: Function, dtype: str, a: Value, b: Value) -> Value:
    if is_real_float(dtype):
        return elementary.floor_divide(f, a, b)
    return integers.divide(f, a, b, signed=not is_unsigned(dtype), floor=True)


@_lowers("mod")
def _mod(f: Function, dtype: str, a: Value, b: Value) -> Value:
    if is_real_float(dtype):
        return elementary.remainder(f, a, b)
    return integers.remainder(f, a, b, signed=not is_unsigned(dtype), floor=True)


@_lowers("fmod")
def _fmod(f: Function, dtype: str, a: Value, b: Value) -> Value:
    if is_real_float(dtype):
        return elementary.truncated_remainder(f, a, b)
    return integers.remainder(f, a, b, signed=not is_unsigned(dtype), floor=False)


@_lowers("pow")
def _pow(f: Function, dtype: str, a: Value, b: Value) -> Value:
    if is_real_float(dtype):
        return elementary.power(f, a, b)
    return integers.power(f, a, b, signed=not is_unsigned(dtype))


def _propagating(f: Function, relation: str, a: Value, b: Value) -> Value:
    """The extremum of floats; NaN if either operand is NaN."""
    chosen = f.select(f.compare(relation, a, b), a, b)
    return f.select(f.is_nan(a), a, chosen)


@_lowers("maximum")
def _maximum(f: Function, dtype: str, a: Value, b: Value) -> Value:
    if dtype == "bool":
        return a | b
    if is_real_float(dtype):
        return _propagating(f, "gt", a, b)
    relation = "ugt" if is_unsigned(dtype) else "gt"
    return f.select(f.compare(relation, a, b), a, b)


@_lowers("minimum")
def _minimum(f: Function, dtype: str, a: Value, b: Value) -> Value:
    if dtype == "bool":
        return a & b
    if is_real_float(dtype):
        return _propagating(f, "lt", a, b)
    relation = "ult" if is_unsigned(dtype) else "lt"
    return f.select(f.compare(relation, a, b), a, b)


@_lowers("copysign")
def _copysign(f: Function, dtype: str, a: Value, b: Value) -> Value:
    return f.copysign(a, b)


@_lowers("abs")
def _abs(f: Function, dtype: str, a: Value) -> Value:
    if is_real_float(dtype):
        return f.unary("fabs", a)
    if is_unsigned(dtype):
        return a
    return f.select(a < 0, -a, a)


@_lowers("real")
def _real(f: Function, dtype: str, a: Value) -> Value:
    return complex_part(f, a, dtype, imag=False)


@_lowers("imag")
def _imag(f: Function, dtype: str, a: Value) -> Value:
    return complex_part(f, a, dtype, imag=True)


@_lowers("complex")
def _complex(f: Function, dtype: str, a: Value, b: Value) -> Value:
    return complex_value(f, a, b)


@_lowers("conj")
def _conj(f: Function, dtype: str, a: Value) -> Value:
    real, imag = (complex_part(f, a, dtype, imag=part) for part in (False, True))
    return complex_value(f, real, -imag)


@_lowers("sign")
def _sign(f: Function, dtype: str, a: Value) -> Value:
    if is_real_float(dtype):
        one = f.copysign(f.constant(1.0, a.type), a)
        return f.select(a.differs(0.0) & a.equals(a), one, 0.0)
    if is_unsigned(dtype):
        return f.select(a.differs(0), f.constant(1, a.type), 0)
    positive = f.select(a > 0, f.constant(1, a.type), 0)
    return f.select(a < 0, -1, positive)


@_lowers("unary")
def _unary(instruction: str, f: Function, dtype: str, a: Value) -> Value:
    """An instruction on floats that leaves integers unchanged."""
    return f.unary(instruction, a) if is_real_float(dtype) else a


# ------------------------------------------------------------------ comparison, logic


@_lowers("compare")
def _compare(relation: str, f: Function, dtype: str, a: Value, b: Value) -> Value:
    unsigned = is_unsigned(dtype) and relation in ("lt", "le")
    return f.compare(f"u{relation}" if unsigned else relation, a, b)


@_lowers("bitand")
def _and(f: Function, dtype: str, a: Value, b: Value) -> Value:
    return a & b


@_lowers("bitor")
def _or(f: Function, dtype: str, a: Value, b: Value) -> Value:
    return a | b


@_lowers("bitxor")
def _xor(f: Function, dtype: str, a: Value, b: Value) -> Value:
    return a ^ b


@_lowers("not")
def _not(f: Function, dtype: str, a: Value) -> Value:
    return ~a


@_lowers("isnan")
def _isnan(f: Function, dtype: str, a: Value) -> Value:
    if is_real_float(dtype):
        return f.is_nan(a)
    return f.constant(False, a.type.with_element("i1"))


@_lowers("isinf")
def _isinf(f: Function, dtype: str, a: Value) -> Value:
    if is_real_float(dtype):
        return f.unary("fabs", a).equals(float("inf"))
    return f.constant(False, a.type.with_element("i1"))


@_lowers("shl")
def _shl(f: Function, dtype: str, a: Value, b: Value) -> Value:
    fits = f.compare("ult", b, a.type.element_bits)
    return f.select(fits, a << f.select(fits, b, 0), 0)


@_lowers("shr")
def _shr(f: Function, dtype: str, a: Value, b: Value) -> Value:
    last = a.type.element_bits - 1
    count = f.select(f.compare("ule", b, last), b, last)
    return f.binary("lshr" if is_unsigned(dtype) else "ashr", a, count)


def _lowering(op: ScalarOp) -> Lowering:
    form, _, word = op.lowering.partition(" ")
    if form not in FORMS:
        raise LookupError(f"the scalar op {op.name} has no lowering: write {form} here")
    return functools.partial(FORMS[form], word) if word else FORMS[form]


LOWERINGS: Final[dict[str, Lowering]] = {
    op.name: _lowering(op) for op in SCALAR_OPS.values()
}
