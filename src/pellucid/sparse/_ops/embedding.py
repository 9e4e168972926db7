"""``F.embedding(sparse=True)``: gradients only have the rows that were read."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.autograd import Function
from pellucid.sparse._ops.parts import coo


class _SparseEmbedding(Function):
    """The rows; the gradient stores each row as often as it was read."""

    @staticmethod
    def forward(
        ctx: Any, weight: Tensor, indices: Tensor, padding_idx: int, by_frequency: bool
    ) -> Tensor:
        ctx.save_for_backward(indices)
        ctx.size, ctx.padding_idx = tuple(weight.shape), padding_idx
        ctx.by_frequency = by_frequency
        return pellucid.embedding(weight, indices, padding_idx)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (indices,) = ctx.saved_tensors
        rows = indices.reshape(-1).to(pellucid.int64)
        values = grad.reshape(-1, ctx.size[1])
        if ctx.padding_idx >= 0:
            counted = (rows != ctx.padding_idx).nonzero().squeeze(1)
            rows, values = rows[counted], values.index_select(0, counted)
        if ctx.by_frequency:
            counts = pellucid.bincount(rows, minlength=ctx.size[0])
            values = values / counts[rows].unsqueeze(1).to(values.dtype)
        return coo(rows.unsqueeze(0), values, ctx.size, False), None, None, None


def sparse_embedding(
    weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """``torch.embedding(..., sparse=True)``."""
    found: Tensor = _SparseEmbedding.apply(
        weight, indices, padding_idx, scale_grad_by_freq
    )
    return found
