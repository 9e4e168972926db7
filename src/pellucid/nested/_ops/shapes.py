"""Rules of ops that move, merge or split dims of nested tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.nested._ops.mapping import apply as along_dims
from pellucid.nested._ops.mapping import mapped
from pellucid.nested._ops.parts import Parts, is_nested, joined, split, wrapped
from pellucid.nested._ops.rules import RULES, Bound

rule = RULES.because("dims are those of the batch, and the ragged dim stays one")


def _in_all(parts: Parts, function: Callable[[Tensor], Tensor], axis: int) -> Tensor:
    """A function of the values, ragged in ``axis``, or of each example."""
    if parts.is_jagged:
        return parts.with_values(function(parts.values), axis)
    return joined([function(each) for each in parts.pieces()], None, -1)


@rule("unbind")
def unbind(op: Any, bound: Bound) -> Any:
    """The examples, as views."""
    parts = split(bound["self"])
    if wrapped(bound.get("dim", 0), parts.dim) != 0:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    return tuple(parts.pieces())


@rule("select")
def select(op: Any, bound: Bound) -> Any:
    """An example, or a slice along a dim that is not ragged."""
    parts = split(bound["self"])
    dim, index = wrapped(bound["dim"], parts.dim), int(bound["index"])
    if dim == 0:
        if not -parts.batch <= index < parts.batch:
            raise IndexError(f"index {index} of {parts.batch} examples is out of range")
        return parts.pieces()[index]
    if dim == parts.axis:
        raise RuntimeError("select(): not supported for NestedTensor on ragged dim")
    return along_dims(op, bound)


def _order(bound: Bound, rank: int) -> list[int]:
    """The order of dims, from the arguments of ``permute`` or ``transpose``."""
    if "dims" in bound:
        return [wrapped(d, rank) for d in bound["dims"]]
    first, second = (wrapped(bound[name], rank) for name in ("dim0", "dim1"))
    order = list(range(rank))
    order[first], order[second] = second, first
    return order


@rule("transpose", "permute")
def reorder(op: Any, bound: Bound) -> Any:
    """``transpose`` and ``permute``: the batch stays the first dim."""
    parts = split(bound["self"])
    rank = parts.dim
    order = _order(bound, rank)
    if sorted(order) != list(range(rank)):
        raise RuntimeError(f"permute(): {order} is not an order of {rank} dims")
    if order[0] != 0:
        name = op._opname.capitalize()
        raise ValueError(
            f"{name} is not supported on the batch dimension for jagged NT"
        )
    inner = [d - 1 for d in order[1:]]
    axis = order.index(parts.axis) if parts.is_jagged else -1
    return _in_all(parts, lambda x: x.permute(inner), axis)


@rule("unsqueeze")
def unsqueeze(op: Any, bound: Bound) -> Any:
    """Inserts a dim of size 1."""
    parts = split(bound["self"])
    dim = wrapped(bound["dim"], parts.dim + 1)
    if dim == 0:
        raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0")
    axis = parts.axis + (dim <= parts.axis)
    return _in_all(parts, lambda x: x.unsqueeze(dim - 1), axis)


@rule("squeeze")
def squeeze(op: Any, bound: Bound) -> Any:
    """Removes a dim of size 1."""
    parts = split(bound["self"])
    if "dim" not in bound:
        raise RuntimeError("squeeze(): a nested tensor needs a dim to be given")
    given = bound["dim"] if isinstance(bound["dim"], list | tuple) else [bound["dim"]]
    dims = sorted({wrapped(each, parts.dim) for each in given})
    if 0 in dims or parts.axis in dims:
        raise RuntimeError("squeeze(): not supported for NestedTensor on ragged dim")
    inner = [d - 1 for d in dims]
    gone = sum(d < parts.axis and parts.values.shape[d - 1] == 1 for d in dims)
    return _in_all(parts, lambda x: x.squeeze(inner), parts.axis - gone)


@rule("view", "reshape")
def view(op: Any, bound: Bound) -> Any:
    """``view`` and ``reshape`` to sizes with the batch and the ragged dim."""
    sizes = list(bound["size"] if "size" in bound else bound["shape"])
    parts = split(bound["self"])
    if not sizes or sizes[0] not in (parts.batch, -1):
        raise RuntimeError(
            f"view(): the sizes {tuple(sizes)} must start with the number of "
            f"examples, {parts.batch}"
        )
    if not parts.is_jagged:
        return joined(
            [each.reshape(_own(sizes[1:], each)) for each in parts.pieces()], None, -1
        )
    place = _ragged_place(sizes, parts)
    inner = [*sizes[1:place], parts.values.shape[parts.axis - 1], *sizes[place + 1 :]]
    name = op._schema.name.partition("::")[2]
    values = parts.values
    moved = values.reshape(inner) if name == "reshape" else values.view(inner)
    return parts.with_values(moved, place)


def _own(sizes: Sequence[int], piece: Tensor) -> list[int]:
    """-1 keeps the size of an example's dim, if it has that dim."""
    if sum(size == -1 for size in sizes) < 2:
        return list(sizes)
    return [piece.shape[k] if s == -1 else s for k, s in enumerate(sizes)]


