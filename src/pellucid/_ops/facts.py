"""What an op's declaration says of its overloads, asked by rules of tensor kinds.

All follow from the kind, the tags and the schema, which the runtime has of every op,
composites included. What the loops of a Graph say is in ``_decomp/graphs.py``.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pellucid
from pellucid import _C
from pellucid._ops.tags import Tag

if TYPE_CHECKING:
    from pellucid._ops import OpOverload


def is_pointwise(op: OpOverload) -> bool:
    """Whether an element of the result depends on the operands' elements there."""
    return Tag.pointwise in op.tags


def is_reduction(op: OpOverload) -> bool:
    """Whether it combines the elements of one tensor, all of them or along dims."""
    return Tag.reduction in op.tags


def is_elementwise(op: OpOverload) -> bool:
    """Whether a result has the sizes of the first tensor, and each of its elements
    depends on those there at most: pointwise and random ops, copies, ``zeros_like``.
    """
    return is_pointwise(op) or is_random(op) or is_like(op)


def is_random(op: OpOverload) -> bool:
    """Whether each element of a tensor's result is drawn."""
    return kind(op) == "random" and op._schema.arguments[0].type == "Tensor"


def kind(op: OpOverload) -> str:
    """The kind of the declaration: "pointwise", "view", "composite"."""
    return str(_C._op_facts(op.name())[0])


def is_like(op: OpOverload) -> bool:
    """Whether it makes or copies a tensor of the first one's sizes, in a memory format:
    ``zeros_like``, ``clone``, ``to``, ``contiguous``.
    """
    formats = [a for a in op._schema.arguments if a.type.startswith("MemoryFormat")]
    return bool(formats) and _is_of_tensor(op) and not _takes_sizes(op)


def is_new(op: OpOverload) -> bool:
    """Whether it makes a tensor of given sizes and reads only the dtype and device of
    another: ``new_zeros``.
    """
    names = {a.name for a in op._schema.arguments}
    return _is_of_tensor(op) and _takes_sizes(op) and "pin_memory" in names


def _is_of_tensor(op: OpOverload) -> bool:
    """Whether it makes one tensor of one tensor and options."""
    schema = op._schema
    tensors = [a for a in schema.arguments if a.type.startswith("Tensor")]
    return (
        len(tensors) == 1
        and tensors[0] is schema.arguments[0]
        and [each.type for each in schema.returns] == ["Tensor"]
    )


def _takes_sizes(op: OpOverload) -> bool:
    return any(a.name == "size" for a in op._schema.arguments)


@cache
def is_out(op: OpOverload) -> bool:
    """Whether it writes its result to ``out=``."""
    return any(a.is_out for a in op._schema.arguments)


@cache
def changes_sizes(op: OpOverload) -> bool:
    """Whether it changes the sizes of its argument: ``t_``, ``resize_``."""
    return Tag.inplace_view in op.tags


def changes_memory(op: OpOverload) -> bool:
    """Whether it changes which memory its argument has: ``resize_``, ``set_``; not an
    op whose functional form is a view, such as ``swapaxes_``.
    """
    if not changes_sizes(op):
        return False
    functional = functional_form(op)
    return functional is None or functional._schema.returns[0].alias_info is None


@cache
def functional_form(op: OpOverload) -> OpOverload | None:
    """The overload with the same arguments whose results an in-place or ``out=`` form
    writes; None if there is none.
    """
    name = op._opname
    stem = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    space = getattr(pellucid.ops, op.namespace)
    taken = _arguments(op)
    for each in (stem, f"{stem}_functional"):
        packet = getattr(space, each, None)
        names = packet.overloads() if packet is not None else []
        for overload in sorted(names, key=lambda n: n != op._overloadname):
            found: OpOverload = getattr(packet, overload)
            if not found._schema.is_mutable and _arguments(found) == taken:
                return found
    return None


def _arguments(op: OpOverload) -> list[tuple[str, str]]:
    return [(a.name, a.type) for a in op._schema.arguments if not a.is_out]
