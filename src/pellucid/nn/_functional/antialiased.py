"""Antialiased resampling of images: filters are widened by the downsampling factor.

The filters are separable: an output pixel is a weighted mean of input pixels along each
direction, so resizing is a product with one weight matrix per direction. Called by
``interpolate``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pellucid
from pellucid import Tensor


def resized(
    image: Tensor,
    sizes: Sequence[int],
    scales: Sequence[float],
    mode: str,
    align_corners: bool,
) -> Tensor:
    """Resamples (..., H, W) to ``sizes``, with scale factors ``scales`` if they are
    given; ``mode`` is a key of FILTERS.
    """
    is_bytes = image.dtype == pellucid.uint8
    found = image.float() if is_bytes else image
    rows, columns = (
        _weights(
            image.shape[d],
            sizes[d],
            scales[d] if scales else None,
            mode,
            align_corners,
        ).to(found.dtype)
        for d in (-2, -1)
    )
    found = rows @ (found @ columns.mT)
    return found.round().clamp(0, 255).to(image.dtype) if is_bytes else found


def _weights(
    size: int, output: int, scale: float | None, mode: str, align_corners: bool
) -> Tensor:
    """The weight matrix (output, size): one row of input weights per output pixel."""
    if size < 1 or output < 1:
        raise RuntimeError(f"interpolate: sizes are {size} and {output}; give > 0")
    step = _step(size, output, scale, align_corners)
    stretch = max(step, 1.0)
    radius, shape = FILTERS[mode]
    reach = radius * stretch
    centers = (pellucid.arange(output, dtype=pellucid.float64) + 0.5) * step
    low = (centers - reach + 0.5).trunc().unsqueeze(-1)
    high = (centers + reach + 0.5).trunc().unsqueeze(-1)
    places = pellucid.arange(size)
    distance = (places + 0.5 - centers.unsqueeze(-1)).abs() / stretch
    weights = pellucid.where((places >= low) & (places < high), shape(distance), 0.0)
    return weights / weights.sum(-1, keepdim=True)


def _step(size: int, output: int, scale: float | None, align_corners: bool) -> float:
    if align_corners:
        return (size - 1) / (output - 1) if output > 1 else 0.0
    return size / output if scale is None else 1 / scale


def _triangle(distance: Tensor) -> Tensor:
    return (1 - distance).clamp(min=0)


def _cubic(distance: Tensor) -> Tensor:
    """Cubic convolution with ``a = -0.5`` (Keys 1981)."""
    near = (1.5 * distance - 2.5) * distance * distance + 1
    far = ((-0.5 * distance + 2.5) * distance - 4) * distance + 2
    inner = pellucid.where(distance < 1, near, far)
    return pellucid.where(distance < 2, inner, 0.0)


def _lanczos(distance: Tensor) -> Tensor:
    """``sinc(x) sinc(x / 3)`` (Duchon 1979)."""
    window = distance.sinc() * (distance / 3).sinc()
    return pellucid.where(distance < 3, window, 0.0)


# The radius of each filter, and its weight as a function of distance.
FILTERS: dict[str, tuple[int, Callable[[Tensor], Tensor]]] = {
    "bilinear": (1, _triangle),
    "bicubic": (2, _cubic),
    "lanczos": (3, _lanczos),
}
