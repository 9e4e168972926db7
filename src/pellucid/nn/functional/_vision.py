"""Functions of images: interpolate, grid_sample, patches, shuffles of channels."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._C import _nn
from pellucid._calls.argument_checks import refuse_complex
from pellucid._calls.autocast import in_float32
from pellucid.nn.functional import _antialias, _pooling

__all__ = [
    "affine_grid",
    "fold",
    "grid_sample",
    "interpolate",
    "native_channel_shuffle",
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
    (4), "trilinear" (5) or "area". ``align_corners`` puts the corners' centers, not
    the corners, on each other. ``antialias`` ("bilinear", "bicubic", and "lanczos",
    which needs it) takes the mean of all pixels that an output pixel covers.
    """
    refuse_complex("interpolate", input)
    dims = input.dim() - 2
    if mode not in _RANKS:
        raise NotImplementedError(
            f"there is no interpolation {mode!r}; give one of {', '.join(_RANKS)}"
        )
    if input.dim() not in _RANKS[mode]:
        raise NotImplementedError(
            f"{mode!r} interpolation takes {' or '.join(map(str, _RANKS[mode]))} "
            f"dimensions, not {input.dim()}"
        )
    if mode in ("nearest", "nearest-exact", "area") and align_corners is not None:
        raise ValueError(f"align_corners has no meaning for mode {mode!r}")
    align_corners = bool(align_corners)
    if antialias and mode not in _antialias.FILTERS:
        raise ValueError(
            f"antialias=True is for {', '.join(_antialias.FILTERS)}, not {mode!r}"
        )
    if mode == "lanczos" and (align_corners or not antialias):
        raise ValueError("'lanczos' needs antialias=True, without align_corners")
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor needs scale_factor, not size")
    if not input.is_floating_point() and mode not in _OF_ANY_DTYPE:
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
        return _antialias.resized(input, sizes, scales, mode, align_corners)
    if mode == "area":
        pools = (
            _pooling.adaptive_avg_pool1d,
            _pooling.adaptive_avg_pool2d,
            _pooling.adaptive_avg_pool3d,
        )
        return pools[dims - 1](input, sizes)
    if mode == "nearest":
        result = getattr(_nn, f"upsample_nearest{dims}d")(input, sizes, scales)
    elif mode == "nearest-exact":
        result = getattr(_nn, f"_upsample_nearest_exact{dims}d")(input, sizes, scales)
    else:
        op = getattr(_nn, f"upsample_{mode}{dims}d")
        result = op(input, sizes, align_corners, scales)
    resampled: Tensor = result
    return resampled


def _as_floats(input: Tensor, mode: str) -> Tensor:
    """An image of bytes, whose means are rounded; no other integers have means."""
    if input.dtype != pellucid.uint8 or input.dim() != 4:
        raise NotImplementedError(
            f"{mode!r} interpolation of {input.dtype} tensors of {input.dim()} "
            "dimensions is not implemented: convert with .float()"
        )
    return input.float()


def _target(
    input: Tensor, size: Any, scale_factor: Any, recompute: bool, dims: int
) -> tuple[list[int] | None, list[float] | None]:
    """(output sizes, None) or (None, scale factors)."""
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor")
    if size is not None:
        sizes = list(size) if isinstance(size, (list, tuple)) else [size] * dims
        if len(sizes) != dims:
            raise ValueError(
                f"interpolate: size has {len(sizes)} numbers for {dims} dims"
            )
        return [int(n) for n in sizes], None
    many = isinstance(scale_factor, (list, tuple))
    scales = [float(s) for s in (scale_factor if many else [scale_factor] * dims)]
    if len(scales) != dims:
        raise ValueError(
            f"interpolate: scale_factor has {len(scales)} numbers for {dims} dims"
        )
    if not recompute:
        return None, scales
    spatial = input.shape[2:]
    return [math.floor(n * s) for n, s in zip(spatial, scales, strict=True)], None


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


