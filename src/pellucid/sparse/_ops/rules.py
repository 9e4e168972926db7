"""The rules of ops on sparse tensors: ``RULES``.

Of a pointwise op the declaration says how it is computed (``pointwise.py``). Ops whose
result has another pattern are registered where they are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid import _C
from pellucid._ops import facts
from pellucid._ops.rules import Rules
from pellucid.sparse._ops import pointwise
from pellucid.sparse._ops.parts import is_sparse
from pellucid.sparse._ops.writes import write


def _derived(op: Any) -> Callable[..., Any] | None:
    if pointwise.is_pointwise(op):
        return pointwise.of(op)
    return _without_sparse(op) if _is_optimizer_step(op) else None


def _is_optimizer_step(op: Any) -> bool:
    return op._opname.startswith("_fused_") and _C._op_facts(op.name())[0] == "foreach"


def _without_sparse(op: Any) -> Callable[..., Any]:
    """A step that reads every element of a gradient."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        import pellucid.optim as optim

        step = op._opname.removeprefix("_fused_").rstrip("_")
        name = next((n for n in optim.__all__ if n.lower() == step), step)
        raise RuntimeError(
            f"{name} does not support sparse gradients, please consider SparseAdam "
            "instead"
        )

    return refuse


def _write(target: Any, result: Any, op: Any) -> Any:
    if result is NotImplemented:
        return result
    if facts.is_out(op) and not is_sparse(target) and target.shape != result.shape:
        target.resize_(result.shape)
    return write(target, result, op._opname)


RULES = Rules(_derived, lambda function, op: function, _write)
