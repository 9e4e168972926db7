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
from pellucid._ops import OpOverload, OpOverloadPacket

# Queries that a tensor without data can answer.
_QUESTIONS: Final = frozenset(
    (
        *("shape", "dtype", "ndim", "size", "dim", "ndimension", "numel", "nelement"),
        *("stride", "storage_offset", "is_contiguous", "is_floating_point", "layout"),
        *("is_complex", "is_signed", "element_size", "itemsize", "nbytes", "__len__"),
        *("requires_grad", "is_leaf", "is_same_size", "is_inference", "is_conj"),
        *("is_neg", "is_quantized", "is_sparse", "is_nested", "is_mkldnn", "is_cuda"),
        *("is_sparse_csr", "is_xpu", "is_mps", "is_mtia", "is_xla", "dim_order"),
    )
)
# Those for which a tensor without data would report the meta device.
ON_CPU: Final = {"is_cpu": True, "is_meta": False, "get_device": -1}
# They return an address, a history or data, or change the tensor's type.
_ENDS: Final = frozenset(
    (
        *("item", "tolist", "numpy", "backward", "data_ptr", "const_data_ptr"),
        *("register_hook", "register_post_accumulate_grad_hook", "retain_grad"),
        *("untyped_storage", "storage", "set_", "resize_", "resize_as_", "resize"),
        *("unsqueeze_", "squeeze_", "t_", "transpose_", "swapaxes_", "swapdims_"),
        *("as_strided_", "requires_grad_", "detach_", "apply_", "map_", "map2_"),
        *("share_memory_", "is_shared", "pin_memory", "is_set_to", "_buffer", "equal"),
        *("allclose", "is_nonzero", "as_subclass", "output_nr", "retains_grad"),
        *("__bool__", "__int__", "__float__", "__index__", "__complex__", "new"),
    )
)
# Properties that are ops; others are read directly.
_VIEWS: Final = frozenset(("T", "H", "mT", "mH", "real", "imag"))
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
_FROM_DATA: Final = frozenset(("tensor", "as_tensor", "asarray", "from_numpy"))


class Description(NamedTuple):
    """``kind``: "call", "question", "data" (makes a tensor from Python data) or "end".

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
    if name in _QUESTIONS or name in ON_CPU:
        return Description("question", name)
    if name in _ENDS:
        return Description("end", name)
    if isinstance(func, OpOverload | OpOverloadPacket):
        return Description("call", str(func), target=func)
    if isinstance(func, BuiltinMethodType):
        kind = "data" if name in _FROM_DATA else "call"
        return Description(kind, name, target=func)
    if isinstance(func, MethodDescriptorType | SlotType):
        return _of_method(name)
    if isinstance(func, FunctionType):
        is_method = name in _OWN_METHODS and getattr(Tensor, name, None) is func
        return Description("call" if is_method else "end", name, "call_method", name)
    module = getattr(func, "__module__", "")
    is_op = isinstance(func, _C_OVERRIDABLE) and not module.startswith(_NOT_OPS)
    return Description("call" if is_op else "end", name, target=func)


_C_OVERRIDABLE: Final = type(_C.overridable(lambda: None))
_NOT_OPS: Final = ("pellucid.autograd", "pellucid._higher_order")


def _of_property(access: str, name: str) -> Description:
    if access != "__get__":
        return Description("end", f"setting {name}", is_property=True)
    if name in _QUESTIONS or name in ON_CPU or name == "device":
        return Description("question", name, is_property=True)
    if name not in _VIEWS:
        return Description("end", name, is_property=True)
    return Description("call", name, target=getattr, is_property=True)


def _of_method(name: str) -> Description:
    if name in _OPERATORS:
        return Description("call", name, target=_OPERATORS[name])
    if not name.startswith("__"):
        return Description("call", name, "call_method", name)
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
