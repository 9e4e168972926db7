"""Classifies calls of the public API in a graph: recorded, a query, or a graph break.

``describe`` classifies by the callable that function modes receive.
"""

from __future__ import annotations

import functools
import operator
from types import BuiltinMethodType, FunctionType, MethodDescriptorType
from types import WrapperDescriptorType as SlotType
from typing import Any, Final, NamedTuple

from pellucid import _C, Tensor
from pellucid._compile.tensor_members import (
    QUERIES,
    TENSOR_PROPERTIES,
    any_ends_graph,
    ends_graph,
    method_ops,
)
from pellucid._ops import OpOverload, OpOverloadPacket

# Methods written in Python over ops, which are recorded as themselves.
_OWN_METHODS: Final = frozenset(
    (
        *("bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "conj", "cpu"),
        *("double", "float", "half", "int", "long", "new_tensor", "norm", "polygamma"),
        *("short", "type", "where", "resolve_conj", "resolve_neg"),
    )
)
# Recorded as operators, since programs rarely call these methods.
_OPERATORS: Final[dict[str, Any]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "pow")},
    **{name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    "div": operator.truediv,
    "matmul": operator.matmul,
    "neg": operator.neg,
}
# Slots whose results are numbers; of these alone `operator` has a function.
_NUMBERS: Final = ("__index__",)
_FROM_DATA: Final = frozenset(("tensor", "as_tensor", "asarray", "from_numpy"))


class Description(NamedTuple):
    """``kind``: "call", "query", "data" (makes a tensor from Python data) or "end".

    ``op`` and ``target`` are those of a node; ``swaps`` its two operands.
    """

    kind: str
    name: str
    op: str = "call_function"
    target: Any = None
    is_property: bool = False
    swaps: bool = False


def describe(func: Any) -> Description:
    """The classification of a call of ``func``."""
    try:
        return _describe(func)
    except TypeError:  # not hashable
        return Description("end", getattr(func, "__name__", repr(func)))


@functools.lru_cache(maxsize=4096)
def _describe(func: Any) -> Description:
    name = getattr(func, "__name__", None) or type(func).__name__
    if name in ("__get__", "__set__", "__delete__"):
        return _of_property(name, func.__self__.__name__)
    if name in QUERIES:
        return Description("query", name)
    if isinstance(func, OpOverload | OpOverloadPacket):
        overloads = [func]
        if isinstance(func, OpOverloadPacket):
            overloads = [getattr(func, name) for name in func.overloads()]
        kind = "end" if any_ends_graph(overloads) else "call"
        return Description(kind, str(func), target=func)
    if ends_graph(name):
        return Description("end", name)
    if isinstance(func, BuiltinMethodType):
        kind = "data" if name in _FROM_DATA else "call"
        return Description(kind, name, target=func)
    if isinstance(func, MethodDescriptorType | SlotType):
        return _of_method(name)
    if isinstance(func, FunctionType):
        is_method = name in _OWN_METHODS and getattr(Tensor, name, None) is func
        return Description("call" if is_method else "end", name, "call_method", name)
    module = getattr(func, "__module__", "")
    is_call = isinstance(func, _C_OVERRIDABLE) and not module.startswith(_NOT_OPS)
    return Description("call" if is_call else "end", name, target=func)


_C_OVERRIDABLE: Final = type(_C.overridable(lambda: None))
_NOT_OPS: Final = ("pellucid.autograd", "pellucid._higher_order")


def _of_property(access: str, name: str) -> Description:
    if access != "__get__":
        return Description("end", f"setting {name}", is_property=True)
    if name in QUERIES:
        return Description("query", name, is_property=True)
    if name not in TENSOR_PROPERTIES:
        return Description("end", name, is_property=True)
    return Description("call", name, target=getattr, is_property=True)


def _of_method(name: str) -> Description:
    if name in _OPERATORS:
        return Description("call", name, target=_OPERATORS[name])
    if not name.startswith("__"):
        kind = "call" if name in method_ops() else "end"
        return Description(kind, name, "call_method", name)
    if name in _NUMBERS:
        return Description("end", name)
    plain = name.strip("_")
    for candidate in (plain, f"{plain}_"):
        function = getattr(operator, candidate, None)
        if function is not None:
            return Description("call", plain, target=function)
    reflected = plain[1:] if plain.startswith("r") else plain
    function = getattr(operator, reflected, getattr(operator, f"{reflected}_", None))
    if function is None:
        return Description("end", name)
    return Description("call", reflected, target=function, swaps=True)
