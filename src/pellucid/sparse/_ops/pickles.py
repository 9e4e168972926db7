"""Pickles and files of sparse tensors: the layout and components, as in PyTorch."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import _C, Tensor


def facts_of(tensor: Tensor) -> tuple[Any, tuple[Any, ...]]:
    """(layout, (indices..., values, size, and for COO whether it is coalesced))."""
    _, is_coalesced, components = _C._sparse_kind(tensor)
    parts = (*(each.detach() for each in components), pellucid.Size(tensor.shape))
    if tensor.layout is pellucid.sparse_coo:
        return tensor.layout, (*parts, is_coalesced)
    return tensor.layout, parts


def rebuild(layout: Any, facts: Any) -> Tensor:
    """Rebuilds the tensor of ``facts_of``, with checks: it may come from a file."""
    if isinstance(layout, str):
        layout = getattr(pellucid, layout.removeprefix("torch."))
    if layout is pellucid.sparse_coo:
        indices, values, size, *rest = facts
        made: Tensor = pellucid.sparse_coo_tensor(
            *(indices, values, size),
            check_invariants=True,
            is_coalesced=True if rest and rest[0] else None,
        )
        return made
    if layout not in _COMPRESSED:
        raise NotImplementedError(f"rebuilding a tensor of the layout {layout}")
    pointers, plain, values, size = facts
    made = pellucid.sparse_compressed_tensor(
        pointers, plain, values, size, layout=layout, check_invariants=True
    )
    return made


_COMPRESSED = (
    *(pellucid.sparse_csr, pellucid.sparse_csc),
    *(pellucid.sparse_bsr, pellucid.sparse_bsc),
)


def rebuild_leaf(
    kind: Any, layout: Any, facts: Any, requires_grad: bool, state: Any
) -> Any:
    """Called by pickles: a tensor of the class ``kind`` with its attributes."""
    made = rebuild(layout, facts)
    if kind is not Tensor:
        made = _C.TensorBase._make_subclass(kind, made)
    made.requires_grad = requires_grad
    if state:
        made.__dict__.update(state)
    return made


def reduced(tensor: Tensor) -> Any:
    """The function and arguments from which ``pickle`` rebuilds the tensor."""
    facts = facts_of(tensor)
    state = tensor.__dict__ or None
    return rebuild_leaf, (type(tensor), *facts, tensor.requires_grad, state)
