"""Matrix products of groups, and of eight-bit floats with scales."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import pellucid
from pellucid import Tensor

__all__ = [
    "ScalingType",
    "SwizzleType",
    "grouped_mm",
    "scaled_mm",
]


class ScalingType(IntEnum):
    """What one scale of an operand of ``scaled_mm`` is for."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(IntEnum):
    """The order of scales in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


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


def scaled_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | list[Tensor],
    scale_recipe_a: ScalingType | list[ScalingType],
    scale_b: Tensor | list[Tensor],
    scale_recipe_b: ScalingType | list[ScalingType],
    swizzle_a: SwizzleType | list[SwizzleType] | None = None,
    swizzle_b: SwizzleType | list[SwizzleType] | None = None,
    bias: Tensor | None = None,
    output_dtype: Any = pellucid.bfloat16,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """The product of two matrices of eight-bit floats and of their scales, plus
    ``bias``, as ``output_dtype``; None: the dtype of ``mat_a``. Scales are float32, one
    per matrix (``TensorWise``) or one per row of ``mat_a`` and per column of ``mat_b``
    (``RowWise``); others raise a ValueError.
    """
    result: Tensor = pellucid._scaled_mm_v2(
        mat_a,
        mat_b,
        *(_listed(x) for x in (scale_a, scale_recipe_a, swizzle_a)),
        *(_listed(x) for x in (scale_b, scale_recipe_b, swizzle_b)),
        bias,
        output_dtype,
        list(contraction_dim),
        use_fast_accum,
    )
    return result


def _listed(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, (list, tuple)) else [given]
