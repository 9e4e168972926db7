"""Pooling functions: PyTorch's signatures over the catalogue's ops.

Used by ``nn.functional``, which re-exports them; the ops are declared in
``catalogue/pooling.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._C import _nn
from pellucid._package.calls import offered

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

_Sizes = int | Sequence[int]


def _as_list(value: _Sizes, count: int) -> list[int]:
    return [value] * count if isinstance(value, int) else list(value)


def _max_pool(dims: int) -> Callable[..., Any]:
    plain = f"max_pool{dims}d"
    with_indices = f"max_pool{dims}d_with_indices"

    def max_pool(
        input: Tensor,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        padding: _Sizes = 0,
        dilation: _Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        stride = [] if stride is None else stride
        if return_indices:
            op = getattr(_nn, with_indices)
        else:
            op = getattr(pellucid, plain)
        return op(input, kernel_size, stride, padding, dilation, ceil_mode)

    max_pool.__name__ = plain
    max_pool.__doc__ = (
        "The maximum of every window; with ``return_indices`` also its index."
    )
    return max_pool


max_pool1d = _max_pool(1)
max_pool2d = _max_pool(2)
max_pool3d = _max_pool(3)


def _max_pool_with_indices(dims: int) -> Callable[..., Any]:
    op = getattr(_nn, f"max_pool{dims}d_with_indices")

    def max_pool_with_indices(
        input: Tensor,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        padding: _Sizes = 0,
        dilation: _Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]:
        steps = [] if stride is None else stride
        result: tuple[Tensor, Tensor] = op(
            input, kernel_size, steps, padding, dilation, ceil_mode
        )
        return result

    max_pool_with_indices.__name__ = f"max_pool{dims}d_with_indices"
    max_pool_with_indices.__doc__ = "The maximum of every window, and its index."
    return max_pool_with_indices


max_pool1d_with_indices = offered.function(_max_pool_with_indices(1))
max_pool2d_with_indices = _max_pool_with_indices(2)
max_pool3d_with_indices = _max_pool_with_indices(3)


def _output_size(input: Tensor, output_size: Any, dims: int) -> list[int]:
    """``output_size`` as a list; None becomes the input's size."""
    sizes = _as_list(output_size, dims) if output_size is not None else [None] * dims
    if isinstance(output_size, Sequence) and input.dim() <= len(sizes):
        raise ValueError(
            f"Input dimension should be at least {len(sizes) + 1}, not {input.dim()}"
        )
    if len(sizes) != dims:
        raise RuntimeError(f"output_size has {len(sizes)} numbers for {dims} dims")
    spatial = input.shape[-dims:]
    return [int(spatial[d]) if n is None else int(n) for d, n in enumerate(sizes)]


def _adaptive_avg_pool(dims: int) -> Callable[..., Tensor]:
    name = f"adaptive_avg_pool{dims}d"
    op = getattr(_nn if dims > 1 else pellucid, name)

    def adaptive_avg_pool(input: Tensor, output_size: Any) -> Tensor:
        result: Tensor = op(input, _output_size(input, output_size, dims))
        return result

    adaptive_avg_pool.__name__ = name
    adaptive_avg_pool.__doc__ = (
        "The means of ``output_size`` windows; None keeps the input's size."
    )
    return adaptive_avg_pool


adaptive_avg_pool1d = _adaptive_avg_pool(1)
adaptive_avg_pool2d = _adaptive_avg_pool(2)
adaptive_avg_pool3d = _adaptive_avg_pool(3)


def _adaptive_max_pool(dims: int) -> Callable[..., Any]:
    name = f"adaptive_max_pool{dims}d"
    op = getattr(_nn if dims > 1 else pellucid, name)

    def adaptive_max_pool(
        input: Tensor, output_size: Any, return_indices: bool = False
    ) -> Any:
        found = op(input, _output_size(input, output_size, dims))
        return found if return_indices else found[0]

    adaptive_max_pool.__name__ = name
    adaptive_max_pool.__doc__ = (
        "The greatest elements of as many windows as ``output_size`` says; None "
        "keeps a size."
    )
    return adaptive_max_pool


adaptive_max_pool1d = _adaptive_max_pool(1)
adaptive_max_pool2d = _adaptive_max_pool(2)
adaptive_max_pool3d = _adaptive_max_pool(3)


def _adaptive_max_pool_with_indices(dims: int) -> Callable[..., Any]:
    name = f"adaptive_max_pool{dims}d"
    op = getattr(_nn if dims > 1 else pellucid, name)

    def adaptive_max_pool_with_indices(
        input: Tensor, output_size: Any, return_indices: bool = False
    ) -> tuple[Tensor, Tensor]:
        found: tuple[Tensor, Tensor] = op(input, _output_size(input, output_size, dims))
        return found

    adaptive_max_pool_with_indices.__name__ = f"{name}_with_indices"
    adaptive_max_pool_with_indices.__doc__ = (
        "The greatest elements of as many windows as ``output_size`` says, and their "
        "places."
    )
    return adaptive_max_pool_with_indices


adaptive_max_pool1d_with_indices = _adaptive_max_pool_with_indices(1)
adaptive_max_pool2d_with_indices = _adaptive_max_pool_with_indices(2)
adaptive_max_pool3d_with_indices = _adaptive_max_pool_with_indices(3)


