"""The rules of ops on quantized tensors: ``RULES``.

Ops that give bools compare the numbers; ops that only move elements are applied to the
integers (``moves.py``). What else PyTorch computes, and in which scale, is registered
in ``arithmetic.py`` and ``copies.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid._decomp.registry import unseen
from pellucid._ops import facts
from pellucid._ops.rules import Rules
from pellucid.ao._quantized import moves
from pellucid.ao._quantized.parts import is_quantized, split, write


def compare(op: Any, *operands: Any) -> Any:
    """A function of the numbers: a plain tensor."""
    given = (split(v).floats() if is_quantized(v) else v for v in operands)
    return op(*given)


@cache
def gives_bools(op: Any) -> bool:
    """Whether a pointwise op gives bools of floats: comparisons, ``isnan``."""
    needed = [a for a in op._schema.arguments if not a.has_default]
    with unseen():
        some = pellucid.empty(0, device="meta")
        try:
            found = op(*(some if a.type == "Tensor" else 1 for a in needed))
        except (LookupError, NotImplementedError, RuntimeError, TypeError, ValueError):
            return False
    return isinstance(found, Tensor) and found.dtype is pellucid.bool


def _derived(op: Any) -> Callable[..., Any] | None:
    if op._schema.is_mutable:
        return None
    if facts.is_like(op):
        return partial(moves.same_sizes, op) if moves.is_copy(op) else None
    if facts.is_pointwise(op) and gives_bools(op):
        return partial(compare, op)
    if op.is_view:
        return partial(moves.view, op)
    return partial(moves.move, op, facts.kind(op) == "join")


def _write(target: Any, result: Any, op: Any) -> Any:
    if not (is_quantized(target) and is_quantized(result)):
        return NotImplemented
    if facts.changes_sizes(op):  # transpose_: the target becomes a view of its integers
        return _C._replace_components(target, result)
    if target.shape != result.shape:
        raise RuntimeError(
            f"{op._opname}: the result of size {list(result.shape)} cannot be written "
            f"to a quantized tensor of size {list(target.shape)}"
        )
    return write(target, split(result))


RULES = Rules(_derived, lambda function, op: partial(function, op), _write)
