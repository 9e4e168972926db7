"""Prints sparse tensors as PyTorch does: one component per line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pellucid
from pellucid import _C, Tensor

if TYPE_CHECKING:
    from pellucid._tensor.kinds import Write

_NAMES = {
    pellucid.sparse_coo: ("indices",),
    pellucid.sparse_csr: ("crow_indices", "col_indices"),
    pellucid.sparse_csc: ("ccol_indices", "row_indices"),
    pellucid.sparse_bsr: ("crow_indices", "col_indices"),
    pellucid.sparse_bsc: ("ccol_indices", "row_indices"),
}


def contents(tensor: Tensor, indent: int, write: Write) -> str:
    """``indices=..., values=...`` (for the parts of other layouts, their names)."""
    parts = (each.detach() for each in _C._sparse_kind(tensor)[2])
    names = (*_NAMES[tensor.layout], "values")
    lines = [
        _named(name, each, indent, write)
        for name, each in zip(names, parts, strict=True)
    ]
    if tensor.layout is pellucid.sparse_coo:
        lines.append(f"size={tuple(tensor.shape)}")
    return (",\n" + " " * indent).join(lines)


def _named(name: str, tensor: Tensor, indent: int, write: Write) -> str:
    prefix = f"{name}=tensor("
    text = "..." if tensor.is_meta else write(tensor, indent + len(prefix))
    if tensor.is_meta or not tensor.numel():
        text += f", size={tuple(tensor.shape)}"
    return f"{prefix}{text})"


def suffixes(tensor: Tensor) -> list[str]:
    """Size, number of elements, an unusual dtype, the layout."""
    found = [f"nnz={tensor._nnz()}"]
    if tensor.layout is not pellucid.sparse_coo:
        found.insert(0, f"size={tuple(tensor.shape)}")
    dtype: Any = tensor.dtype
    usual = (pellucid.get_default_dtype(), pellucid.int64, pellucid.bool)
    if dtype not in usual and dtype is not pellucid.complex64:
        found.append(f"dtype={dtype}")
    return [*found, f"layout={tensor.layout}"]
