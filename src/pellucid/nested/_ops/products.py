"""Rules of products with nested operands, and of embeddings."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import _C
from pellucid.nested._ops import mapping
from pellucid.nested._ops.parts import is_nested, join, split
from pellucid.nested._ops.rules import RULES, Bound


@RULES.because("rows times one matrix are one product, which no argument says")(
    "linear", "matmul", "mm", "bmm"
)
def product(op: Any, bound: Bound) -> Any:
    """With one matrix for all examples: on the values, if rows stay rows."""
    first, second = list(bound.values())[:2]
    if is_nested(first) and not is_nested(second) and second.dim() <= 2:
        parts = split(first)
        if parts.is_jagged and parts.axis != parts.dim - 1:
            found = op(parts.values, second, *list(bound.values())[2:])
            _C._repeat_on_parts()
            return join(parts._replace(values=found))
    if not is_nested(first) and first.dim() > 2 and not split(second).is_jagged:
        raise RuntimeError("Expected both to be nested, but got a non-nested self")
    parts = split(first if is_nested(first) else second)
    if op._schema.name.endswith("mm"):  # of examples: without the batch dim
        op, bound = pellucid.ops.aten.matmul.default, {"self": first, "other": second}
    return mapping.mapped(op, bound, parts)


@RULES.because("rows of indices are independent, which no argument says")("embedding")
def embedding(op: Any, bound: Bound) -> Any:
    """One table for all rows of indices, or a table for each example."""
    rule = mapping.apply if is_nested(bound["weight"]) else mapping.flat
    return rule(op, bound)
