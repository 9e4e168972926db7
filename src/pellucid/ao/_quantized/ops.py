"""``torch.ops.quantized``: ops of quantized tensors and of packed weights.

Products are in ``products.py``; all others are the op on the numbers, rounded once to
the given scale. ``torch.ops`` looks ops up by ``by_name``.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.ao._quantized.packed import (
    ConvPackedParams,
    EmbeddingPackedParams,
    LinearPackedParams,
    LinearPackedParamsFloat16,
)
from pellucid.ao._quantized.parts import INTEGERS, per_tensor, quantized, split
from pellucid.ao._quantized.products import dynamic, requantized, static, sums
from pellucid.ao._quantized.registry import op
from pellucid.ao._quantized.row_tables import bags

# Linear


@op("linear_prepack")
def linear_prepack(W: Tensor, B: Tensor | None = None) -> LinearPackedParams:
    """The weight ``[outputs, inputs]`` and the bias as one object."""
    return LinearPackedParams(W, B)


@op(
    *(
        "linear_unpack",
        "linear_unpack_fp16",
        "conv_unpack",
        "conv1d_unpack",
        "conv2d_unpack",
    )
)
@op(*("conv3d_unpack", "embedding_bag_unpack", "conv_transpose1d_unpack"))
@op("conv_transpose2d_unpack", "conv_transpose3d_unpack")
def unpack(packed: Any) -> Any:
    """(weight, bias)"""
    return packed.unpack()


@op("linear")
def linear(X: Tensor, W_prepack: Any, Y_scale_i: float, Y_zero_point_i: int) -> Tensor:
    """``X @ W.T + b``, quantized."""
    return static(X, W_prepack, -1, Y_scale_i, Y_zero_point_i, False)


@op("linear_relu")
def linear_relu(
    X: Tensor, W_prepack: Any, Y_scale_i: float, Y_zero_point_i: int
) -> Tensor:
    """``relu(X @ W.T + b)``, quantized."""
    return static(X, W_prepack, -1, Y_scale_i, Y_zero_point_i, True)


def _linear_floats(X: Tensor, packed: Any) -> tuple[Tensor, Any]:
    made, unit, parts = sums(X, packed, -1)
    return made * unit, parts.dtype


@op("linear_leaky_relu")
def linear_leaky_relu(
    X: Tensor, W_prepack: Any, scale: float, zero_point: int, negative_slope: float
) -> Tensor:
    """``leaky_relu(X @ W.T + b)``, quantized."""
    floats, dtype = _linear_floats(X, W_prepack)
    made = pellucid.where(floats > 0, floats, floats * negative_slope)
    return quantized(made, scale, zero_point, dtype)


@op("linear_tanh")
def linear_tanh(X: Tensor, W_prepack: Any, scale: float, zero_point: int) -> Tensor:
    """``tanh(X @ W.T + b)``, quantized."""
    floats, dtype = _linear_floats(X, W_prepack)
    return quantized(floats.tanh(), scale, zero_point, dtype)


@op("linear_dynamic", with_relu=["linear_relu_dynamic"])
def linear_dynamic(X: Tensor, W_prepack: Any, reduce_range: bool = False) -> Tensor:
    """``X @ W.T + b`` for floats, which are quantized dynamically."""
    return dynamic(X, W_prepack, -1, reduce_range)


@op("linear_prepack_fp16")
def linear_prepack_fp16(
    W: Tensor, B: Tensor | None = None
) -> LinearPackedParamsFloat16:
    """The weight, rounded to float16, and the bias as one object."""
    return LinearPackedParamsFloat16(W, B)


@op("linear_dynamic_fp16", with_relu=["linear_relu_dynamic_fp16"])
def linear_dynamic_fp16(X: Tensor, W_prepack: Any) -> Tensor:
    """``X @ W.T + b`` of floats and a weight rounded to float16."""
    made: Tensor = W_prepack.product(X.detach())
    return made


# Convolutions


def _define_convolutions(dims: int) -> None:
    def prepack(
        weight: Tensor,
        bias: Tensor | None,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
    ) -> ConvPackedParams:
        """The weight, the bias and the geometry as one object."""
        none = [0] * dims
        return ConvPackedParams(
            weight, bias, stride, padding, none, dilation, groups, False
        )

    def prepack_transposed(
        weight: Tensor,
        bias: Tensor | None,
        stride: Any,
        padding: Any,
        output_padding: Any,
        dilation: Any,
        groups: int,
    ) -> ConvPackedParams:
        """The weight, the bias and the geometry as one object."""
        return ConvPackedParams(
            *(weight, bias, stride, padding, output_padding, dilation, groups, True)
        )

    def convolution(
        qx: Tensor, packed_weight: Any, output_scale: float, output_zero_point: int
    ) -> Tensor:
        """The convolution, quantized."""
        return static(qx, packed_weight, 1, output_scale, output_zero_point, False)

    def with_relu(
        qx: Tensor, packed_weight: Any, output_scale: float, output_zero_point: int
    ) -> Tensor:
        """``relu`` of the convolution, quantized."""
        return static(qx, packed_weight, 1, output_scale, output_zero_point, True)

    def of_floats(qx: Tensor, packed_weight: Any, reduce_range: bool = False) -> Tensor:
        """The convolution for floats, which are quantized dynamically."""
        return dynamic(qx, packed_weight, 1, reduce_range)

    op(f"conv{dims}d_prepack", *(["conv_prepack"] if dims == 2 else []))(prepack)
    op(f"conv{dims}d", f"conv_transpose{dims}d")(convolution)
    op(f"conv{dims}d_relu")(with_relu)
    op(f"conv{dims}d_dynamic", f"conv_transpose{dims}d_dynamic")(of_floats)
    op(f"conv_transpose{dims}d_prepack")(prepack_transposed)
    for name in ("stride", "padding", "output_padding", "dilation", "groups"):
        op(f"conv{dims}d_{name}", f"conv_transpose{dims}d_{name}")(_fact(name))
    op(f"conv{dims}d_transpose", f"conv_transpose{dims}d_transpose")(_fact("transpose"))


def _fact(name: str) -> Any:
    def get(packed_weights: Any) -> Any:
        """Returns the packed weight's geometry."""
        return getattr(packed_weights, name)()

    return get


