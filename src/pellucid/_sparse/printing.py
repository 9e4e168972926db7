"""How sparse tensors print: their parts, one below the other, as in PyTorch."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid._sparse.invariants import names_of
from pellucid._sparse.parts import COO
from pellucid._tensor.printing import _tensor_str


def contents(tensor: Tensor, indent: int) -> str:
    """``indices=..., values=...`` (for the parts of other layouts, their names)."""
    *structure, values = (each.detach() for each in _C._sparse_kind(tensor)[2])
    if tensor.layout is COO:
        lines = [_named("indices", structure[0], indent)]
    else:
        names = names_of(tensor.layout)
        lines = [
            _named(name, each, indent)
            for name, each in zip(names, structure, strict=False)
        ]
    lines.append(_named("values", values, indent))
    if tensor.layout is COO:
        lines.append(f"size={tuple(tensor.shape)}")
    return (",\n" + " " * indent).join(lines)


def _named(name: str, tensor: Tensor, indent: int) -> str:
    prefix = f"{name}=tensor("
    text = _tensor_str(tensor, indent + len(prefix))
    if not tensor.numel():
        text += f", size={tuple(tensor.shape)}"
    return f"{prefix}{text})"


def suffixes(tensor: Tensor) -> list[str]:
    """Size, number of elements, an unusual dtype, the layout."""
    found = [f"nnz={tensor._nnz()}"]
    if tensor.layout is not COO:
        found.insert(0, f"size={tuple(tensor.shape)}")
    dtype: Any = tensor.dtype
    usual = (pellucid.get_default_dtype(), pellucid.int64, pellucid.bool)
    if dtype not in usual and dtype is not pellucid.complex64:
        found.append(f"dtype={dtype}")
    return [*found, f"layout={tensor.layout}"]