def _lp_pool(dims: int) -> Callable[..., Tensor]:
    def lp_pool(
        input: Tensor,
        norm_type: float,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        if math.isinf(norm_type):
            greatest = (max_pool1d, max_pool2d, max_pool3d)[dims - 1]
            found: Tensor = greatest(input, kernel_size, stride, ceil_mode=ceil_mode)
            return found
        pool = (pellucid.avg_pool1d, _nn.avg_pool2d, _nn.avg_pool3d)[dims - 1]
        steps = [] if stride is None else stride
        mean = pool(input.pow(norm_type), kernel_size, steps, 0, ceil_mode)
        count = math.prod(_as_list(kernel_size, dims))
        return (mean.sign() * mean.abs().relu()).mul(count).pow(1.0 / norm_type)

    lp_pool.__name__ = f"lp_pool{dims}d"
    lp_pool.__doc__ = "``(sum x ** norm_type) ** (1 / norm_type)`` over every window."
    return lp_pool


lp_pool1d = _lp_pool(1)
lp_pool2d = _lp_pool(2)
lp_pool3d = _lp_pool(3)


# Unpooling


def _unpooled_size(
    input: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    output_size: Sequence[int] | None,
) -> list[int]:
    dims = len(kernel_size)
    if input.dim() < dims:
        raise IndexError(f"max_unpool{dims}d: the input has {input.dim()} dims")
    usual = [
        (n - 1) * stride[d] + kernel_size[d] - 2 * padding[d]
        for d, n in enumerate(input.shape[-dims:])
    ]
    if output_size is None:
        return usual
    sizes = list(output_size)
    if len(sizes) == dims + 2:
        sizes = sizes[2:]
    if len(sizes) != dims:
        raise ValueError(
            f"output_size has {len(sizes)} numbers; give {dims} or {dims + 2}"
        )
    for d, n in enumerate(sizes):
        if not usual[d] - stride[d] < n < usual[d] + stride[d]:
            raise ValueError(
                f"output_size {n} in dim {d} must be between "
                f"{usual[d] - stride[d]} and {usual[d] + stride[d]}"
            )
    return sizes


def _max_unpool(dims: int) -> Callable[..., Tensor]:
    name = f"max_unpool{dims}d"

    def max_unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        padding: _Sizes = 0,
        output_size: Sequence[int] | None = None,
    ) -> Tensor:
        kernel = _as_list(kernel_size, dims)
        steps = kernel if stride is None else _as_list(stride, dims)
        pads = _as_list(padding, dims)
        size = _unpooled_size(input, kernel, steps, pads, output_size)
        if dims == 1:
            wide, places = input.unsqueeze(-1), indices.unsqueeze(-1)
            return _nn.max_unpool2d(wide, places, [*size, 1]).squeeze(-1)
        if dims == 2:
            return _nn.max_unpool2d(input, indices, size)
        return _nn.max_unpool3d(input, indices, size, steps, pads)

    max_unpool.__name__ = name
    max_unpool.__doc__ = "``input`` at the ``indices`` of a max pooling; 0 elsewhere."
    return max_unpool


max_unpool1d = _max_unpool(1)
max_unpool2d = _max_unpool(2)
max_unpool3d = _max_unpool(3)


# Fractional pooling


def _fractional_max_pool(dims: int) -> Callable[..., Any]:
    name = f"fractional_max_pool{dims}d"
    op = getattr(_nn, name)

    def fractional_max_pool_with_indices(
        input: Tensor,
        kernel_size: _Sizes,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        kernel = _as_list(kernel_size, dims)
        spatial = list(input.shape[-dims:])
        if output_size is None:
            if output_ratio is None:
                raise ValueError(f"{name}: give output_size or output_ratio")
            ratios = (
                [output_ratio] * dims
                if isinstance(output_ratio, float)
                else list(output_ratio)
            )
            output_size = [int(n * r) for n, r in zip(spatial, ratios, strict=True)]
        size = _as_list(output_size, dims)
        samples = _random_samples
        if samples is None:
            batch = 1 if input.dim() == dims + 1 else input.shape[0]
            channels = input.shape[-dims - 1]
            samples = pellucid.rand(
                batch, channels, dims, dtype=input.dtype, device=input.device
            )
        found: tuple[Tensor, Tensor] = op(input, kernel, size, samples)
        return found

    fractional_max_pool_with_indices.__name__ = f"{name}_with_indices"
    fractional_max_pool_with_indices.__doc__ = (
        "The greatest elements of randomly placed windows, and their places "
        "(Graham 2014)."
    )
    return fractional_max_pool_with_indices


fractional_max_pool2d_with_indices = _fractional_max_pool(2)
fractional_max_pool3d_with_indices = _fractional_max_pool(3)


def _fractional_values(with_indices: Callable[..., Any]) -> Callable[..., Any]:
    def fractional_max_pool(
        input: Tensor,
        kernel_size: _Sizes,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        found = with_indices(
            input, kernel_size, output_size, output_ratio, True, _random_samples
        )
        return found if return_indices else found[0]

    fractional_max_pool.__name__ = with_indices.__name__.removesuffix("_with_indices")
    fractional_max_pool.__doc__ = "The maxima of randomly placed windows."
    return fractional_max_pool


fractional_max_pool2d = _fractional_values(fractional_max_pool2d_with_indices)
fractional_max_pool3d = _fractional_values(fractional_max_pool3d_with_indices)
