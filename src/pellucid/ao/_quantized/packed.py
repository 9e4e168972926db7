"""Packed weights: a quantized weight with its bias, prepared for products.

The objects returned by ``torch.ops.quantized.linear_prepack`` and similar ops. They
pickle as the weight, the bias and the geometry. A weight whose zero points are 0 is
stored as int8, and its products are products of int8 matrices: those of a convolution
over the windows of its images. Read ``products.py`` next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pellucid
from pellucid import Tensor
from pellucid.ao._quantized.parts import split

_EXACT_TERMS = 512  # 255 * 128 * 512 < 2**24
_MOST_TERMS = 65_000  # 255 * 128 * 65_000 < 2**31
_WORD = 4  # bytes that an int8 product reads together


class IntegerSums(NamedTuple):
    """``sums + offset * totals``: int32 sums of products, a row ``[outputs]`` for each
    of ``shape``, and the correction for the inputs' zero point.
    """

    sums: Tensor
    totals: Tensor
    offset: int
    shape: tuple[int, ...]
    is_image: bool  # its channels are dim 1

    def shaped(self, rows: Tensor) -> Tensor:
        """The result whose elements are ``rows``."""
        made: Tensor = rows.view(*self.shape, rows.shape[1])
        return made.movedim(-1, 1) if self.is_image else made


class Packed:
    """A qint8 weight, a float bias, and the weight's integers minus their zero points.

    Unless they are int8, these are float32 if every partial sum of a product with
    eight-bit inputs is exact in it, else float64: either represents the integer sum
    exactly.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, channel: int = 0) -> None:
        parts = split(weight)
        if weight.dtype is not pellucid.qint8:
            raise RuntimeError(
                f"a packed weight is a quantized tensor of torch.qint8; this one is "
                f"{weight.dtype}"
            )
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
        self.scales = parts.scales.float().expand(outputs).contiguous()
        self.no_bias = pellucid.zeros(outputs)
        self._terms = weight.numel() // max(outputs, 1)
        self._is_int8 = self._fits_int8() and not parts.zero_points.any().item()
        if self._is_int8:
            self.integers = self._rows_of_int8(parts.integers)
            self._totals = self.integers.sum(1, dtype=pellucid.int32)
            return
        is_exact = self._terms <= _EXACT_TERMS
        self.dtype = pellucid.float32 if is_exact else pellucid.float64
        centred = parts.integers.to(pellucid.int32) - parts.aligned(parts.zero_points)
        self.integers = centred.to(self.dtype)

    def _fits_int8(self) -> bool:
        """Whether products can be products of int8 matrices."""
        raise NotImplementedError

    def _rows_of_int8(self, integers: Tensor) -> Tensor:
        """The weight as a matrix ``[outputs, terms]``."""
        return integers.contiguous()

    def integer_sums(self, places: Tensor, zero_point: int) -> IntegerSums | None:
        """The sums of products of eight-bit numbers minus their zero point as integers;
        None if the weight is stored as floats.
        """
        if not self._is_int8:
            return None
        shift = 0 if places.dtype is pellucid.int8 else 128
        places = places if shift == 0 else (places ^ shift).view(pellucid.int8)
        rows, shape, is_image = self._rows(places, zero_point - shift)
        sums = pellucid._int_mm(rows, self.integers.t())
        return IntegerSums(sums, self._totals, shift - zero_point, shape, is_image)

    def _rows(
        self, places: Tensor, zero_point: int
    ) -> tuple[Tensor, tuple[int, ...], bool]:
        """The inputs as rows of int8, and what ``IntegerSums`` says of their shape."""
        raise NotImplementedError

    def product(self, x: Tensor) -> Tensor:
        """The integer sums of products of the weight's layer."""
        raise NotImplementedError

    def sums(self, places: Tensor, zero_point: int) -> Tensor:
        """``product`` of eight-bit integers minus their zero point, rounded to float32;
        outputs are the last dim, or dim 1 of a convolution."""
        found = self.integer_sums(places, zero_point)
        if found is not None:
            return found.shaped((found.sums + found.totals * found.offset).float())
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
    """The weight ``[outputs, inputs]`` of a linear layer."""

    def _fits_int8(self) -> bool:
        return self._weight.dim() == 2 and self._terms <= _MOST_TERMS

    def _rows(
        self, places: Tensor, zero_point: int
    ) -> tuple[Tensor, tuple[int, ...], bool]:
        self._check_inputs(places)
        inputs = self.integers.shape[1]
        return places.reshape(-1, inputs), tuple(places.shape[:-1]), False

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
        self._stride, self._padding = list(stride), list(padding)
        self._output_padding, self._dilation = list(output_padding), list(dilation)
        self._groups, self._transpose = groups, transpose
        super().__init__(weight, None if transpose else bias)
        self._bias = bias

    def _fits_int8(self) -> bool:
        is_plain = self._groups == 1 and not self._transpose
        return is_plain and self._terms <= _MOST_TERMS

    def _rows_of_int8(self, integers: Tensor) -> Tensor:
        return _in_words(integers).reshape(integers.shape[0], -1)

    def _rows(
        self, places: Tensor, zero_point: int
    ) -> tuple[Tensor, tuple[int, ...], bool]:
        """A row for each window; the zero point stands beside the images."""
        dims = len(self._stride)
        self._check_inputs(places, dims)
        kernel = list(self._weight.shape[2:])
        steps = self._stride, self._padding, self._dilation
        count = [
            (size + 2 * p - d * (k - 1) - 1) // s + 1
            for size, k, s, p, d in zip(places.shape[2:], kernel, *steps, strict=True)
        ]
        images = _in_words(places)
        if max(*kernel, *self._stride) > 1 or any(self._padding):
            words = images.view(pellucid.int32)
            images = _windows(words, kernel, count, *steps, zero_point).view(
                pellucid.int8
            )
        rows = images.reshape(-1, self.integers.shape[1])
        return rows, (places.shape[0], *count), True

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
        self._check_inputs(x, dims)
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

    def _check_inputs(self, x: Tensor, dims: int) -> None:
        if x.dim() != dims + 2:
            raise RuntimeError(
                f"a quantized convolution of {dims} dims needs an input of {dims + 2} "
                f"dims; this one is {list(x.shape)}"
            )
        channels = self._weight.shape[0 if self._transpose else 1]
        if not self._transpose:
            channels *= self._groups
        if x.shape[1] != channels:
            raise RuntimeError(
                f"a quantized convolution of {channels} channels needs an input of as "
                f"many; this one is {list(x.shape)}"
            )


def _in_words(integers: Tensor) -> Tensor:
    """Bytes with the channels, dim 1, last, and zeros up to a whole word of them."""
    missing = -integers.shape[1] % _WORD
    moved = integers.movedim(1, -1)
    made = pellucid.constant_pad_nd(moved, [0, missing]) if missing else moved
    return made.contiguous()


def _windows(
    images: Tensor,
    kernel: Sequence[int],
    count: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    zero_point: int,
) -> Tensor:
    """The windows ``[N, *count, *kernel, W]`` of images ``[N, *sizes, W]`` of words;
    every byte beside an image is the zero point.
    """
    fill = int.from_bytes(_WORD * bytes([zero_point % 256]), "little", signed=True)
    beside = [size for size in reversed(padding) for _ in range(2)]
    whole = pellucid.constant_pad_nd(images, [0, 0, *beside], fill)
    example, *axes, word = whole.stride()
    moves = [axis * step for axis, step in zip(axes, stride, strict=True)]
    within = [axis * step for axis, step in zip(axes, dilation, strict=True)]
    sizes = [images.shape[0], *count, *kernel, images.shape[-1]]
    return whole.as_strided(sizes, [example, *moves, *within, word]).contiguous()


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
