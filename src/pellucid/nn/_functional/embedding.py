"""Embedding: rows of a table, looked up by index."""

from __future__ import annotations

import pellucid
from pellucid import Tensor

__all__ = [
    "embedding",
]


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of ``weight`` at the indices ``input``.

    The row ``padding_idx`` gets no gradient.
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight.size(0)
        if not -rows <= padding_idx < rows:
            raise AssertionError(
                f"padding_idx {padding_idx} is out of range: there are {rows} rows"
            )
        padding_idx %= rows
    if max_norm is not None:
        pellucid.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    if sparse:
        from pellucid.sparse._ops.embedding import sparse_embedding

        return sparse_embedding(weight, input, padding_idx, scale_grad_by_freq)
    return pellucid.embedding(weight, input, padding_idx, scale_grad_by_freq)
