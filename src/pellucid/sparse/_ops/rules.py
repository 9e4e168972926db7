"""The rules of ops on sparse tensors: ``RULES``.

Of a pointwise op the declaration says how it is computed (``pointwise.py``). Ops whose
result has another pattern are registered where they are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid._ops import facts
from pellucid._ops.rules import Rules
from pellucid.sparse._ops import pointwise
from pellucid.sparse._ops.parts import is_sparse
from pellucid.sparse._ops.writes import write


def _derived(op: Any) -> Callable[..., Any] | None:
    return pointwise.of(op) if pointwise.is_pointwise(op) else None


def _write(target: Any, result: Any, op: Any) -> Any:
    if facts.is_out(op) and not is_sparse(target) and target.shape != result.shape:
        target.resize_(result.shape)
    return write(target, result, op._opname)


RULES = Rules(_derived, lambda function, op: function, _write)