for _dims in (1, 2, 3):
    _define_convolutions(_dims)


def _with_added(
    qx: Tensor, qaccum: Tensor, packed: Any, scale: float, zero_point: int, relu: bool
) -> Tensor:
    made, unit, parts = sums(qx, packed, 1)
    places = (made * unit + split(qaccum).floats()) * (
        1 / pellucid.tensor(float(scale))
    )
    return requantized(places, parts.dtype, scale, zero_point, relu)


@op("conv2d_add")
def conv2d_add(
    qx: Tensor, qaccum: Tensor, packed_weight: Any, scale: float, zero_point: int
) -> Tensor:
    """The convolution plus ``qaccum``, quantized."""
    return _with_added(qx, qaccum, packed_weight, scale, zero_point, False)


@op("conv2d_add_relu")
def conv2d_add_relu(
    qx: Tensor, qaccum: Tensor, packed_weight: Any, scale: float, zero_point: int
) -> Tensor:
    """``relu`` of the convolution plus ``qaccum``, quantized."""
    return _with_added(qx, qaccum, packed_weight, scale, zero_point, True)


# Two tensors, or a tensor and a number


def _two(function: Any, of_number: Any, relu: bool) -> Any:
    def call(
        qa: Any, qb: Any, scale: float | None = None, zero_point: int | None = None
    ) -> Tensor:
        """For two quantized tensors with a given scale, or a tensor and a number."""
        if scale is None or zero_point is None:
            tensor, number = (qa, qb) if isinstance(qa, Tensor) else (qb, qa)
            made: Tensor = of_number(split(tensor), float(number))
            return made.relu() if relu else made
        floats = function(split(qa).floats(), split(qb).floats())
        dtype = qa.dtype
        return quantized(floats.relu() if relu else floats, scale, zero_point, dtype)

    return call


def _add_number(parts: Any, number: float) -> Tensor:
    """Moves the zero point; if it would leave the integers' range, the scale grows."""
    _, least, most = INTEGERS[parts.dtype]
    scale, point = parts.scale, parts.zero_point
    moved = point - round(number / scale)
    if least <= moved <= most:
        return per_tensor(parts.integers.clone(), scale, moved, parts.dtype)
    end = least if moved < least else most
    wider = scale * (1 + abs(moved - end) / (most - least))
    places = (parts.integers.int() - moved).float() * (scale / wider)
    return requantized(places, parts.dtype, wider, end, False)


def _multiply_number(parts: Any, number: float) -> Tensor:
    """Multiplies the scale; mirrors the integers if the number is negative."""
    integers, least, most = INTEGERS[parts.dtype]
    if number == 0:
        return per_tensor(pellucid.zeros_like(parts.integers), 1.0, 0, parts.dtype)
    if number > 0:
        scale = parts.scale * number
        return per_tensor(parts.integers.clone(), scale, parts.zero_point, parts.dtype)
    mirrored = (most + least - parts.integers.int()).to(integers)
    point = most + least - parts.zero_point
    return per_tensor(mirrored, parts.scale * -number, point, parts.dtype)


for _name, _function, _of_number in (
    ("add", pellucid.add, _add_number),
    ("mul", pellucid.mul, _multiply_number),
):
    op(_name, f"{_name}_scalar")(_two(_function, _of_number, False))
    op(f"{_name}_relu", f"{_name}_scalar_relu")(_two(_function, _of_number, True))


@op("matmul")
def matmul(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    """``qa @ qb``, quantized."""
    a, b = split(qa), split(qb)
    centred = [each.integers.double() - each.zero_point for each in (a, b)]
    unit = a.scale * b.scale / scale
    places = pellucid.matmul(*centred) * unit
    return requantized(places, a.dtype, scale, zero_point, False)


@op("cat", with_relu=["cat_relu"])
def cat(
    qx: Any, dim: int, scale: float | None = None, zero_point: int | None = None
) -> Tensor:
    """The tensors concatenated, with the given scale or that of the first."""
    first = split(qx[0])
    scale = first.scale if scale is None else scale
    zero_point = first.zero_point if zero_point is None else zero_point
    floats = pellucid.cat([split(each).floats() for each in qx], dim)
    return quantized(floats, scale, zero_point, first.dtype)


# Embeddings


@op("embedding_bag_prepack")
def embedding_bag_prepack(weight: Tensor) -> EmbeddingPackedParams:
    """The quantized rows as one object."""
    return EmbeddingPackedParams(weight)


@op("embedding_byte")
def embedding_byte(
    weight: Any, indices: Tensor, pruned_weights: bool = False
) -> Tensor:
    """The rows, float."""
    made: Tensor = weight.rows(indices)
    return made


@op("embedding_bag_byte")
def embedding_bag_byte(
    weight: Any,
    indices: Tensor,
    offsets: Tensor | None = None,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    pruned_weights: bool = False,
    per_sample_weights: Tensor | None = None,
    compressed_indices_mapping: Tensor | None = None,
    include_last_offset: bool = False,
) -> Tensor:
    """Sums of rows per bag, float, weighted by ``per_sample_weights``."""
    return bags(weight.rows, indices, offsets, per_sample_weights, include_last_offset)
