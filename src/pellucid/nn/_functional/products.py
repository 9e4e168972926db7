"""Grouped matrix products, and products of eight-bit floats with scales."""

from __future__ import annotations

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


class ScalingType(IntEnum):
    """What has a scale: a tensor, a row, or a block of elements."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(IntEnum):
    """How scales are arranged in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


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
    contraction_dim: list[int] | tuple[int, ...] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """The product of two matrices of eight-bit floats, each with its scales.

    Recipes: one scale for a tensor, or one for each row of ``mat_a`` and column of
    ``mat_b``. Sums are float32, rounded to ``output_dtype``.
    """
    result: Tensor = pellucid._scaled_mm_v2(
        mat_a,
        mat_b,
        _listed(scale_a),
        _listed(scale_recipe_a),
        _listed(swizzle_a),
        _listed(scale_b),
        _listed(scale_recipe_b),
        _listed(swizzle_b),
        bias,
        output_dtype,
        contraction_dim=list(contraction_dim),
        use_fast_accum=use_fast_accum,
    )
    return result


def _listed(given: Any) -> list[Any]:
    items = given if isinstance(given, list) else [] if given is None else [given]
    return [int(each) if isinstance(each, IntEnum) else each for each in items]
