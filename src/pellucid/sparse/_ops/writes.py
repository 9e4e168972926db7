"""In-place writes to sparse tensors: replace their components."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import _C
from pellucid.sparse._ops.parts import is_sparse


def refuse_leaf(target: Any, name: str) -> None:
    """Refuses a write to a leaf whose gradient is recorded."""
    if target.requires_grad and target.is_leaf and pellucid.is_grad_enabled():
        raise RuntimeError(
            f"{name}: a leaf Variable that requires grad is being used in an in-place "
            "operation. Write under torch.no_grad(), or to a clone."
        )


def write(target: Any, result: Any, name: str) -> Any:
    """Replaces the elements of ``target`` by those of ``result``."""
    if not is_sparse(target):
        return target.copy_(result.to_dense() if is_sparse(result) else result)
    refuse_leaf(target, name)
    if result.requires_grad and pellucid.is_grad_enabled():
        raise NotImplementedError(
            f"{name}: writes to a sparse tensor are not recorded for gradients; use "
            "the "
            "op that returns its result"
        )
    if not is_sparse(result):
        raise RuntimeError(
            f"{name}: the result is dense and cannot be written to a sparse tensor"
        )
    if result.layout is not target.layout:
        result = result.to_sparse(layout=target.layout)
    return _C._replace_components(target, result)
