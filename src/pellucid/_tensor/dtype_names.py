"""What dtypes are called in the names of tensor and storage types."""

from __future__ import annotations

from pellucid import _C

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

# A row per dtype of tensors, in the order of their codes.
TYPE_NAMES: dict[_C.dtype, str] = _C._dtype_words
# PyTorch has named storages and tensor types of the dtypes up to complex128 alone.
STORAGE_NAMES: dict[_C.dtype, str] = dict(
    list(TYPE_NAMES.items())[: list(TYPE_NAMES).index(_C.complex128) + 1]
)


def dtype_of_type_name(name: str) -> Any:
    """The dtype that ``torch.LongTensor`` or ``torch.int64`` names."""
    for dtype, word in TYPE_NAMES.items():
        if name in (f"torch.{word}Tensor", str(dtype)):
            return dtype
    raise ValueError(f"{name!r} names no tensor type; expected for example a dtype")
