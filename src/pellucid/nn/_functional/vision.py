"""Functions of images: interpolate, grid_sample, unfold, fold, pad."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from operator import mul
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._C import _nn
from pellucid._package.calls.argument_checks import refuse_complex
from pellucid._package.calls.captured import captured_as
from pellucid._package.calls.namesakes import namesake
from pellucid.nn._functional import antialiased, pooling

__all__ = [
    "affine_grid",
    "fold",
    "grid_sample",
    "interpolate",
    "pad",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

_RANKS = {
    "linear": (3,),
    "bilinear": (4,),
    "bicubic": (4,),
    "lanczos": (4,),
    "trilinear": (5,),
    "nearest": (3, 4, 5),
    "nearest-exact": (3, 4, 5),
    "area": (3, 4, 5),
}
_OF_ANY_DTYPE = ("nearest", "nearest-exact", "area")
_OF_CORNERS = ("linear", "bilinear", "bicubic", "trilinear")
# Op names by mode and number of dims.
_NEAREST = {"nearest": "upsample_nearest", "nearest-exact": "_upsample_nearest_exact"}
_OPS: dict[str, dict[int, Any]] = {
    mode: {
        rank - 2: getattr(_nn, f"{_NEAREST.get(mode, f'upsample_{mode}')}{rank - 2}d")
        for rank in _RANKS[mode]
    }
    for mode in (*_OF_CORNERS, *_NEAREST)
}


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """``input`` (N, C, ...) resampled to ``size`` or by ``scale_factor``.

    ``mode`` is "nearest", "nearest-exact", "linear" (3 dims), "bilinear" or "bicubic"
    (4), "trilinear" (5) or "area". ``align_corners`` aligns the centers of the
    corner pixels instead of their outer corners. ``antialias`` ("bilinear", "bicubic",
    and "lanczos", which needs it) averages all pixels that an output pixel covers.
    """
    dims = input.dim() - 2
    ranks = _RANKS.get(mode)
    if ranks is None:
        raise NotImplementedError(
            f"there is no interpolation {mode!r}; give one of {', '.join(_RANKS)}"
        )
    if dims + 2 not in ranks:
        raise NotImplementedError(
            f"Got {input.dim()}D input, but {mode} mode needs "
            f"{' or '.join(f'{rank}D' for rank in ranks)} input"
        )
    if mode in ("nearest", "nearest-exact", "area") and align_corners is not None:
        raise ValueError(f"align_corners has no meaning for mode {mode!r}")
    align_corners = bool(align_corners)
    if antialias and mode not in antialiased.FILTERS:
        raise ValueError(
            f"antialias=True is for {', '.join(antialiased.FILTERS)}, not {mode!r}"
        )
    if mode == "lanczos" and (align_corners or not antialias):
        raise ValueError("'lanczos' needs antialias=True, without align_corners")
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor needs scale_factor, not size")
    if not input.is_floating_point():
        refuse_complex("interpolate", input)
        if mode not in _OF_ANY_DTYPE:
            wide = _as_floats(input, mode)
            found = interpolate(
                wide, size, scale_factor, mode, align_corners, recompute_scale_factor,
                antialias,
            )  # fmt: skip
            return (found + 0.5).floor().clamp(0, 255).to(input.dtype)
    sizes, scales = _target(
        input, size, scale_factor, bool(recompute_scale_factor or mode == "area"), dims
    )
    if antialias:
        return antialiased.resized(input, sizes, scales, mode, align_corners)
    if mode == "area":
        pools = (
            pooling.adaptive_avg_pool1d,
            pooling.adaptive_avg_pool2d,
            pooling.adaptive_avg_pool3d,
        )
        return pools[dims - 1](input, sizes)
    return _resampled(input, mode, sizes, scales, align_corners)


def _resampled_by_op(
    input: Tensor,
    mode: str,
    sizes: list[int],
    scales: list[float],
    align_corners: bool,
) -> Tensor:
    op = pellucid._C._op_named(f"{_OPS[mode][input.dim() - 2].__name__}.vec")
    resampled: Tensor = op(
        input,
        None if scales else sizes,
        *([align_corners] if mode in _OF_CORNERS else []),
        scales or None,
    )
    return resampled


@captured_as(_resampled_by_op)
def _resampled(
    input: Tensor,
    mode: str,
    sizes: list[int],
    scales: list[float],
    align_corners: bool,
) -> Tensor:
    op = _OPS[mode][input.dim() - 2]
    if mode in _OF_CORNERS:
        resampled: Tensor = op(input, sizes, align_corners, *scales)
        return resampled
    resampled = op(input, sizes, *scales)
    return resampled


def _as_floats(input: Tensor, mode: str) -> Tensor:
    """Accepts uint8 images, whose means are rounded; refuses other integer dtypes."""
    if input.dtype != pellucid.uint8 or input.dim() != 4:
        raise NotImplementedError(
            f"{mode!r} interpolation of {input.dtype} tensors of {input.dim()} "
            "dimensions is not implemented: convert with .float()"
        )
    return input.float()


def _target(
    input: Tensor, size: Any, scale_factor: Any, recompute: bool, dims: int
) -> tuple[list[int], list[float]]:
    """The output's sizes, and the scale factors if the ops use them."""
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor")
    if size is not None:
        sizes = list(size) if isinstance(size, (list, tuple)) else [size] * dims
        if len(sizes) != dims:
            raise ValueError(
                f"interpolate: size has {len(sizes)} numbers for {dims} dims"
            )
        return [int(n) for n in sizes], []
    if isinstance(scale_factor, (list, tuple)):
        scales = [float(s) for s in scale_factor]
    else:
        scales = [float(scale_factor)] * dims
    if len(scales) != dims:
        raise ValueError(
            f"interpolate: scale_factor has {len(scales)} numbers for {dims} dims"
        )
    _, _, *spatial = input.shape
    found = list(map(math.floor, map(mul, spatial, scales)))
    return found, [] if recompute else scales


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """The old name of ``interpolate``."""
    warnings.warn("upsample is deprecated; use interpolate", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: Any = None, scale_factor: Any = None
) -> Tensor:
    """``interpolate`` with mode "nearest"."""
    warnings.warn("upsample_nearest is deprecated; use interpolate", stacklevel=2)
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(
    input: Tensor, size: Any = None, scale_factor: Any = None
) -> Tensor:
    """``interpolate`` with mode "bilinear" and aligned corners."""
    warnings.warn("upsample_bilinear is deprecated; use interpolate", stacklevel=2)
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)


