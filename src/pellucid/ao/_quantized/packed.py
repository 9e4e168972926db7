"""Packed weights: a quantized weight with its bias, prepared for products.

The objects returned by ``torch.ops.quantized.linear_prepack`` and similar ops. They
pickle as the weight, the bias and the geometry. Read ``products.py`` next.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.ao._quantized.parts import is_quantized, split

_EXACT_TERMS = 512  # 255 * 128 * 512 < 2**24
_MOST_TERMS = 65_000  # 255 * 128 * 65_000 < 2**31


class Packed:
    """A qint8 weight, a float bias, and the weight's integers minus their zero points.

    The integers are stored as float32 if every partial sum of a product with eight-bit
    inputs is exact in it, else as float64: either represents the integer sum exactly.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, channel: int = 0) -> None:
        if not is_quantized(weight) or weight.dtype is not pellucid.qint8:
            raise RuntimeError(
                f"a packed weight is a quantized tensor of torch.qint8; this one is "
                f"{weight.dtype}"
            )
        parts = split(weight)
        if parts.axis not in (None, channel):
            raise RuntimeError(
                f"a packed weight has one scale, or one for each of dim {channel} (its "
                f"output channels); this one has scales along dim {parts.axis}"
            )
        outputs = weight.shape[channel]
        if bias is not None and list(bias.shape) != [outputs]:
            raise RuntimeError(
                f"bias should be a vector of {outputs} elements, one for each output "
                f"channel; it is {list(bias.shape)}"
            )
        self._weight, self._bias = weight, bias
        terms = weight.numel() // max(outputs, 1)
        self.dtype = pellucid.float32 if terms <= _EXACT_TERMS else pellucid.float64
        centred = parts.integers.to(pellucid.int32) - parts.aligned(parts.zero_points)
        self.integers = centred.to(self.dtype)
        self.scales = parts.scales.float()

    def product(self, x: Tensor) -> Tensor:
        """The integer sums of products of the weight's layer."""
        raise NotImplementedError

    def sums(self, places: Tensor, zero_point: int) -> Tensor:
        """``product`` of eight-bit numbers (of any dtype) minus their zero point: the
        integer sums, rounded to float32."""
        return self.product(places.to(self.dtype) - zero_point).float()

    def unpack(self) -> tuple[Tensor, Tensor | None]:
        """(weight, bias)"""
        return self._weight, self._bias

    def weight(self) -> Tensor:
        """The quantized weight."""
        return self._weight

    def bias(self) -> Tensor | None:
        """The bias, float."""
        return self._bias

    def __reduce__(self) -> Any:
        return type(self), self._arguments()

    def _arguments(self) -> tuple[Any, ...]:
        return self._weight, self._bias

    def __deepcopy__(self, memo: Any) -> Packed:
        return self


class LinearPackedParams(Packed):
    """The weight ``[outputs, inputs]`` of a linear layer.

    A weight whose zero points are 0 is stored as int8, as are its products' inputs.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__(weight, bias)
        parts = split(weight)
        is_signed = not parts.zero_points.any().item()
        self._bytes = None
        if is_signed and parts.integers.dim() == 2 and weight.shape[1] <= _MOST_TERMS:
            self._bytes = parts.integers.contiguous()
            self._totals = self._bytes.sum(1, dtype=pellucid.int32)
            self.integers = self._bytes

    def sums(self, places: Tensor, zero_point: int) -> Tensor:
        """See ``Packed``."""
        if self._bytes is None:
            return super().sums(places, zero_point)
        self._check_inputs(places)
        outputs, inputs = self._bytes.shape
        shift = 0 if places.dtype is pellucid.int8 else 128
        rows = _as_int8(places).reshape(-1, inputs)
        made = pellucid._int_mm(rows, self._bytes.t())
        made += self._totals * (shift - zero_point)
        return made.float().view(*places.shape[:-1], outputs)

    def product(self, x: Tensor) -> Tensor:
        """``x @ weight.T`` of integers."""
        self._check_inputs(x)
        made: Tensor = pellucid.matmul(x, self.integers.t())
        return made

    def _check_inputs(self, x: Tensor) -> None:
        if x.dim() == 0 or x.shape[-1] != self.integers.shape[1]:
            raise RuntimeError(
                f"The dimension of the input's last dim must be K: input "
                f"{list(x.shape)}, weight {list(self.integers.shape)}"
            )


def _as_int8(places: Tensor) -> Tensor:
    """int8 numbers, or numbers from 0 to 255 minus 128."""
    if places.dtype is pellucid.int8:
        return places
    if places.dtype is pellucid.uint8:
        return (places ^ 128).view(pellucid.int8)
    return (places - 128).to(pellucid.int8)


class LinearPackedParamsFloat16:
    """The weight of a linear layer, rounded to float16; sums are in float32."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        most = pellucid.finfo(pellucid.float16).max
        self._weight = weight.detach().clamp(-most, most).half().float()
        self._bias = bias

    def unpack(self) -> tuple[Tensor, Tensor | None]:
        """(weight, bias)"""
        return self._weight, self._bias

    def __reduce__(self) -> Any:
        return type(self), self.unpack()

    def __deepcopy__(self, memo: Any) -> LinearPackedParamsFloat16:
        return self

    def product(self, x: Tensor) -> Tensor:
        """``x @ weight.T + bias``"""
        made = pellucid.matmul(x, self._weight.t())
        return made if self._bias is None else made + self._bias.detach()


