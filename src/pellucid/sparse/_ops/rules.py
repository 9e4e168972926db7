"""The rules of ops on sparse tensors: ``RULES``.

Of a pointwise op the declaration says how it is computed (``pointwise.py``). Ops whose
result has another pattern are registered where they are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._ops import facts
from pellucid._ops.rules import Rules
from pellucid.sparse._ops import pointwise
from pellucid.sparse._ops.parts import COO, is_sparse, split
from pellucid.sparse._ops.writes import write


def _derived(op: Any) -> Callable[..., Any] | None:
    if pointwise.is_pointwise(op):
        return pointwise.of(op)
    if facts.is_like(op) and facts.kind(op) in ("factory", "random"):
        return partial(_like, op)
    return None


def _like(op: Any, self: Tensor, *args: Any, layout: Any = None, **options: Any) -> Any:
    """A factory of the sizes of a sparse tensor: strided if requested; of a compressed
    layout with the same pattern.
    """
    if layout is pellucid.strided:
        sizes = self.detach().new_empty((), layout=layout).expand(self.shape)
        return op(sizes, *args, **options)
    if self.layout is COO or layout not in (None, self.layout):
        return NotImplemented
    parts = split(self.detach())
    return parts.with_values(op(parts.values, *args, **options))


def _write(target: Any, result: Any, op: Any) -> Any:
    if facts.is_out(op) and not is_sparse(target) and target.shape != result.shape:
        target.resize_(result.shape)
    return write(target, result, op._opname)


RULES = Rules(_derived, lambda function, op: function, _write)
