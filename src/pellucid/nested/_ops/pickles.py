"""Prints, pickles and saves nested tensors: their components, as in PyTorch."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor


def text_of(tensor: Tensor, suffixes: list[str]) -> str:
    """``repr`` of a nested tensor, with the field of its gradient."""
    if tensor.layout is pellucid.jagged:
        facts = [
            f"size={tuple(tensor.shape)}",
            f"offsets={tensor.offsets()}",
            *suffixes,
            f"contiguous={tensor.is_contiguous()}",
        ]
        return f"NestedTensor({', '.join(facts)})"
    records = tensor.requires_grad
    examples = [each.requires_grad_(records) for each in tensor.detach().unbind()]
    shown = ",\n".join(_indented(repr(each)) for each in examples)
    return f"nested_tensor([\n{shown}\n]" + "".join(f", {s}" for s in suffixes) + ")"


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.split("\n"))


def facts_of(tensor: Tensor) -> tuple[Any, ...]:
    """The arguments of ``rebuild_ragged`` or ``_nested_view_from_buffer``."""
    plain = tensor.detach()
    axis, *_ = pellucid._C._nested_kind(plain)
    if plain.layout is pellucid.jagged:
        facts = {
            "values": plain.values(),
            "offsets": plain.offsets(),
            "lengths": plain.lengths(),
            "_ragged_idx": axis,
            "_metadata_cache": {},
            "requires_grad": tensor.requires_grad,
        }
        return (facts,)
    pieces = plain.unbind()
    sizes = pellucid.tensor([list(each.shape) for each in pieces])
    strides = pellucid.tensor([list(each.stride()) for each in pieces])
    starts = pellucid.tensor([0, *(each.numel() for each in pieces[:-1])]).cumsum(0)
    return plain.values(), sizes, strides, starts


def rebuild_ragged(facts: Any) -> Tensor:
    """A jagged tensor of ``facts_of``, with checks: it may come from a file."""
    parts = facts["values"], facts["offsets"], None, facts["lengths"]
    made: Tensor = pellucid._nested_view_from_jagged(*parts, facts["_ragged_idx"])
    made = made.detach()
    made.requires_grad = bool(facts.get("requires_grad"))
    return made


def rebuild_pieces(*facts: Any) -> Tensor:
    """A strided nested tensor."""
    made: Tensor = pellucid._nested_view_from_buffer(*facts)
    return made


def rebuilt_leaf(kind: Any, facts: Any, requires_grad: bool, state: Any) -> Any:
    """Called by pickles: a tensor of the class ``kind`` with its attributes."""
    made = (rebuild_ragged if len(facts) == 1 else rebuild_pieces)(*facts).detach()
    if kind is not Tensor:
        made = pellucid._C.TensorBase._make_subclass(kind, made)
    made.requires_grad = requires_grad
    if state:
        made.__dict__.update(state)
    return made


def reduced(tensor: Tensor) -> Any:
    """The function and arguments from which ``pickle`` rebuilds the tensor."""
    state = tensor.__dict__ or None
    return rebuilt_leaf, (type(tensor), facts_of(tensor), tensor.requires_grad, state)
