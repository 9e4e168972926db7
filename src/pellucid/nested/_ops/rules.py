"""The rules of ops on nested tensors: ``RULES``.

An op without a registered rule is the op on the values, if its declaration says that
elements or rows are independent, else the op on each example (``mapping.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._ops import facts
from pellucid._ops.rules import Rules
from pellucid.nested._ops import mapping, pointwise
from pellucid.nested._ops.parts import is_nested, split

Bound = dict[str, Any]


def _derived(op: Any) -> Callable[..., Any] | None:
    return None if op._schema.is_mutable else _bound(rule_of(op), op)


def rule_of(op: Any) -> Callable[[Any, Bound], Any]:
    """What the declaration implies; ``mapping.apply`` where it implies nothing."""
    if facts.is_new(op):
        return mapping.dense
    if facts.is_reduction(op):
        return _reduction
    if not facts.is_elementwise(op):
        return mapping.apply
    is_flat = facts.is_like(op) or facts.is_random(op)
    return mapping.flat if is_flat else pointwise.apply


def _reduction(op: Any, bound: Bound) -> Any:
    if any(mapping.names_dims(bound, name) for name in ("dim", "axis")):
        return mapping.apply(op, bound)
    return mapping.over_all(op, bound)


def _bound(function: Callable[[Any, Bound], Any], op: Any) -> Callable[..., Any]:
    """The function of an op and its arguments by name, called as the op is."""
    names = [a.name for a in op._schema.arguments]

    def run(*args: Any, **kwargs: Any) -> Any:
        return function(op, {**dict(zip(names, args, strict=False)), **kwargs})

    return run


def write(target: Tensor, found: Any, op: Any) -> Any:
    """Writes the examples of ``found`` into those of ``target``."""
    if not (is_nested(target) and is_nested(found)) or facts.changes_sizes(op):
        return NotImplemented
    if target.requires_grad and pellucid.is_grad_enabled():
        raise RuntimeError(
            "a nested tensor that records gradients cannot be written in place: use "
            "the op that returns a new tensor"
        )
    into, source = split(target), split(found)
    if into.structure is source.structure and into.values.shape == source.values.shape:
        into.values.copy_(source.values)
        return target
    places, values = into.pieces(), source.pieces()
    if [each.shape for each in places] != [each.shape for each in values]:
        raise RuntimeError(
            f"{op._opname}: a nested tensor is written by one with examples of the "
            "same size"
        )
    for place, value in zip(places, values, strict=True):
        place.copy_(value)
    return target


RULES = Rules(_derived, _bound, write)
