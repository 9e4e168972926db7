"""PyTorch's ``native_`` names: the functions of ``nn.functional`` that also return what
their backward passes need, and the samplers with numbers for modes.

Functions of the package, imported when first asked for.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._calls.out_argument import write_out
from pellucid.nn import functional

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    *,
    out: Any = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """``batch_norm``, the batch's means and one over its standard deviations.

    Both are empty without ``training``.
    """
    output = functional.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    if not training:
        none = input.new_empty(0), input.new_empty(0)
        return write_out((output, *none), out)
    dims = [0, *range(2, input.dim())]
    with pellucid.no_grad():
        variance, mean = pellucid.var_mean(input, dims, correction=0)
    return write_out((output, mean, (variance + eps).rsqrt()), out)


def _grid_sampler(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor:
    """``grid_sample`` with the modes by number."""
    mode, padding = _MODES[interpolation_mode], _PADDINGS[padding_mode]
    return functional.grid_sample(input, grid, mode, padding, align_corners)


grid_sampler = grid_sampler_2d = grid_sampler_3d = _grid_sampler
