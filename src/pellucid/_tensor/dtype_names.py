"""What dtypes are called in the names of tensor and storage types."""

from __future__ import annotations

from pellucid import _C

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

TYPE_NAMES: dict[_C.dtype, str] = {
    _C.float32: "Float",
    _C.float64: "Double",
    _C.float16: "Half",
    _C.bfloat16: "BFloat16",
    _C.complex64: "ComplexFloat",
    _C.complex128: "ComplexDouble",
    _C.bool: "Bool",
    _C.uint8: "Byte",
    _C.int8: "Char",
    _C.int16: "Short",
    _C.int32: "Int",
    _C.int64: "Long",
}


def dtype_of_type_name(name: str) -> Any:
    """The dtype that ``torch.LongTensor`` or ``torch.int64`` names."""
    for dtype, word in TYPE_NAMES.items():
        if name in (f"torch.{word}Tensor", str(dtype)):
            return dtype
    raise ValueError(f"{name!r} names no tensor type; expected for example a dtype")
