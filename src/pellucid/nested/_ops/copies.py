"""Rules of ops that take a nested tensor as a whole: views, copies, comparison."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid._ops.rules import refuse
from pellucid.nested._ops import mapping
from pellucid.nested._ops.parts import is_nested, split
from pellucid.nested._ops.rules import RULES, Bound, write

RULES.because("a view of all values")("detach", "alias")(mapping.flat)
RULES.because("elements are places in the memory of one tensor")("as_strided")(refuse)
RULES.because("it calls ops that take all examples at once")(
    *("cpu", "type_as", "dropout", "swapaxes", "swapdims", "movedim", "moveaxis")
)(refuse)


@RULES.because("examples are written one by one")("copy_")
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
