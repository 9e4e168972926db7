"""The dtypes in the names of tensor and storage types."""

from __future__ import annotations

from pellucid import _C

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

# One row per tensor dtype, in the order of their codes.
TYPE_NAMES: dict[_C.dtype, str] = _C._dtype_words
# PyTorch has named storages and tensor types only for the dtypes up to complex128.
STORAGE_NAMES: dict[_C.dtype, str] = dict(
    list(TYPE_NAMES.items())[: list(TYPE_NAMES).index(_C.complex128) + 1]
)


def dtype_of_type_name(name: str) -> Any:
    """The dtype of a name such as ``torch.LongTensor`` or ``torch.int64``."""
    for dtype, word in TYPE_NAMES.items():
        types = (f"torch.{word}Tensor", f"torch.sparse.{word}Tensor")
        if name in (*types, str(dtype)):
            return dtype
    raise ValueError(
        f"{name!r} is not a tensor type's name; expected for example a dtype"
    )