class ConvPackedParams(Packed):
    """The weight of a convolution or transposed convolution, and its geometry."""

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None,
        stride: Any,
        padding: Any,
        output_padding: Any,
        dilation: Any,
        groups: int,
        transpose: bool,
    ) -> None:
        if transpose:
            self._check_transposed(weight, bias, groups)
        super().__init__(weight, None if transpose else bias)
        self._bias = bias
        self._stride, self._padding = list(stride), list(padding)
        self._output_padding, self._dilation = list(output_padding), list(dilation)
        self._groups, self._transpose = groups, transpose

    def _check_transposed(
        self, weight: Tensor, bias: Tensor | None, groups: int
    ) -> None:
        if split(weight).axis is not None:
            raise RuntimeError(
                "a transposed convolution needs a weight of one scale; this one has a "
                "scale per channel"
            )
        outputs = weight.shape[1] * groups
        if bias is not None and list(bias.shape) != [outputs]:
            raise RuntimeError(
                f"bias should be a vector of {outputs} elements, one for each output "
                f"channel; it is {list(bias.shape)}"
            )

    def _arguments(self) -> tuple[Any, ...]:
        return (*super()._arguments(), *self._geometry())

    def _geometry(self) -> tuple[Any, ...]:
        return (
            *(self._stride, self._padding, self._output_padding, self._dilation),
            *(self._groups, self._transpose),
        )

    def stride(self) -> list[int]:
        """The stride."""
        return self._stride

    def padding(self) -> list[int]:
        """The padding on both sides of each dim."""
        return self._padding

    def output_padding(self) -> list[int]:
        """The output padding of a transposed convolution."""
        return self._output_padding

    def dilation(self) -> list[int]:
        """The dilation."""
        return self._dilation

    def groups(self) -> int:
        """The number of groups."""
        return self._groups

    def transpose(self) -> bool:
        """Whether the convolution is transposed."""
        return self._transpose

    def product(self, x: Tensor) -> Tensor:
        """The convolution of integers."""
        dims = self.integers.dim() - 2
        if x.dim() != dims + 2:
            raise RuntimeError(
                f"a quantized convolution of {dims} dims needs an input of {dims + 2} "
                f"dims; this one is {list(x.shape)}"
            )
        geometry = self._stride, self._padding
        made: Tensor
        if self._transpose:
            function = getattr(pellucid, f"conv_transpose{dims}d")
            made = function(
                *(x, self.integers, None, *geometry, self._output_padding),
                *(self._groups, self._dilation),
            )
        else:
            function = getattr(pellucid, f"conv{dims}d")
            given = (*geometry, self._dilation, self._groups)
            made = function(x, self.integers, None, *given)
        return made


class EmbeddingPackedParams:
    """Rows of eight-bit integers with a float scale and zero point for each."""

    def __init__(self, weight: Tensor) -> None:
        parts = split(weight)
        if parts.dtype is not pellucid.quint8 or parts.axis != 0:
            raise RuntimeError(
                "the weight of an embedding is torch.quint8 with a scale for each row "
                f"(per_channel_affine_float_qparams); this one is {parts.dtype}, "
                f"{parts.scheme}"
            )
        self._weight, self.parts = weight, parts

    def unpack(self) -> Tensor:
        """The quantized weight."""
        return self._weight

    def __reduce__(self) -> Any:
        return type(self), (self._weight,)

    def __deepcopy__(self, memo: Any) -> EmbeddingPackedParams:
        return self

    def rows(self, indices: Tensor) -> Tensor:
        """The numbers of rows, float32."""
        parts = self.parts
        integers = parts.integers[indices].float()
        scales = parts.scales[indices].float().unsqueeze(-1)
        offsets = parts.zero_points[indices].float().unsqueeze(-1)
        made: Tensor = (integers - offsets) * scales
        return made
