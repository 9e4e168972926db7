"""``matmul`` and ``linear`` as ``mm``, ``bmm``, ``addmm``, ``mv`` and ``dot``.

Used through registry.py. Operands that do not fit are left to the op, whose error
speaks of the call that was made.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._decomp.registry import decomposes


@decomposes("matmul")
def matmul(a: Tensor, b: Tensor) -> Any:
    """By rank: ``dot``, ``mv``, ``mm``, or ``bmm`` over the broadcast leading dims."""
    if a.dim() == 0 or b.dim() == 0 or a.dtype != b.dtype:
        return NotImplemented
    if a.shape[-1] != b.shape[-min(b.dim(), 2)]:
        return NotImplemented
    if b.dim() == 1:
        return _with_vector(a, b)
    if a.dim() == 1:
        row = matmul(a.unsqueeze(0), b)
        return row if row is NotImplemented else row.squeeze(-2)
    if a.dim() == b.dim() == 2:
        return pellucid.mm(a, b)
    if b.dim() == 2:
        rows = a.reshape(-1, a.shape[-1])
        return pellucid.mm(rows, b).view(*a.shape[:-1], b.shape[-1])
    return _batched(a, b)


def _with_vector(a: Tensor, vector: Tensor) -> Tensor:
    if a.dim() == 1:
        return pellucid.dot(a, vector)
    if a.dim() == 2:
        return pellucid.mv(a, vector)
    return pellucid.mv(a.reshape(-1, a.shape[-1]), vector).view(a.shape[:-1])


def _batched(a: Tensor, b: Tensor) -> Any:
    try:
        leading = pellucid.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except RuntimeError:
        return NotImplemented
    first, second = (
        t.expand(*leading, *t.shape[-2:]).reshape(-1, *t.shape[-2:]) for t in (a, b)
    )
    return pellucid.bmm(first, second).view(*leading, a.shape[-2], b.shape[-1])


@decomposes("linear")
def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
    """``addmm`` of the rows of ``x``, or ``mm`` without a bias."""
    if weight.dim() != 2 or x.dim() == 0 or x.shape[-1] != weight.shape[1]:
        return NotImplemented
    if x.dtype != weight.dtype:
        return NotImplemented
    if bias is None:
        return matmul(x, weight.t())
    if bias.shape != weight.shape[:1] or bias.dtype != x.dtype:
        return NotImplemented
    if x.dim() == 2:
        return pellucid.addmm(bias, x, weight.t())
    rows = x.reshape(-1, x.shape[-1])
    y = pellucid.addmm(bias, rows, weight.t())
    return y.view(*x.shape[:-1], weight.shape[0])