def unfold(
    input: Tensor,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Patches of images (N, C, H, W) as columns (N, C * kernel elements, places)."""
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
    """The sum of columns of patches at their places: the transpose of ``unfold``."""
    return _nn.col2im(
        input,
        _pair(output_size),
        _pair(kernel_size),
        _pair(dilation),
        _pair(padding),
        _pair(stride),
    )


native_channel_shuffle = pellucid.channel_shuffle


# Sampling at given places


def _warn_of_corners(name: str) -> None:
    """Said of a call that leaves ``align_corners`` out."""
    warnings.warn(
        f"{name}: without align_corners, -1 and 1 are the image's borders, not the "
        "centers of its corner pixels; say align_corners=False or True",
        stacklevel=3,
    )


def affine_grid(
    theta: Tensor, size: Sequence[int], align_corners: bool | None = None
) -> Tensor:
    """The places that affine maps ``theta`` send the pixels of an image to.

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
    spatial = list(size[2:])
    axes = []
    for n in spatial:
        line = (
            pellucid.linspace(-1, 1, n, dtype=theta.dtype)
            if n > 1
            else pellucid.zeros(1, dtype=theta.dtype)
        )
        axes.append(line if align_corners else line * (n - 1) / n)
    places = pellucid.meshgrid(*axes, indexing="ij")
    ones = pellucid.ones(spatial, dtype=theta.dtype)
    base = pellucid.stack([*reversed(places), ones], -1).reshape(-1, dims + 1)
    found = base @ theta.transpose(1, 2)
    return found.reshape(theta.shape[0], *spatial, dims)


@in_float32
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """``input`` (N, C, ...) at the places ``grid`` (N, ..., dims), from -1 to 1.

    ``mode`` is "bilinear", "nearest" or "bicubic" (images only); ``padding_mode`` says
    what lies outside: "zeros", the "border" or its "reflection".
    """
    dims = input.dim() - 2
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"grid_sample: there is no mode {mode!r}")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"grid_sample: there is no padding_mode {padding_mode!r}")
    if dims not in (2, 3) or grid.dim() != dims + 2 or grid.shape[-1] != dims:
        raise RuntimeError(
            f"grid_sample: an input of shape {tuple(input.shape)} does not fit a grid "
            f"of shape {tuple(grid.shape)}"
        )
    if mode == "bicubic" and dims == 3:
        raise RuntimeError("grid_sample: bicubic is for inputs of 4 dimensions")
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            f"grid_sample: {input.shape[0]} inputs for {grid.shape[0]} grids"
        )
    if align_corners is None:
        _warn_of_corners("grid_sample")
    sampler = _Sampler(input, padding_mode, bool(align_corners))
    # grid names the dims from the last one on
    places = [sampler.place(grid[..., dims - 1 - d], d) for d in range(dims)]
    if mode == "bicubic":
        return sampler.cubic(places)
    places = [sampler.padded(p, d) for d, p in enumerate(places)]
    if mode == "nearest":
        return sampler.at([p.round() for p in places])
    return sampler.linear(places)


class _Sampler:
    """Elements of images at integer or real places."""

    def __init__(self, input: Tensor, padding_mode: str, align_corners: bool) -> None:
        self.input = input
        self.sizes = list(input.shape[2:])
        self.flat = input.flatten(2)
        self.padding_mode = padding_mode
        self.align_corners = align_corners

    def place(self, coordinate: Tensor, d: int) -> Tensor:
        n = self.sizes[d]
        if self.align_corners:
            return (coordinate + 1) * ((n - 1) / 2)
        return ((coordinate + 1) * n - 1) / 2

    def padded(self, place: Tensor, d: int) -> Tensor:
        """``place`` moved into the image, unless zeros lie outside."""
        n = self.sizes[d]
        if self.padding_mode == "zeros":
            return place
        if self.padding_mode == "reflection":
            low, span = (0.0, n - 1.0) if self.align_corners else (-0.5, float(n))
            if span == 0:
                return pellucid.zeros_like(place)
            distance = place - low
            distance = pellucid.where(distance < 0, -distance, distance)
            extra = distance.fmod(span)
            flips = (distance / span).floor() % 2 == 0
            place = pellucid.where(flips, extra + low, span - extra + low)
        # What is no number is the first place; one on the border does not move.
        place = place.nan_to_num(0.0, n - 1.0, 0.0)
        held: Tensor = _nn.hardtanh(place, 0.0, n - 1.0)
        return held

    def at(self, places: list[Tensor]) -> Tensor:
        """The elements (N, C, ...) at whole places (N, ...); 0 outside."""
        inside = None
        index = None
        for d, place in enumerate(places):
            n = self.sizes[d]
            holds = (place >= 0) & (place <= n - 1)
            inside = holds if inside is None else inside & holds
            whole = place.detach().clamp(0, n - 1).nan_to_num(0.0).long()
            index = whole if index is None else index * n + whole
        assert inside is not None and index is not None
        batch, channels = self.input.shape[:2]
        wide = index.reshape(batch, 1, -1).expand(batch, channels, -1)
        found = self.flat.gather(2, wide)
        found = found.view(batch, channels, *index.shape[1:])
        return found.masked_fill(~inside.unsqueeze(1), 0)

    def linear(self, places: list[Tensor]) -> Tensor:
        lows = [p.detach().floor() for p in places]
        terms: list[Tensor] = []
        for corner in range(2 ** len(places)):
            weight: Any = 1
            spots = []
            for d, (p, low) in enumerate(zip(places, lows, strict=True)):
                high = corner >> d & 1
                spots.append(low + high)
                weight = weight * (p - low if high else low + 1 - p)
            terms.append(self.at(spots) * weight.unsqueeze(1))
        return sum(terms[1:], start=terms[0])

    def cubic(self, places: list[Tensor]) -> Tensor:
        lows = [p.detach().floor() for p in places]
        weights = [_cubic_weights(p - low) for p, low in zip(places, lows, strict=True)]
        terms: list[Tensor] = []
        for i in range(4):
            row = self.padded(lows[0] + (i - 1), 0)
            for j in range(4):
                column = self.padded(lows[1] + (j - 1), 1)
                weight = weights[0][i] * weights[1][j]
                terms.append(self.at([row, column]) * weight.unsqueeze(1))
        return sum(terms[1:], start=terms[0])


def _cubic_weights(t: Tensor) -> list[Tensor]:
    """The four weights of cubic convolution at ``t``, a = -0.75 (Keys 1981)."""
    a = -0.75

    def near(d: Tensor) -> Tensor:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Tensor) -> Tensor:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]
