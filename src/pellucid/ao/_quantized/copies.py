"""Rules of conversions and copies of quantized tensors, and of writes to them."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid.ao._quantized.parts import (
    Parts,
    is_quantized,
    of_one_scale,
    split,
    write,
)
from pellucid.ao._quantized.rules import RULES


@RULES.because(
    "a quantized tensor has no other dtype to be converted to", overrides=True
)("to", "_to_copy")
def to(op: Any, tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
    """To its own dtype and device: itself; to another dtype: refused."""
    dtypes = [a for a in (*args, *kwargs.values()) if isinstance(a, pellucid.dtype)]
    if any(dtype is not tensor.dtype for dtype in dtypes):
        raise RuntimeError(
            "a quantized tensor is converted to another dtype by dequantize() or "
            "int_repr()"
        )
    if kwargs.get("copy") or op._schema.name == "aten::_to_copy":
        return tensor.clone()
    return tensor


@RULES.because("the memory of the integers is resized")("resize_")
def resize_(op: Any, target: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Of other sizes: the integers that memory holds, in the scale of the tensor."""
    parts = split(target)
    if parts.axis is not None:
        raise RuntimeError(
            "resize_: a tensor with a scale per channel has no scale for other sizes; "
            "use dequantize()"
        )
    integers = op(parts.integers.detach(), *args, **kwargs)
    _C._replace_components(target, parts.with_integers(integers))
    return target


@RULES.because("the memory of the integers is resized")("resize_as_")
def resize_as_(op: Any, target: Tensor, template: Tensor, **kwargs: Any) -> Tensor:
    """Of the sizes of ``template``."""
    return target.resize_(template.shape, **kwargs)


@RULES.because("the scales are shared")("empty_like")
def empty_like(op: Any, tensor: Tensor, *, dtype: Any = None, **kwargs: Any) -> Any:
    """Of another dtype: not quantized; else with the same scales."""
    parts = split(tensor)
    if dtype is not None and dtype is not tensor.dtype:
        return op(parts.integers, dtype=dtype, **kwargs)
    return parts.with_integers(op(parts.integers, **kwargs))


_filled = RULES.because("the number is rounded in the scale of the tensor")


@_filled("full_like")
def full_like(op: Any, tensor: Tensor, fill_value: Any, **kwargs: Any) -> Any:
    """``fill_value`` in the scale of the tensor."""
    made = empty_like(pellucid.ops.aten.empty_like.default, tensor, **kwargs)
    return made.fill_(fill_value)


@_filled("ones_like")
def ones_like(op: Any, tensor: Tensor, **kwargs: Any) -> Any:
    """Ones in the scale of the tensor."""
    return full_like(op, tensor, 1.0, **kwargs)


@RULES.because("floats are quantized; quantized tensors bring their scales")("copy_")
def copy_(
    op: Any, target: Tensor, source: Tensor, non_blocking: bool = False
) -> Tensor:
    """Quantizes floats; a quantized source of the same dtype replaces the scales."""
    if not is_quantized(target):
        raise RuntimeError(
            "copy_ of a quantized tensor into one that is not: use dequantize()"
        )
    parts = split(target)
    if not is_quantized(source):
        if source.dtype is not pellucid.float32:
            raise RuntimeError(
                "Quantized copy only works with kFloat as source Tensor, not "
                f"{source.dtype}"
            )
        made = parts.like(source.expand(target.shape))
        parts.integers.copy_(split(made).integers)
        return target
    given = split(source)
    if given.axis is not None and source.shape != target.shape:
        raise RuntimeError(
            "copy_ of a tensor with a scale per channel needs equal sizes, not "
            f"{list(target.shape)} and {list(source.shape)}"
        )
    return write(target, given)


@RULES.because("floats are quantized, as they are by copy_", overrides=True)("copy")
def copy(op: Any, target: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
    """``copy_`` to a new tensor."""
    return copy_(op, target.clone(), source)


@RULES.because("the number is rounded in the scale of the tensor", overrides=True)(
    "fill"
)
def fill(op: Any, target: Tensor, value: Any) -> Tensor:
    """``fill_`` of a new tensor."""
    return fill_(op, target.clone(), value)


@RULES.because("the number is rounded in the scale of the tensor")("fill_")
def fill_(op: Any, target: Tensor, value: Any) -> Tensor:
    """Fills with the nearest representable number to ``value``."""
    parts = split(target)
    number = float(value)
    made = parts.like(pellucid.full(tuple(target.shape), number))
    parts.integers.copy_(split(made).integers)
    return target


@RULES.because("the number is rounded in the scale of the tensor")("masked_fill")
def masked_fill(op: Any, target: Tensor, mask: Tensor, value: Any) -> Tensor:
    """With the nearest representable number where the mask is true."""
    parts = of_one_scale(op, target)
    return parts.with_integers(parts.integers.masked_fill(mask, _integer(parts, value)))


@RULES.because("floats are rounded in the scale of the tensor")("index_put")
def index_put(
    op: Any, target: Tensor, indices: Any, values: Tensor, accumulate: bool = False
) -> Tensor:
    """With the nearest representable numbers at the indices."""
    parts = of_one_scale(op, target)
    if is_quantized(values):
        raise RuntimeError(
            "Value argument for quantized input_put should not be quantized"
        )
    if accumulate:
        raise RuntimeError(
            "index_put for quantized tensors is currently only supported for "
            "accumulate=False"
        )
    integers = parts.integers.index_put(indices, _integer(parts, values))
    return parts.with_integers(integers)


def _integer(parts: Parts, value: Any) -> Tensor:
    """The nearest integers to numbers."""
    value = split(value).floats() if is_quantized(value) else value
    floats = pellucid.as_tensor(value, dtype=pellucid.float32)
    return split(parts.like(floats)).integers
