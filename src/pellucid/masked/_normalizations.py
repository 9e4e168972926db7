"""Masked softmaxes and ``normalize``."""

from __future__ import annotations

import math
from typing import Any

from pellucid import Tensor
from pellucid.masked._operands import as_dtype, filled, of_present
from pellucid.masked._reductions import norm

__all__ = ["log_softmax", "normalize", "softmax", "softmin"]


@of_present
def softmax(
    input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The softmax along ``dim`` over the elements in the mask; 0 elsewhere."""
    return filled(as_dtype(input, dtype), mask, -math.inf, "softmax").softmax(dim)


@of_present
def log_softmax(
    input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of ``softmax``."""
    values = filled(as_dtype(input, dtype), mask, -math.inf, "log_softmax")
    return values.log_softmax(dim)


@of_present
def softmin(
    input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The softmax of ``-input``."""
    return (-filled(as_dtype(input, dtype), mask, math.inf, "softmin")).softmax(dim)


@of_present
def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The elements in the mask divided by their norm, clamped to at least ``eps``."""
    values = filled(as_dtype(input, dtype), mask, 0, "normalize")
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return values / length.clamp(min=eps)
