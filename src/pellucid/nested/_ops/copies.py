"""Rules of ops that take a nested tensor as a whole: views, copies, comparison."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid.nested._ops import mapping
from pellucid.nested._ops.parts import is_nested, split
from pellucid.nested._ops.rules import RULES, Bound, write


@RULES.because("a view of all values")("detach", "alias")
def view(op: Any, bound: Bound) -> Any:
    """The same structure, and a view of the values."""
    return mapping.flat(op, bound)


@RULES.because("calls ops that take all examples at once")(
    *("cpu", "type_as", "dropout", "swapaxes", "swapdims", "movedim", "moveaxis")
)
def as_its_ops(op: Any, bound: Bound) -> Any:
    """A composite, as the ops that it calls."""
    return NotImplemented


@RULES.because("elements are places in the memory of one tensor")("as_strided")
def as_strided(op: Any, bound: Bound) -> Any:
    """Refused."""
    return NotImplemented


@RULES.because("nothing is computed")("copy_")
def copy_(op: Any, bound: Bound) -> Any:
    """From a nested tensor with the same sizes."""
    if not is_nested(bound["self"]) or not is_nested(bound["src"]):
        raise RuntimeError("copy_ only supports Nested tensors of the same structure")
    return write(bound["self"], bound["src"], op)


@RULES.because("the result is not a tensor")("equal")
def equal(op: Any, bound: Bound) -> Any:
    """Whether all examples are equal."""
    first, second = split(bound["self"]), split(bound["other"])
    pairs = zip(first.pieces(), second.pieces(), strict=False)
    return first.batch == second.batch and all(pellucid.equal(a, b) for a, b in pairs)
