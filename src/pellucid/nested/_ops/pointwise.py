"""Pointwise ops on nested tensors: the op on the values.

All nested operands have one structure. A dense operand of a jagged tensor is broadcast
against the rows, given once per example, or padded.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid.nested._ops.parts import Parts, is_nested, join, joined, split


def apply(op: Any, bound: dict[str, Any]) -> Any:
    """The result of a pointwise overload."""
    parts = {name: split(v) for name, v in bound.items() if is_nested(v)}
    first = _widest(list(parts.values()))
    if any(_differs(first, each) for each in parts.values()):
        sizes = [_sizes_text(each) for each in parts.values()]
        raise RuntimeError(
            f"cannot call binary pointwise function {op} with inputs of shapes "
            f"{' and '.join(sizes)}: their examples have different sizes. Make both "
            "of one structure, torch.nested.nested_tensor_from_jagged(values, offsets)"
        )
    if not first.is_jagged and _is_mixed(bound, first):
        raise RuntimeError(
            f"Expected both self and other to be nested, but got a nested and a "
            f"non-nested operand of {op}. Use layout=torch.jagged to broadcast"
        )
    given = {}
    for name, value in bound.items():
        if name in parts:
            given[name] = _aligned(parts[name], first)
        elif isinstance(value, Tensor):
            given[name] = spread(value, first)
        else:
            given[name] = value
    found = call(op, given)
    if all(
        parts[k].values is v if k in parts else v is bound[k] for k, v in given.items()
    ):
        _C._repeat_on_parts()
    if isinstance(found, tuple):
        return tuple(join(first._replace(values=each)) for each in found)
    return first.with_values(found)


def call(op: Any, bound: dict[str, Any]) -> Any:
    """The overload with its arguments by name."""
    names = [a.name for a in op._schema.arguments if not a.kwarg_only]
    positional = []
    for name in names:
        if name not in bound:
            break
        positional.append(bound[name])
    rest = {k: v for k, v in bound.items() if k not in names[: len(positional)]}
    return op(*positional, **rest)


def _widest(parts: list[Parts]) -> Parts:
    return max(parts, key=lambda each: each.values.dim())


def _differs(first: Parts, other: Parts) -> bool:
    if first.structure is other.structure:
        return False
    if first.is_jagged or other.is_jagged:
        return True
    return bool(first.structure.sizes != other.structure.sizes)


def _sizes_text(parts: Parts) -> str:
    if not parts.is_jagged:
        return str(parts.structure.sizes)
    from pellucid.nested._ops.sizes import size_of

    return str(size_of(join(parts)))


def _is_mixed(bound: dict[str, Any], first: Parts) -> bool:
    plain = [v for v in bound.values() if isinstance(v, Tensor) and not v.is_nested]
    return any(each.dim() > 0 for each in plain)


def _aligned(parts: Parts, first: Parts) -> Tensor:
    """Checks that the ragged dims are equal, counted from the right."""
    if parts.dim - parts.axis == first.dim - first.axis:
        return parts.values
    if parts.axis == first.axis and parts.dim == first.dim:
        return parts.values
    raise RuntimeError("the operands are ragged in different dims")


def spread(value: Tensor, parts: Parts) -> Tensor:
    """A dense operand in the shape that broadcasts with the values of ``parts``."""
    rank, axis = parts.dim, parts.axis
    if not parts.is_jagged or value.dim() == 0:
        return value
    if value.dim() > rank:
        raise RuntimeError(
            f"an operand of {value.dim()} dims does not broadcast with a nested tensor "
            f"of {rank}: give at most {rank}"
        )
    if value.dim() < rank:
        place = value.dim() - (rank - axis)
        if place >= 0 and value.shape[place] != 1:
            raise _does_not_fit(value, parts)
        return value
    if value.shape[0] == 1 and value.shape[axis] == 1:
        return value.squeeze(0)
    if value.shape[0] not in (1, parts.batch):
        raise _does_not_fit(value, parts)
    if value.shape[axis] == 1:
        rows = parts.structure.rows(parts.values.shape[axis - 1])
        return value.squeeze(axis).index_select(0, rows).movedim(0, axis - 1)
    if value.shape[axis] < parts.structure.longest or parts.has_holes:
        raise _does_not_fit(value, parts)
    padded = value.expand(parts.batch, *value.shape[1:])
    counts = parts.structure.counts
    pieces = [
        each.narrow(axis - 1, 0, count)
        for each, count in zip(padded.unbind(), counts, strict=True)
    ]
    return pellucid.cat(pieces, axis - 1)


def _does_not_fit(value: Tensor, parts: Parts) -> RuntimeError:
    return RuntimeError(
        f"an operand of shape {tuple(value.shape)} does not broadcast with a nested "
        f"tensor of shape {_sizes_text(parts)}: the ragged dim is broadcast from 1, or "
        "read from a padded tensor"
    )


def unpadded(padded: Tensor, like: Parts) -> Tensor:
    """The rows of a padded tensor at the rows of ``like``."""
    axis, counts = max(like.axis, 1), like.structure.counts
    pieces = [
        each.narrow(axis - 1, 0, count)
        for each, count in zip(padded.unbind(), counts, strict=True)
    ]
    return joined(pieces, like, axis)
