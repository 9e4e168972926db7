"""The ops of Python's operators on tensors, such as ``add`` of ``+``: Python's data
model names the operators, PyTorch the ops.

``headers.py`` writes runtime/abi/operators.h from the rows, for
``runtime/python/operators.cpp``.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Operator(NamedTuple):
    """``symbol``: the C++ name; ``reflected``: an op with swapped operands; ``slot``
    and ``reflected_slot``: the method that ``__torch_function__`` receives in place of
    the op, because PyTorch has these operators in Python. ``captured``: the function in
    Python that does ``number op tensor`` by the ops that PyTorch's operator calls,
    where they are others: capturing modes see these ops.
    """

    symbol: str
    op: str
    reflected: str = ""
    commutes: bool = False
    slot: str = ""
    reflected_slot: str = ""
    captured: str = ""


def _in_place(symbol: str, op: str, slot: str = "") -> Operator:
    return Operator(f"{symbol}InPlace", f"{op}_", slot=slot)


# fmt: off
BINARY: Final = (
    Operator("Add", "add", commutes=True),
    Operator("Subtract", "sub", "rsub", reflected_slot="__rsub__"),
    Operator("Multiply", "mul", commutes=True),
    Operator("Divide", "div", reflected_slot="__rtruediv__", captured="divided"),
    Operator("FloorDivide", "floor_divide", slot="__floordiv__",
             reflected_slot="__rfloordiv__"),
    Operator("Remainder", "remainder", reflected_slot="__rmod__"),
    Operator("Power", "pow", reflected_slot="__rpow__", captured="raised"),
    Operator("MatrixMultiply", "matmul", reflected_slot="__rmatmul__"),
    Operator("And", "bitwise_and", commutes=True, slot="__and__"),
    Operator("Or", "bitwise_or", commutes=True, slot="__or__"),
    Operator("Xor", "bitwise_xor", commutes=True, slot="__xor__"),
    Operator("LeftShift", "bitwise_left_shift", slot="__lshift__",
             reflected_slot="__rlshift__"),
    Operator("RightShift", "bitwise_right_shift", slot="__rshift__",
             reflected_slot="__rrshift__"),
    Operator("Less", "lt"),
    Operator("LessEqual", "le"),
    Operator("Equal", "eq", slot="__eq__"),
    Operator("NotEqual", "ne"),
    Operator("Greater", "gt"),
    Operator("GreaterEqual", "ge"),
    _in_place("Add", "add"),
    _in_place("Subtract", "sub"),
    _in_place("Multiply", "mul"),
    _in_place("Divide", "div"),
    _in_place("FloorDivide", "floor_divide"),
    _in_place("Remainder", "remainder"),
    _in_place("Power", "pow"),
    _in_place("And", "bitwise_and", "__iand__"),
    _in_place("Or", "bitwise_or", "__ior__"),
    _in_place("Xor", "bitwise_xor", "__ixor__"),
    _in_place("LeftShift", "bitwise_left_shift", "__ilshift__"),
    _in_place("RightShift", "bitwise_right_shift", "__irshift__"),
)
UNARY: Final = (
    Operator("Negative", "neg"),
    Operator("Positive", "positive"),
    Operator("Absolute", "abs"),
    Operator("Invert", "bitwise_not", slot="__invert__"),
)
# fmt: on
