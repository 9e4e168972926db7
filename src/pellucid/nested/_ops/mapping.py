"""Ops without a rule on nested tensors: the op on each example, or on all rows at once.

The batch is dim 0, so an example's dims are shifted by one. An op along dims that are
not ragged treats each row independently: it is the op on the values.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid.nested._ops.parts import (
    Parts,
    is_nested,
    join,
    joined,
    split,
    wrapped,
)
from pellucid.nested._ops.pointwise import call

_LAYOUTS = (pellucid.strided, pellucid.jagged)
_DIMS = (
    *("dim", "dims", "dim0", "dim1", "dim2", "dimension", "start_dim", "end_dim"),
    *("axis", "axis0", "axis1", "source", "destination"),
)


def apply(op: Any, bound: dict[str, Any]) -> Any:
    """The result of an overload without a rule of its own; NotImplemented if an operand
    is of another kind, which no example is.
    """
    given = _tensors(bound)
    if any(each.layout not in _LAYOUTS or each.is_quantized for each in given):
        return NotImplemented
    found = [each for each in given if is_nested(each)]
    parts = split(found[0])
    names = [name for name in bound if name in _DIMS and names_dims(bound, name)]
    dims = _dims(bound, names, parts.dim)
    if dims is None:
        return mapped(op, bound, parts)
    if 0 in dims:
        return _over_batch(op, bound, parts, dims, _is_reduction(op))
    on_rows = parts.is_jagged and parts.axis not in dims and len(found) == 1
    if on_rows and all(dim < 0 for name in names for dim in _listed(bound[name])):
        _C._repeat_on_parts()  # counted from the right, they are dims of the values
        return _on_values(op, bound, parts, dims)
    shifted = {**bound, **{k: _shifted(bound[k], parts.dim) for k in names}}
    if on_rows:
        return _on_values(op, shifted, parts, dims)
    return mapped(op, shifted, parts, parts.axis in dims and _is_reduction(op))


def _is_reduction(op: Any) -> bool:
    return any(a.name == "keepdim" for a in op._schema.arguments)


def names_dims(bound: dict[str, Any], name: str) -> bool:
    """Whether the argument ``name`` is given as dims."""
    value = bound.get(name)
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(each, int) for each in value)
    return isinstance(value, int) and not isinstance(value, bool)


def _tensors(bound: dict[str, Any]) -> list[Tensor]:
    found = []
    for value in bound.values():
        each = value if isinstance(value, list | tuple) else (value,)
        found += [tensor for tensor in each if isinstance(tensor, Tensor)]
    return found


def _dims(bound: dict[str, Any], names: list[str], rank: int) -> list[int] | None:
    """The dims in the op's arguments, or None."""
    if "normalized_shape" in bound:
        return list(range(rank - len(bound["normalized_shape"]), rank))
    given = [each for name in names for each in _listed(bound[name])]
    return [wrapped(each, rank) for each in given] if names else None


def _listed(value: Any) -> list[int]:
    return [value] if isinstance(value, int) else list(value)


def _shifted(value: Any, rank: int) -> Any:
    if isinstance(value, int):
        return wrapped(value, rank) - 1
    return [wrapped(each, rank) - 1 for each in value]


def _over_batch(
    op: Any, bound: dict[str, Any], parts: Parts, dims: list[int], is_reduction: bool
) -> Any:
    name = op._schema.name.partition("::")[2]
    if not is_reduction or not parts.is_jagged:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    if parts.axis not in dims:
        raise RuntimeError(
            f"{name}(): reducing along the batch dimension but not the ragged "
            "dimension is not supported for nested tensors"
        )
    if bound.get("keepdim"):
        raise RuntimeError(
            f"{name}(): keepdim=True is not supported along batch and ragged dims"
        )
    inner = [dim - 1 for dim in dims if dim]
    whole = without_holes(parts).values
    return call(op, {**bound, "self": whole, "dim": inner})


