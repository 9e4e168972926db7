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
        ctx.rows, ctx.padding_idx = weight.shape[0], padding_idx
        ctx.by_frequency = by_frequency
        return pellucid.embedding(weight, indices, padding_idx)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (indices,) = ctx.saved_tensors
        made = gradient(grad, indices, ctx.rows, ctx.padding_idx, ctx.by_frequency)
        return made, None, None, None


def gradient(
    grad: Tensor, indices: Tensor, num_rows: int, padding_idx: int, by_frequency: bool
) -> Tensor:
    """The gradient of a table of so many rows: those that were read, each as often."""
    rows = indices.reshape(-1).to(pellucid.int64)
    values = grad.reshape(-1, grad.shape[-1])
    if padding_idx >= 0:
        counted = (rows != padding_idx).nonzero().squeeze(1)
        rows, values = rows[counted], values.index_select(0, counted)
    if by_frequency:
        counts = pellucid.bincount(rows, minlength=num_rows)
        values = values / counts[rows].unsqueeze(1).to(values.dtype)
    return coo(rows.unsqueeze(0), values, (num_rows, values.shape[1]), False)


def sparse_embedding(
    weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """``torch.embedding(..., sparse=True)``."""
    found: Tensor = _SparseEmbedding.apply(
        weight, indices, padding_idx, scale_grad_by_freq
    )
    return found
