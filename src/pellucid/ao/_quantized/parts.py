"""Splits a quantized tensor into its components, and rebuilds it; arithmetic of scales.

A number is ``(integer - zero_point) * scale``. Every rule of this folder splits tensors
by ``split`` and makes results by ``Parts.tensor``. Read ``answer.py`` next.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import pellucid
from pellucid import _C, Tensor

# The dtype of a quantized tensor's integers, and their minimum and maximum.
INTEGERS = {
    pellucid.qint8: (pellucid.int8, -128, 127),
    pellucid.quint8: (pellucid.uint8, 0, 255),
    pellucid.qint32: (pellucid.int32, -(2**31), 2**31 - 1),
}
QUANTIZED = {integers: dtype for dtype, (integers, _, _) in INTEGERS.items()}


class Parts(NamedTuple):
    """``axis`` is None for a single scale; then ``scales`` are 0-d."""

    dtype: Any
    integers: Tensor
    scales: Tensor
    zero_points: Tensor
    axis: int | None

    def tensor(self) -> Tensor:
        """The quantized tensor."""
        components = (self.scales, self.zero_points, self.integers)
        axis = -1 if self.axis is None else self.axis
        return cast(Tensor, _C._make_quantized(self.dtype, axis, components))

    def with_integers(self, integers: Tensor) -> Tensor:
        """A tensor with these scales and other integers."""
        return self._replace(integers=integers).tensor()

    @property
    def scale(self) -> float:
        return float(self.scales)

    @property
    def zero_point(self) -> int:
        return int(self.zero_points)

    @property
    def has_float_zero_points(self) -> bool:
        return self.zero_points.is_floating_point()

    @property
    def scheme(self) -> Any:
        if self.axis is None:
            return pellucid.per_tensor_affine
        if self.has_float_zero_points:
            return pellucid.per_channel_affine_float_qparams
        return pellucid.per_channel_affine

    def aligned(self, each: Tensor) -> Tensor:
        """Scales or zero points, in a shape that broadcasts with the integers."""
        if self.axis is None:
            return each
        shape = [1] * self.integers.dim()
        shape[self.axis] = -1
        return each.reshape(shape)

    def floats(self) -> Tensor:
        """The numbers, float32."""
        scales = self.aligned(self.scales).float()
        zero_points = self.aligned(self.zero_points)
        if self.has_float_zero_points:
            return (self.integers.float() - zero_points) * scales
        if self.dtype is pellucid.qint32:
            return (self.integers.long() - zero_points).float() * scales
        return (self.integers.to(pellucid.int32) - zero_points.int()).float() * scales

    def fused_floats(self) -> Tensor:
        """``floats()`` rounded once, as in PyTorch's fused kernels."""
        scale = pellucid.tensor(self.scale, dtype=pellucid.float32)
        offset = (-self.zero_point * scale).double()
        return (self.integers.double() * scale + offset).float()

    def like(self, floats: Tensor) -> Tensor:
        """``floats`` with these scales and this dtype."""
        scales, zero_points = self.aligned(self.scales), self.aligned(self.zero_points)
        return self.with_integers(to_integers(floats, scales, zero_points, self.dtype))


def to_integers(floats: Tensor, scales: Any, zero_points: Any, dtype: Any) -> Tensor:
    """The nearest integers, ties to even after the zero point is added."""
    inverse = 1 / pellucid.as_tensor(scales, dtype=pellucid.float32)
    points = pellucid.as_tensor(zero_points)
    made: Tensor = _C._pellucid._quantize(
        floats, inverse, points, False, INTEGERS[dtype][0]
    )
    return made


def per_tensor(integers: Tensor, scale: float, zero_point: int, dtype: Any) -> Tensor:
    """A tensor with one scale, with integers of ``dtype``. In graphs scales are tensors
    of one element.
    """
    scales = pellucid.tensor(float(scale), dtype=pellucid.float64)
    zero_points = pellucid.tensor(int(zero_point), dtype=pellucid.int64)
    return Parts(dtype, integers, scales, zero_points, None).tensor()


def quantized(floats: Tensor, scale: float, zero_point: int, dtype: Any) -> Tensor:
    """``floats`` with one scale, unchecked."""
    scale, zero_point = float(scale), int(zero_point)
    integers = to_integers(floats, scale, zero_point, dtype)
    return per_tensor(integers, scale, zero_point, dtype)


def is_quantized(value: Any) -> bool:
    """Whether it is a quantized tensor."""
    return isinstance(value, Tensor) and value.is_quantized


def split(tensor: Tensor) -> Parts:
    """The parts of a quantized tensor."""
    kind = _C._quantized_kind(tensor)
    if kind is None:
        raise NotImplementedError(
            f"expected a quantized tensor; this one is {tensor.layout}, {tensor.dtype}"
        )
    axis, (scales, zero_points, integers) = kind
    return Parts(
        tensor.dtype, integers, scales, zero_points, None if axis < 0 else axis
    )


def of_one_scale(op: Any, tensor: Any) -> Parts:
    """The parts of the first argument of an op that needs one scale."""
    if not is_quantized(tensor):
        name = op._schema.name
        raise NotImplementedError(f"{name}: the first argument is not quantized")
    parts = split(tensor)
    if parts.axis is not None:
        raise RuntimeError(
            f"{op._schema.name} needs one scale; this tensor has a scale per channel: "
            "use dequantize()"
        )
    return parts


def write(target: Tensor, parts: Parts) -> Tensor:
    """Writes these integers to those of ``target``, which takes the scales. The scales
    that it had stay as they are: other tensors may have them.
    """
    into = split(target)
    if into.dtype is not parts.dtype:
        raise RuntimeError(
            "Quantized Copy only works with the same dtype: "
            f"{into.dtype} and {parts.dtype} differ"
        )
    if into.scheme is not parts.scheme:
        raise RuntimeError(
            "Quantized copy only works with same qscheme: "
            f"{into.scheme} and {parts.scheme} differ"
        )
    into.integers.copy_(parts.integers)
    made = parts.with_integers(into.integers)
    return cast(Tensor, _C._replace_components(target, made))
