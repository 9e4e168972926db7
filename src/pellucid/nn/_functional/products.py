"""Grouped matrix products."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor

__all__ = [
    "grouped_mm",
]


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: Any = None,
) -> Tensor:
    """Matrix products of groups whose ends are ``offs`` (int32): groups of rows of
    `mat_a` times each matrix of `mat_b`, each matrix of `mat_a` times groups of columns
    of `mat_b`, or groups of columns of `mat_a` times groups of rows of `mat_b`.
    Without ``offs``, ``bmm``.
    """
    result: Tensor = pellucid._grouped_mm(mat_a, mat_b, offs, bias, out_dtype)
    return result