def without_holes(parts: Parts) -> Parts:
    """The same examples stored without holes."""
    if not parts.has_holes:
        return parts
    return split(joined(parts.pieces(), None, parts.axis))


def _on_values(op: Any, bound: dict[str, Any], parts: Parts, dims: list[int]) -> Any:
    given = {k: parts.values if is_nested(v) else v for k, v in bound.items()}
    found = call(op, given)
    return _each(found, lambda value: _wrapped_values(value, parts, dims))


def _wrapped_values(value: Tensor, parts: Parts, dims: list[int]) -> Tensor:
    removed = 0
    if value.dim() < parts.values.dim():
        removed = sum(dim < parts.axis for dim in dims)
    return parts.with_values(value, parts.axis - removed)


def _each(found: Any, function: Any) -> Any:
    if isinstance(found, Tensor):
        return function(found)
    if isinstance(found, list | tuple):
        made = [_each(value, function) for value in found]
        kind = type(found)
        return (
            kind(made)
            if kind in (list, tuple) or hasattr(kind, "n_fields")
            else tuple(made)
        )
    return found


def examples(value: Any, parts: Parts) -> list[Any]:
    """An argument for each example: a nested tensor's, a dense tensor's with a batch
    dim, or the same for all.
    """
    batch = parts.batch
    if is_nested(value):
        other = split(value)
        if other.batch != batch:
            raise RuntimeError(
                f"nested tensors of {batch} and {other.batch} examples: both must "
                "have as many"
            )
        return other.pieces()
    if isinstance(value, Tensor) and value.dim() == parts.dim:
        if value.shape[0] == batch:
            return list(value.unbind())
        if value.shape[0] == 1:
            return [value[0]] * batch
    if isinstance(value, list | tuple) and any(is_nested(each) for each in value):
        columns = [examples(each, parts) for each in value]
        return [list(row) for row in zip(*columns, strict=True)]
    return [value] * batch


def results(op: Any, bound: dict[str, Any], parts: Parts) -> list[Any]:
    """The op's result for each example."""
    columns = {name: examples(value, parts) for name, value in bound.items()}
    return [
        call(op, {name: column[k] for name, column in columns.items()})
        for k in range(parts.batch)
    ]


def mapped(op: Any, bound: dict[str, Any], parts: Parts, reduced: bool = False) -> Any:
    """The op on each example; ``reduced``: along the ragged dim."""
    found = results(op, bound, parts)
    if not found:
        raise RuntimeError(f"{op} of a nested tensor without examples")

    def probe() -> Any:
        with pellucid.no_grad():
            return _probe(op, bound, parts)

    if isinstance(found[0], Tensor):
        return gathered(found, parts, reduced, probe)
    if not isinstance(found[0], list | tuple):
        return NotImplemented
    columns = [list(each) for each in zip(*found, strict=True)]
    made = [
        gathered(each, parts, reduced, partial(_element, probe, k))
        for k, each in enumerate(columns)
    ]
    kind = type(found[0])
    return kind(made) if hasattr(kind, "n_fields") else tuple(made)


def _element(made: Callable[[], Any], number: int) -> Any:
    return [each[number] for each in made()]


def _probe(op: Any, bound: dict[str, Any], parts: Parts) -> Any:
    """The op's results for dummies of the first example and of one longer by one:
    without elements, or with distinct elements if sizes depend on values.
    """

    def given(like: Callable[[Any, Any], Tensor], longer: int) -> dict[str, Any]:
        return {k: _stand_in(v, parts, like, longer) for k, v in bound.items()}

    with contextlib.suppress(RuntimeError, NotImplementedError):
        return [call(op, given(_without_elements, longer)) for longer in (0, 1)]
    return [call(op, given(_distinct_elements, longer)) for longer in (0, 1)]


