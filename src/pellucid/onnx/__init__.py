"""``torch.onnx``: no export is available; ``is_in_onnx_export`` is False.

Libraries note how their own ops would be written; nothing reads it yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NoReturn

__all__ = [
    "TensorProtoDataType",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]

# What libraries say of their own ops: the function of each, by name and opset.
_SYMBOLICS: dict[tuple[str, int], Callable[..., Any]] = {}


class TensorProtoDataType(IntEnum):
    """ONNX's numbers of dtypes."""

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int
) -> None:
    """Note how an op ("namespace::name") is written to ONNX from a version on.

    ValueError for another form of name.
    """
    if not re.fullmatch(r"[\w-]+::[a-zA-Z_]\w*", symbolic_name):
        raise ValueError(
            f"{symbolic_name!r} names no op: a name is 'namespace::name', of letters, "
            "digits and underscores"
        )
    _SYMBOLICS[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forget it."""
    _SYMBOLICS.pop((symbolic_name, opset_version), None)


def is_in_onnx_export() -> bool:
    """False: nothing is exported."""
    return False


def export(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses."""
    raise NotImplementedError(
        "Pellucid writes no ONNX files: save the state_dict, load it in PyTorch and "
        "export there"
    )
