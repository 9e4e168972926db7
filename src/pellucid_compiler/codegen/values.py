"""Typed values of LLVM's text: types, constants as text, and SSA values with Python's
operators.

A ``Value`` refers to its function, which its operators call. Everything here is offered
by ``builder.py`` too, from which other modules import it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pellucid_compiler.codegen.builder import Function

_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "ptr": 64}
_SUFFIX = {"half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}


@dataclass(frozen=True, slots=True)
class Type:
    """A scalar (``lanes == 1``) or vector LLVM type; ``str`` gives its spelling."""

    element: str
    lanes: int = 1

    def __str__(self) -> str:
        if self.lanes == 1:
            return self.element
        return f"<{self.lanes} x {self.element}>"

    @property
    def is_float(self) -> bool:
        return self.element in ("half", "float", "double")

    @property
    def element_bits(self) -> int:
        return int(self.element[1:]) if self.element[0] == "i" else _BITS[self.element]

    @property
    def element_bytes(self) -> int:
        return (self.element_bits + 7) // 8

    @property
    def suffix(self) -> str:
        """The name mangling of overloaded intrinsics: ``f32``, ``v16f32``..."""
        element = _SUFFIX.get(self.element, self.element)
        return element if self.lanes == 1 else f"v{self.lanes}{element}"

    def with_lanes(self, lanes: int) -> Type:
        return Type(self.element, lanes)

    def with_element(self, element: str) -> Type:
        return Type(element, self.lanes)

    def as_integer(self) -> Type:
        """The integer type with the same bits."""
        return Type(f"i{self.element_bits}", self.lanes)


I1, I8, I16, I32, I64 = (Type(f"i{bits}") for bits in (1, 8, 16, 32, 64))
HALF, FLOAT, DOUBLE, PTR = (Type(name) for name in ("half", "float", "double", "ptr"))

Number = int | float


class Value:
    """One SSA value or constant of a function. ``literal`` is the Python number of a
    constant (of every lane), ``None`` for anything computed at run time.
    """

    __slots__ = ("function", "literal", "text", "type")

    def __init__(
        self, function: Function, text: str, type_: Type, literal: Number | None = None
    ) -> None:
        self.function = function
        self.text = text
        self.type = type_
        self.literal = literal

    def __repr__(self) -> str:
        return f"{self.type} {self.text}"

    def __bool__(self) -> bool:
        raise TypeError("a Value is known only at run time; use select or branch")

    def __add__(self, other: Value | Number) -> Value:
        return self.function.add(self, other)

    def __radd__(self, other: Number) -> Value:
        return self.function.add(other, self)

    def __sub__(self, other: Value | Number) -> Value:
        return self.function.sub(self, other)

    def __rsub__(self, other: Number) -> Value:
        return self.function.sub(other, self)

    def __mul__(self, other: Value | Number) -> Value:
        return self.function.mul(self, other)

    def __rmul__(self, other: Number) -> Value:
        return self.function.mul(other, self)

    def __truediv__(self, other: Value | Number) -> Value:
        return self.function.binary("fdiv", self, other)

    def __rtruediv__(self, other: Number) -> Value:
        return self.function.binary("fdiv", other, self)

    def __neg__(self) -> Value:
        return self.function.neg(self)

    def __and__(self, other: Value | int) -> Value:
        return self.function.binary("and", self, other)

    def __or__(self, other: Value | int) -> Value:
        return self.function.binary("or", self, other)

    def __xor__(self, other: Value | int) -> Value:
        return self.function.binary("xor", self, other)

    def __invert__(self) -> Value:
        return self.function.binary("xor", self, -1)

    def __lshift__(self, other: Value | int) -> Value:
        return self.function.binary("shl", self, other)

    def __rshift__(self, other: Value | int) -> Value:
        """Arithmetic shift; ``Function.binary("lshr", ...)`` is the logical one."""
        return self.function.binary("ashr", self, other)

    def __lt__(self, other: Value | Number) -> Value:
        return self.function.compare("lt", self, other)

    def __le__(self, other: Value | Number) -> Value:
        return self.function.compare("le", self, other)

    def __gt__(self, other: Value | Number) -> Value:
        return self.function.compare("gt", self, other)

    def __ge__(self, other: Value | Number) -> Value:
        return self.function.compare("ge", self, other)

    def equals(self, other: Value | Number) -> Value:
        return self.function.compare("eq", self, other)

    def differs(self, other: Value | Number) -> Value:
        """True for unequal or unordered operands."""
        return self.function.compare("ne", self, other)


Operand = Value | Number


def number_text(value: Number, type_: Type) -> str:
    """A constant of a scalar type; floats are printed by their bits."""
    if type_.element == "float":
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    if type_.element in ("float", "double"):
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    if type_.element == "half":
        return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    if type_.element == "i1":
        return "true" if value else "false"
    if not isinstance(value, int):
        raise TypeError(f"{type_} constant from {value!r}: expected an int")
    bits = type_.element_bits
    wrapped = value & ((1 << bits) - 1)
    return str(wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped)
