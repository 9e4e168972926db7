"""The formats of dtypes in memory and in registers, and the conversions between them.

A bool is a byte in memory and an ``i1`` in a register; float16, bfloat16 and the 8-bit
floats are narrow in memory and float32 in a register; weak numbers are 64 bits wide; a
complex number is one integer, with the bits of its real part below those of the
imaginary one, which kernels split and combine; complex32 is complex64 in a register.
Conversions are total: NaN and out-of-range floats become the lowest integer, as on x86.
Called by ``emit.py`` and the schedules. Read next: ``lowerings.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

from pellucid_compiler.abi.dtypes import BY_NAME, INTEGRAL
from pellucid_compiler.codegen import float8
from pellucid_compiler.codegen.builder import Function, Type, Value
from pellucid_compiler.ir.dtypes import is_real_float, real_dtype
from pellucid_compiler.ir.float8 import FLOAT8

_MEMORY = {
    "bool": "i8", "uint8": "i8", "int8": "i8", "int16": "i16", "int32": "i32",
    "int64": "i64", "float16": "half", "bfloat16": "i16", "float32": "float",
    "float64": "double", "complex64": "i64", "complex128": "i128",
    "uint16": "i16", "uint32": "i32", "uint64": "i64", "complex32": "i32",
    **dict.fromkeys(FLOAT8, "i8"),
}  # fmt: skip
_REGISTER = {
    **_MEMORY,
    "bool": "i1", "float16": "float", "bfloat16": "float", "complex32": "i64",
    **dict.fromkeys(FLOAT8, "float"),
    "weakint": "i64", "weakfloat": "double",
}  # fmt: skip
_UNSIGNED = frozenset(
    row.name
    for row in BY_NAME.values()
    if row.category <= INTEGRAL and not row.signed and not row.opaque
)


def memory_type(dtype: str, lanes: int = 1) -> Type:
    """The type of an element of ``dtype`` in memory."""
    return Type(_known(_MEMORY, dtype), lanes)


def register_type(dtype: str, lanes: int = 1) -> Type:
    """The type of a value of ``dtype`` in a register."""
    return Type(_known(_REGISTER, dtype), lanes)


def _known(types: Mapping[str, str], dtype: str) -> str:
    if dtype not in types:
        raise NotImplementedError(
            f"no kernels are generated for {dtype} yet: convert to a real dtype"
        )
    return types[dtype]


def register_bits(dtype: str) -> int:
    return max(register_type(dtype).element_bits, 8)


def is_unsigned(dtype: str) -> bool:
    return dtype in _UNSIGNED


def from_memory(f: Function, raw: Value, dtype: str) -> Value:
    """Convert a loaded value to its register type."""
    if dtype == "bool":
        return raw.differs(0)
    if dtype == "float16":
        return f.convert("fpext", raw, "float")
    if dtype == "bfloat16":
        wide = f.convert("zext", raw, "i32") << 16
        return f.bitcast(wide, wide.type.with_element("float"))
    if dtype in FLOAT8:
        return float8.decode(f, raw, dtype)
    if dtype == "complex32":
        bits = (f.convert("trunc", raw, "i16"), f.convert("trunc", raw >> 16, "i16"))
        halves = (f.bitcast(x, x.type.with_element("half")) for x in bits)
        return complex_value(f, *(f.convert("fpext", x, "float") for x in halves))
    return raw


def to_memory(f: Function, value: Value, dtype: str) -> Value:
    """Convert a value from its register type to the stored type."""
    if dtype == "bool":
        return f.convert("zext", value, "i8")
    if dtype == "float16":
        return f.convert("fptrunc", value, "half")
    if dtype == "bfloat16":
        bits = _bfloat16_bits(f, value)
        return f.convert("trunc", f.binary("lshr", bits, 16), "i16")
    if dtype in FLOAT8:
        return f.convert("trunc", float8.encode(f, value, dtype), "i8")
    if dtype == "complex32":
        parts = (complex_part(f, value, dtype, imag=imag) for imag in (False, True))
        return complex_value(f, *(f.convert("fptrunc", x, "half") for x in parts))
    return value


def _bfloat16_bits(f: Function, value: Value) -> Value:
    """float32 rounded to bfloat16, ties to even, in the high half of 32 bits."""
    bits = f.bitcast(value, value.type.as_integer())
    odd = f.binary("lshr", bits, 16) & 1
    rounded = (bits + odd + 0x7FFF) & -0x10000
    return f.select(f.is_nan(value), 0x7FC00000, rounded)


def constant(f: Function, number: complex, dtype: str, lanes: int) -> Value:
    """A number in every lane."""
    if not isinstance(number, complex):
        return f.constant(number, register_type(dtype, lanes))
    parts = (
        f.constant(x, register_type(real_dtype(dtype)))
        for x in (number.real, number.imag)
    )
    return f.splat(complex_value(f, *parts), lanes)


def complex_part(f: Function, value: Value, dtype: str, *, imag: bool) -> Value:
    """The real or imaginary part of a packed complex number."""
    part = register_type(real_dtype(dtype), value.type.lanes)
    bits = f.binary("lshr", value, part.element_bits) if imag else value
    return f.bitcast(f.convert("trunc", bits, f"i{part.element_bits}"), part)


def complex_value(f: Function, real: Value, imag: Value) -> Value:
    """The packed complex number of two parts."""
    bits = real.type.element_bits
    low, high = (
        f.convert("zext", f.bitcast(x, x.type.as_integer()), f"i{2 * bits}")
        for x in f.unify(real, imag)
    )
    return low | high << bits


def convert(f: Function, value: Value, source: str, dtype: str) -> Value:
    """``value`` of dtype ``source`` converted to ``dtype``, both in register types."""
    if source == dtype:
        return value
    if dtype == "bool":
        return value.differs(0)
    if is_real_float(dtype):
        return _to_float(f, value, source, dtype)
    target = _REGISTER[dtype]
    if is_real_float(source):
        if dtype == "uint64":
            return _float_to_uint64(f, value)
        if dtype == "uint32":
            return f.convert("trunc", _float_to_integer(f, value, "i64"), "i32")
        return _float_to_integer(f, value, target)
    return _resize(f, value, target, unsigned=is_unsigned(source))


def _to_float(f: Function, value: Value, source: str, dtype: str) -> Value:
    element = _REGISTER[dtype]
    if is_real_float(source):
        if value.type.element != element:
            narrow = element == "float"
            value = f.convert("fptrunc" if narrow else "fpext", value, element)
    elif source == "bool":
        value = f.select(value, f.constant(1.0, value.type.with_element(element)), 0.0)
    else:
        instruction = "uitofp" if is_unsigned(source) else "sitofp"
        value = f.convert(instruction, value, element)
    if dtype == "float16":
        return f.convert("fpext", f.convert("fptrunc", value, "half"), "float")
    if dtype == "bfloat16":
        return f.bitcast(_bfloat16_bits(f, value), value.type)
    if dtype in FLOAT8:
        code = f.convert("trunc", float8.encode(f, value, dtype), "i8")
        return float8.decode(f, code, dtype)
    return value


def _float_to_integer(f: Function, value: Value, element: str) -> Value:
    wide = "i64" if element == "i64" else "i32"
    limit = 2.0 ** (Type(wide).element_bits - 1)
    # -limit - 1 is not a float32; the smallest value that converts is -limit itself.
    above = (
        value >= -limit
        if wide == "i64" or value.type.element == "float"
        else (value > -limit - 1.0)
    )
    fits = above & (value < limit)
    whole = f.convert("fptosi", f.select(fits, value, 0.0), wide)
    whole = f.select(fits, whole, -int(limit))
    return f.convert("trunc", whole, element) if element != wide else whole


def _float_to_uint64(f: Function, value: Value) -> Value:
    """As on x86: from 2**63 on, the excess is converted and the top bit is set."""
    limit = 2.0**63
    above = value >= limit
    low = _float_to_integer(f, f.select(above, value - limit, value), "i64")
    return f.select(above, low ^ -(1 << 63), low)


def _resize(f: Function, value: Value, element: str, *, unsigned: bool) -> Value:
    source, target = value.type.element_bits, Type(element).element_bits
    if source == target:
        return value
    if source > target:
        return f.convert("trunc", value, element)
    return f.convert("zext" if unsigned else "sext", value, element)


def widest_bits(dtypes: list[str]) -> int:
    """Bits of the widest register type among ``dtypes``: it determines the lanes."""
    return max((register_bits(dtype) for dtype in dtypes), default=8)
