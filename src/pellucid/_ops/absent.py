"""Ops that libraries name in their tables and that Pellucid lacks: a call raises.

PyTorch Geometric keys its tables by these when it is imported. Defined when
``torch.ops.aten`` is first searched for one. Used by ``_ops/__init__.py``.
"""

from __future__ import annotations

from typing import Any, NoReturn

from pellucid import _C

# Of sparse tensors.
_SCHEMAS = {
    "_sparse_addmm": "(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, "
    "Scalar alpha=1) -> Tensor",
    "_sparse_mm_reduce_impl": "(Tensor self, Tensor other, str reduce) "
    "-> (Tensor, Tensor)",
}


def define(name: str) -> None:
    """Define ``aten::name`` if it is one of these."""
    schema = _SCHEMAS.get(name)
    if schema is None:
        return

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"aten::{name} needs a sparse tensor; not supported")

    _C._define_op(name + schema, "aten")
    _C._register_kernel(f"aten::{name}", "", refuse)