def _stand_in(
    value: Any, parts: Parts, like: Callable[[Any, Any], Tensor], longer: int
) -> Any:
    if is_nested(value):
        own = split(value)
        sizes = list(own.pieces()[0].shape)
        if own.is_jagged:
            sizes[own.axis - 1] += longer
        else:  # as masks, whose dims are as long as the examples
            length = parts.structure.counts[0]
            sizes = [size + longer * (size == length) for size in sizes]
        return like(value, sizes)
    if isinstance(value, list | tuple):
        return [_stand_in(each, parts, like, longer) for each in value]
    first = examples(value, parts)[0]
    if isinstance(first, Tensor) and like is _without_elements:
        return first.to("meta")
    return first


def _without_elements(like: Tensor, sizes: list[int]) -> Tensor:
    return pellucid.empty(sizes, dtype=like.dtype, device="meta")


def _distinct_elements(like: Tensor, sizes: list[int]) -> Tensor:
    numbers = pellucid.arange(1, 1 + prod(sizes), device=like.device)
    return numbers.to(like.dtype).view(sizes)


def gathered(
    pieces: list[Tensor], parts: Parts, reduced: bool, probe: Callable[[], Any]
) -> Tensor:
    """The examples' results as one tensor: dense if the ragged dim was removed."""
    if not parts.is_jagged:
        return joined(pieces, None, -1)
    if reduced or pieces[0].dim() == 0:
        return pellucid.stack(pieces)
    dim = ragged_dim(pieces, parts, probe)
    return pellucid.stack(pieces) if dim is None else joined(pieces, parts, dim + 1)


def ragged_dim(
    pieces: list[Tensor], parts: Parts, probe: Callable[[], Any]
) -> int | None:
    """The ragged dim of the results, or None: the dim in which they differ or, if all
    sizes are equal, in which the results of ``probe`` for two lengths differ. For an op
    that cannot be probed it is the operand's ragged dim, if no other dim has its size.
    """
    differing = _differing([piece.shape for piece in pieces])
    if len(differing) > 1:
        raise RuntimeError(
            "the results of the examples differ in several dims, and a jagged tensor "
            "has one ragged dim: use layout=torch.strided"
        )
    if differing:
        return differing[0]
    try:
        found = _differing([each.shape for each in probe()])
    except (RuntimeError, NotImplementedError, IndexError, ValueError):
        length = parts.structure.counts[0]
        found = [d for d, size in enumerate(pieces[0].shape) if size == length]
        if found != [parts.axis - 1]:
            raise RuntimeError(
                "which dim of the results is ragged is not known, since the op cannot "
                "be tried on an example of another length: map it over unbind()"
            ) from None
    if len(found) > 1:
        raise RuntimeError(
            "the results would have several ragged dims, and a jagged tensor has one: "
            "use layout=torch.strided"
        )
    return found[0] if found else None


def _differing(shapes: list[Any]) -> list[int]:
    return [
        d for d, sizes in enumerate(zip(*shapes, strict=True)) if len(set(sizes)) > 1
    ]


def over_all(op: Any, bound: dict[str, Any]) -> Any:
    """A reduction of all elements."""
    parts = without_holes(split(bound["self"]))
    return call(op, {**bound, "self": parts.values})


def flat(op: Any, bound: dict[str, Any]) -> Any:
    """An op that treats each element, or each row, independently: the op on the values.
    An op that returns its argument also does so here.
    """
    nested = next(v for v in bound.values() if is_nested(v))
    parts = split(nested)
    given = {
        name: parts.values if v is nested else split(v).values if is_nested(v) else v
        for name, v in bound.items()
    }
    found = call(op, given)
    if found is parts.values:
        return nested
    _C._repeat_on_parts()
    return _each(found, lambda value: join(parts._replace(values=value)))


def dense(op: Any, bound: dict[str, Any]) -> Any:
    """An op that only reads the dtype and device (``new_zeros``)."""
    return call(op, {**bound, "self": split(bound["self"]).values})