def _ragged_place(sizes: Sequence[int], parts: Parts) -> int:
    before = prod(parts.values.shape[: parts.axis - 1])
    for wanted in (True, False):
        for place in range(1, len(sizes)):
            size = sizes[place]
            ragged = type(size) is not int or size == parts.structure.longest
            if (ragged if wanted else size == -1) and prod(sizes[1:place]) == before:
                return place
    raise RuntimeError(
        f"view(): cannot view a nested tensor of {parts.dim} dims as {tuple(sizes)}: "
        "the ragged dim must stay, as -1 or as its size, with the same dims before it"
    )


@rule("expand")
def expand(op: Any, bound: Bound) -> Any:
    """Expands dims of size 1, except the batch and the ragged dim."""
    parts = split(bound["self"])
    sizes = list(bound["size"])
    if len(sizes) != parts.dim or not parts.is_jagged:
        raise RuntimeError("expand(): a nested tensor is expanded to as many dims")
    sizes[parts.axis] = -1
    return parts.with_values(parts.values.expand(sizes[1:]))


@rule("cat", "stack")
def joins(op: Any, bound: Bound) -> Any:
    """``cat`` along dims that are not ragged, or of batches; ``stack``."""
    tensors = list(bound["tensors"])
    name = op._schema.name.partition("::")[2]
    if not all(map(is_nested, tensors)):
        raise RuntimeError(f"{name}(): all tensors must be nested, or none")
    given = [split(each) for each in tensors]
    first = given[0]
    dim = wrapped(bound.get("dim", 0), first.dim + (name == "stack"))
    if dim == 0 and name == "stack":
        raise RuntimeError("stack(): not supported for NestedTensor on dim=0")
    if dim == 0:
        return joined([p for each in given for p in each.pieces()], None, first.axis)
    if dim == first.axis and name == "cat":
        raise RuntimeError("cat(): not supported for NestedTensor on ragged dim")
    if not first.is_jagged:
        rows = zip(*(each.pieces() for each in given), strict=True)
        return joined([op(list(row), dim - 1) for row in rows], None, -1)
    if any(each.structure is not first.structure for each in given):
        raise RuntimeError(
            f"{name}(): the nested tensors have different ragged sizes: make them of "
            "one structure, torch.nested.nested_tensor_from_jagged(values, offsets)"
        )
    moved = name == "stack" and dim <= first.axis
    values = op([each.values for each in given], dim - 1)
    return first.with_values(values, first.axis + moved)


@rule("chunk", "split", "split_with_sizes")
def parting(op: Any, bound: Bound) -> Any:
    """``chunk`` and ``split``: along the batch, or a dim that is not ragged."""
    parts = split(bound["self"])
    name = op._schema.name.partition("::")[2]
    dim = wrapped(bound.get("dim", 0), parts.dim)
    if dim == parts.axis:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    if dim:
        return along_dims(op, {**bound, "dim": dim})
    pieces = parts.pieces()
    places = pellucid.arange(len(pieces))
    rest = [v for k, v in bound.items() if k not in ("self", "dim")]
    groups = [group.tolist() for group in op(places, *rest)]
    return tuple(
        joined([pieces[k] for k in group], None, parts.axis) for group in groups
    )


@rule("slice")
def slice_(op: Any, bound: Bound) -> Any:
    """A slice along a dim that is not ragged."""
    parts = split(bound["self"])
    dim = wrapped(bound.get("dim", 0), parts.dim)
    start, end = bound.get("start"), bound.get("end")
    everything = start in (None, 0) and (end is None or end >= 2**62)
    if everything and bound.get("step", 1) == 1:
        return parts.with_values(parts.values)
    if dim in (0, parts.axis):
        place = "dim=0" if dim == 0 else "ragged dim"
        raise RuntimeError(f"slice(): not supported for NestedTensor on {place}")
    return along_dims(op, {**bound, "dim": dim})


@rule("flatten")
def flatten(op: Any, bound: Bound) -> Any:
    """Flattens adjacent dims, except the batch and the ragged dim."""
    parts = split(bound["self"])
    start = wrapped(bound.get("start_dim", 0), parts.dim)
    end = wrapped(bound.get("end_dim", -1), parts.dim)
    if start <= parts.axis <= end and start != end:
        raise RuntimeError("flatten(): not supported for NestedTensor on ragged dim")
    if start == 0 and end != 0:
        raise RuntimeError("flatten(): not supported for NestedTensor on dim=0")
    merged = end - start if end < parts.axis else 0
    return _in_all(parts, lambda x: x.flatten(start - 1, end - 1), parts.axis - merged)


@rule("unflatten")
def unflatten(op: Any, bound: Bound) -> Any:
    """Splits a dim, except the batch and the ragged dim."""
    parts = split(bound["self"])
    dim = wrapped(bound["dim"], parts.dim)
    sizes = bound["sizes"]
    if dim in (0, parts.axis):
        raise RuntimeError("unflatten(): not supported for NestedTensor on ragged dim")
    axis = parts.axis + (len(sizes) - 1 if dim < parts.axis else 0)
    return _in_all(parts, lambda x: x.unflatten(dim - 1, sizes), axis)


@rule("diag_embed")
def diag_embed(op: Any, bound: Bound) -> Any:
    """On each example; the dims are of the result, which has one more."""
    parts = split(bound["self"])
    given = {"dim1": -2, "dim2": -1, **bound}
    for name in ("dim1", "dim2"):
        given[name] = wrapped(given[name], parts.dim + 1) - 1
        if given[name] < 0:
            raise RuntimeError("diag_embed(): not supported for NestedTensor on dim=0")
    return mapped(op, given, parts)
