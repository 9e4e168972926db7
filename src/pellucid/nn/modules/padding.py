"""Padding layers: constant, reflection, replication and circular."""

from __future__ import annotations

from collections.abc import Sequence

from pellucid import Tensor
from pellucid.nn import functional
from pellucid.nn.modules.conv import tuple_of
from pellucid.nn.modules.module import Module

_Sizes = int | Sequence[int]


class _PadNd(Module):
    """Pads the last ``dims`` dims: one width, or a pair for each from the last on."""

    dims: int
    mode: str

    def __init__(self, padding: _Sizes) -> None:
        super().__init__()
        self.padding = tuple_of(padding, 2 * self.dims)

    def forward(self, input: Tensor) -> Tensor:
        return functional.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    def __init__(self, padding: _Sizes, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return functional.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads the last dim with ``value``."""

    dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads the last two dims with ``value``."""

    dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads the last three dims with ``value``."""

    dims = 3


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: _Sizes) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPadNd):
    """Pads the last dim with zeros."""

    dims = 1


class ZeroPad2d(_ZeroPadNd):
    """Pads the last two dims with zeros."""

    dims = 2


class ZeroPad3d(_ZeroPadNd):
    """Pads the last three dims with zeros."""

    dims = 3


class ReflectionPad1d(_PadNd):
    """Pads the last dim with its mirror image."""

    dims, mode = 1, "reflect"


class ReflectionPad2d(_PadNd):
    """Pads the last two dims with their mirror image."""

    dims, mode = 2, "reflect"


class ReflectionPad3d(_PadNd):
    """Pads the last three dims with their mirror image."""

    dims, mode = 3, "reflect"


class ReplicationPad1d(_PadNd):
    """Pads the last dim with its outermost elements."""

    dims, mode = 1, "replicate"


class ReplicationPad2d(_PadNd):
    """Pads the last two dims with their outermost elements."""

    dims, mode = 2, "replicate"


class ReplicationPad3d(_PadNd):
    """Pads the last three dims with their outermost elements."""

    dims, mode = 3, "replicate"


class _CircularPadNd(_PadNd):
    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        ranks = (self.dims + 1, self.dims + 2)
        if input.dim() not in ranks:
            raise ValueError(
                f"{type(self).__name__} takes {ranks[0]} or {ranks[1]} dimensions, "
                f"not {input.dim()}"
            )
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Pads the last dim with elements of its opposite end."""

    dims = 1


class CircularPad2d(_CircularPadNd):
    """Pads the last two dims with elements of their opposite ends."""

    dims = 2


class CircularPad3d(_CircularPadNd):
    """Pads the last three dims with elements of their opposite ends."""

    dims = 3
