"""Pooling layers; the functions are in ``nn.functional``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid import Tensor
from pellucid.nn import functional
from pellucid.nn.modules.conv import tuple_of
from pellucid.nn.modules.module import Module

_Sizes = int | Sequence[int]


class _MaxPoolNd(Module):
    """The maximum of every window; with ``return_indices`` also its index."""

    dims: int

    def __init__(
        self,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        padding: _Sizes = 0,
        dilation: _Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return getattr(functional, f"max_pool{self.dims}d")(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The maximum of every window of (N, C, L) or (C, L)."""

    dims = 1


class MaxPool2d(_MaxPoolNd):
    """The maximum of every window of (N, C, H, W) or (C, H, W)."""

    dims = 2


class MaxPool3d(_MaxPoolNd):
    """The maximum of every window of (N, C, D, H, W) or (C, D, H, W)."""

    dims = 3


class _MaxUnpoolNd(Module):
    """Places elements at the indices that a max pooling returned; zeros elsewhere."""

    dims: int

    def __init__(
        self, kernel_size: _Sizes, stride: _Sizes | None = None, padding: _Sizes = 0
    ) -> None:
        super().__init__()
        self.kernel_size = tuple_of(kernel_size, self.dims)
        self.stride = tuple_of(kernel_size if stride is None else stride, self.dims)
        self.padding = tuple_of(padding, self.dims)

    def forward(
        self,
        input: Tensor,
        indices: Tensor,
        output_size: Sequence[int] | None = None,
    ) -> Tensor:
        result: Tensor = getattr(functional, f"max_unpool{self.dims}d")(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )
        return result

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}"
        )


class MaxUnpool1d(_MaxUnpoolNd):
    """Undoes ``MaxPool1d`` : non-maximal elements become 0."""

    dims = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """Undoes ``MaxPool2d`` : non-maximal elements become 0."""

    dims = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """Undoes ``MaxPool3d`` : non-maximal elements become 0."""

    dims = 3


class AvgPool1d(Module):
    """The mean of every window of (N, C, L) or (C, L)."""

    def __init__(
        self,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        padding: _Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = tuple_of(kernel_size, 1)
        self.stride = tuple_of(kernel_size if stride is None else stride, 1)
        self.padding = tuple_of(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return functional.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}"
        )


class _AvgPoolNd(Module):
    """The mean of every window, or its sum over ``divisor_override``."""

    dims: int

    def __init__(
        self,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        padding: _Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = getattr(functional, f"avg_pool{self.dims}d")(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )
        return result

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}"
        )


class AvgPool2d(_AvgPoolNd):
    """The mean of every window of (N, C, H, W) or (C, H, W)."""

    dims = 2


class AvgPool3d(_AvgPoolNd):
    """The mean of every window of (N, C, D, H, W) or (C, D, H, W)."""

    dims = 3


class _LPPoolNd(Module):
    """``(sum x ** norm_type) ** (1 / norm_type)`` over every window."""

    dims: int

    def __init__(
        self,
        norm_type: float,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = getattr(functional, f"lp_pool{self.dims}d")(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )
        return result

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The power mean of every window of (N, C, L) or (C, L)."""

    dims = 1


class LPPool2d(_LPPoolNd):
    """The power mean of every window of (N, C, H, W) or (C, H, W)."""

    dims = 2


class LPPool3d(_LPPoolNd):
    """The power mean of every window of (N, C, D, H, W) or (C, D, H, W)."""

    dims = 3


class _FractionalMaxPoolNd(Module):
    """The maxima of randomly placed windows (Graham 2014)."""

    dims: int

    def __init__(
        self,
        kernel_size: _Sizes,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        if (output_size is None) == (output_ratio is None):
            raise ValueError(
                f"{type(self).__name__}: give either output_size or output_ratio"
            )
        self.kernel_size = tuple_of(kernel_size, self.dims)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = (
            None if output_size is None else tuple_of(output_size, self.dims)
        )
        self.output_ratio = (
            None if output_ratio is None else tuple_of(output_ratio, self.dims)
        )
        if self.output_ratio and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be in (0, 1), not {output_ratio}")

    def forward(self, input: Tensor) -> Any:
        return getattr(functional, f"fractional_max_pool{self.dims}d")(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Randomly placed windows over (N, C, H, W) or (C, H, W)."""

    dims = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Randomly placed windows over (N, C, D, H, W) or (C, D, H, W)."""

    dims = 3


class _AdaptiveAvgPoolNd(Module):
    """The means of ``output_size`` windows; None keeps the input's size."""

    dims: int

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        pool = getattr(functional, f"adaptive_avg_pool{self.dims}d")
        result: Tensor = pool(input, self.output_size)
        return result

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means over (N, C, L) or (C, L)."""

    dims = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means over (N, C, H, W) or (C, H, W)."""

    dims = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means over (N, C, D, H, W) or (C, D, H, W)."""

    dims = 3


class _AdaptiveMaxPoolNd(Module):
    """The maxima of ``output_size`` windows; None keeps the input's size."""

    dims: int

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        pool = getattr(functional, f"adaptive_max_pool{self.dims}d")
        return pool(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maxima over (N, C, L) or (C, L)."""

    dims = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maxima over (N, C, H, W) or (C, H, W)."""

    dims = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maxima over (N, C, D, H, W) or (C, D, H, W)."""

    dims = 3
