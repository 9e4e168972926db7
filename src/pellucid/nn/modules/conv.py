"""Convolutions and transposed convolutions over one to three dims."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._package.homes import elsewhere
from pellucid.nn import functional, init
from pellucid.nn.modules.module import Module
from pellucid.nn.parameter import Parameter

_Sizes = int | Sequence[int]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def tuple_of(value: Any, count: int) -> tuple[Any, ...]:
    """``value`` if it is a sequence, else ``count`` times the number."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


class _ConvNd(Module):
    """What all convolutions share: options, weight, bias and their initial values.

    ``weight`` and ``bias`` are drawn from ``U(-k, k)`` with ``k = 1 / sqrt(fan in)``.
    """

    dims: int
    transposed = False
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _Sizes,
        stride: _Sizes,
        padding: _Sizes | str,
        dilation: _Sizes,
        output_padding: _Sizes,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        _check_channels(in_channels, out_channels, groups)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = tuple_of(kernel_size, self.dims)
        self.stride = tuple_of(stride, self.dims)
        self.dilation = tuple_of(dilation, self.dims)
        self.output_padding = tuple_of(output_padding, self.dims)
        self.groups = groups
        self.padding_mode = padding_mode
        self.padding = self._checked_padding(padding, padding_mode)
        options = {"device": device, "dtype": dtype}
        first, second = (
            (in_channels, out_channels // groups)
            if self.transposed
            else (out_channels, in_channels // groups)
        )
        shape = (first, second, *self.kernel_size)
        self.weight = Parameter(pellucid.empty(shape, **options))
        if bias:
            self.bias = Parameter(pellucid.empty(out_channels, **options))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _checked_padding(self, padding: _Sizes | str, mode: str) -> Any:
        if mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode is one of {', '.join(_PADDING_MODES)}, not {mode!r}"
            )
        if not isinstance(padding, str):
            pads = tuple_of(padding, self.dims)
            self._reversed_padding_repeated_twice = [
                p for pad in reversed(pads) for p in (pad, pad)
            ]
            return pads
        if padding not in ("same", "valid"):
            raise ValueError(f"padding is 'same', 'valid' or numbers, not {padding!r}")
        if padding == "same" and any(s != 1 for s in self.stride):
            raise ValueError("padding='same' needs stride 1")
        widths: list[int] = []
        for k, step in zip(reversed(self.kernel_size), reversed(self.dilation)):  # noqa: B905
            reach = step * (k - 1) if padding == "same" else 0
            widths += [reach // 2, reach - reach // 2]
        self._reversed_padding_repeated_twice = widths
        return padding

    def reset_parameters(self) -> None:
        """Reinitialises weight and bias."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        parts = [
            str(self.in_channels),
            str(self.out_channels),
            f"kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        ones, zeros = (1,) * self.dims, (0,) * self.dims
        if self.padding != zeros:
            parts.append(f"padding={self.padding}")
        if self.dilation != ones:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != zeros:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


def _check_channels(in_channels: int, out_channels: int, groups: int) -> None:
    if groups <= 0:
        raise ValueError(f"groups must be positive, not {groups}")
    for name, count in (("in_channels", in_channels), ("out_channels", out_channels)):
        if count % groups:
            raise ValueError(f"{name} = {count} does not divide into {groups} groups")


class _Conv(_ConvNd):
    """A convolution that is not transposed."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _Sizes,
        stride: _Sizes = 1,
        padding: _Sizes | str = 0,
        dilation: _Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(
        self, input: Tensor, weight: Tensor, bias: Tensor | None
    ) -> Tensor:
        convolve = getattr(functional, f"conv{self.dims}d")
        padding = self.padding
        if self.padding_mode != "zeros":
            widths = self._reversed_padding_repeated_twice
            input = functional.pad(input, widths, mode=self.padding_mode)
            padding = (0,) * self.dims
        result: Tensor = convolve(
            input, weight, bias, self.stride, padding, self.dilation, self.groups
        )
        return result

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Cross-correlation over (N, C, L) or (C, L)."""

    dims = 1


class Conv2d(_Conv):
    """Cross-correlation over images (N, C, H, W) or (C, H, W)."""

    dims = 2


class Conv3d(_Conv):
    """Cross-correlation over volumes (N, C, D, H, W) or (C, D, H, W)."""

    dims = 3


class _ConvTransposeNd(_ConvNd):
    """The gradient of a convolution with respect to its input, as a layer."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _Sizes,
        stride: _Sizes = 1,
        padding: _Sizes = 0,
        output_padding: _Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _Sizes = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                f"{type(self).__name__} pads with zeros only, not {padding_mode!r}"
            )
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(
        self, input: Tensor, output_size: Sequence[int] | None
    ) -> tuple[int, ...]:
        """The output padding with which the result has ``output_size``."""
        if output_size is None:
            return self.output_padding
        sizes = list(output_size)
        if len(sizes) == input.dim():
            sizes = sizes[input.dim() - self.dims :]
        if len(sizes) != self.dims:
            raise ValueError(
                f"output_size has {len(sizes)} numbers; give {self.dims} or "
                f"{input.dim()}"
            )
        added = []
        for d, wanted in enumerate(sizes):
            least = (input.shape[input.dim() - self.dims + d] - 1) * self.stride[d]
            least += self.dilation[d] * (self.kernel_size[d] - 1) + 1
            least -= 2 * self.padding[d]
            most = least + self.stride[d] - 1
            if not least <= wanted <= most:
                raise ValueError(
                    f"output_size {wanted} in dim {d} is not possible: it can be from "
                    f"{least} to {most}"
                )
            added.append(wanted - least)
        return tuple(added)

    def forward(
        self, input: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        convolve = getattr(functional, f"conv_transpose{self.dims}d")
        result: Tensor = convolve(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )
        return result


class ConvTranspose1d(_ConvTransposeNd):
    """A transposed convolution over (N, C, L) or (C, L)."""

    dims = 1


class ConvTranspose2d(_ConvTransposeNd):
    """A transposed convolution over images (N, C, H, W) or (C, H, W)."""

    dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    """A transposed convolution over volumes (N, C, D, H, W) or (C, D, H, W)."""

    dims = 3


_ConvTransposeMixin = _ConvTransposeNd  # its former name
__getattr__ = elsewhere(__name__)