def _pair(value: Any) -> list[int]:
    return [value, value] if isinstance(value, int) else list(value)


@namesake("PyTorch calls im2col; the op of this name is the method, a view")
def unfold(
    input: Tensor,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Patches of images (N, C, H, W) as columns (N, C * kernel elements, positions)."""
    return _nn.im2col(
        input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride)
    )


def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Sums columns of patches into images: the transpose of ``unfold``."""
    return _nn.col2im(
        input,
        _pair(output_size),
        _pair(kernel_size),
        _pair(dilation),
        _pair(padding),
        _pair(stride),
    )


# Sampling at given positions

# The numbers that the grid_sampler op takes.
_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _warn_of_corners(name: str) -> None:
    """Warns about a call without ``align_corners``."""
    warnings.warn(
        f"{name}: without align_corners, -1 and 1 are the image's borders, not the "
        "centers of its corner pixels; say align_corners=False or True",
        stacklevel=3,
    )


def affine_grid(
    theta: Tensor, size: Sequence[int], align_corners: bool | None = None
) -> Tensor:
    """The positions to which affine maps ``theta`` send the pixels of an image.

    ``theta`` is (N, 2, 3) for ``size`` (N, C, H, W), (N, 3, 4) for (N, C, D, H, W).
    """
    dims = len(size) - 2
    if not theta.is_floating_point():
        raise ValueError(f"affine_grid: theta has dtype {theta.dtype}; give floats")
    if dims not in (2, 3):
        raise NotImplementedError(f"affine_grid: size has {len(size)} numbers")
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (dims, dims + 1):
        raise ValueError(
            f"affine_grid: theta has shape {tuple(theta.shape)}; for a size of "
            f"{len(size)} numbers give (N, {dims}, {dims + 1})"
        )
    if min(size) <= 0:
        raise ValueError(f"affine_grid: size {tuple(size)} is not positive")
    if align_corners is None:
        _warn_of_corners("affine_grid")
    return pellucid.affine_grid_generator(theta, list(size), bool(align_corners))


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """``input`` (N, C, ...) sampled at positions ``grid`` (N, ..., dims) from -1 to 1.

    ``mode`` is "bilinear", "nearest" or "bicubic" (images only); ``padding_mode`` is
    the value outside: "zeros", the "border" or its "reflection".
    """
    if mode not in _MODES:
        raise ValueError(f"grid_sample: there is no mode {mode!r}")
    if padding_mode not in _PADDINGS:
        raise ValueError(f"grid_sample: there is no padding_mode {padding_mode!r}")
    if align_corners is None:
        _warn_of_corners("grid_sample")
    modes = _MODES.index(mode), _PADDINGS.index(padding_mode)
    sampled: Tensor = pellucid.grid_sampler(input, grid, *modes, bool(align_corners))
    return sampled


def _pad_by_op(
    input: Tensor,
    pad: Sequence[int],
    mode: str = "constant",
    value: float | None = None,
) -> Tensor:
    return _nn.pad(input, pad, mode, value)


@captured_as(_pad_by_op)
def pad(
    input: Tensor,
    pad: Sequence[int],
    mode: str = "constant",
    value: float | None = None,
) -> Tensor:
    """``input`` padded by pairs of widths, from the last dim on.

    The new elements are ``value``, or elements of the tensor: mirrored at its ends
    (``"reflect"``), the outermost ones (``"replicate"``), or those of the opposite end
    (``"circular"``).
    """
    if mode == "constant":
        return pellucid.constant_pad_nd(input, list(pad), 0 if value is None else value)
    return _nn.pad(input, pad, mode, value)
