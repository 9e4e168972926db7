"""Rules of ops that move elements: they do the same with the integers.

Views of a quantized tensor share its integers. Ops along the dims of a tensor with a
scale per channel move the axis with them, or are refused where the scales would mix.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.ao._quantized.parts import Parts, is_quantized, split

# Of these every element keeps its number, whatever dim it is moved along.
_ANY = (
    *("view", "reshape", "_unsafe_view", "expand", "as_strided", "slice", "select"),
    *("index", "index_select", "squeeze", "unsqueeze", "unfold", "flip", "repeat"),
    *("take", "gather", "permute", "transpose", "t", "narrow"),
    *("_reshape_alias", "alias", "detach", "diagonal", "flatten", "roll"),
    *("channel_shuffle", "pixel_shuffle", "pixel_unshuffle", "numpy_T", "movedim"),
    *("squeeze_copy", "unsqueeze_copy", "view_as", "expand_as", "reshape_as"),
)
_LISTS = ("split", "split_with_sizes", "chunk", "unbind", "tensor_split")
_CHANNEL_SAFE = frozenset(
    {"detach", "alias", "as_strided", "permute", "transpose", "t"}
)


def _moving(name: str) -> Any:
    def run(op: Any, tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not is_quantized(tensor):
            return NotImplemented
        parts = split(tensor)
        moved = op(parts.integers, *args, **kwargs)
        if parts.axis is not None:
            parts = parts._replace(axis=_axis_after(name, parts, args))
        if name in _LISTS:
            return [parts.with_integers(each) for each in moved]
        return parts.with_integers(moved)

    return run


def _axis_after(name: str, parts: Parts, args: tuple[Any, ...]) -> int:
    """Where ``axis`` is after the op; refused where channels would mix."""
    rank, axis = parts.integers.dim(), parts.axis
    assert axis is not None
    if name == "permute":
        dims = args[0] if isinstance(args[0], list | tuple) else args
        return [int(dim) % rank for dim in dims].index(axis)
    if name in ("transpose", "t"):
        first, second = (int(d) % rank for d in (args or (0, 1 if rank > 1 else 0)))
        return {first: second, second: first}.get(axis, axis)
    if name in _CHANNEL_SAFE:
        return axis
    if name in ("slice", "select", "narrow"):
        dim = (args[0] if args else 0) % rank
        if dim != axis:
            return axis - int(name == "select" and dim < axis)
    if name == "unsqueeze":
        return axis + int(args[0] % (rank + 1) <= axis)
    if name in ("view", "reshape", "_unsafe_view", "expand"):
        shape = args[0] if isinstance(args[0], list | tuple) else args
        if tuple(shape[: axis + 1]) == tuple(parts.integers.shape[: axis + 1]):
            return axis
    if name in _LISTS and _dim_of_lists(name, args) % rank != axis:
        return axis - (name == "unbind" and _dim_of_lists(name, args) % rank < axis)
    raise RuntimeError(
        f"{name} of a tensor with a scale per channel is not offered: setting "
        "strides is possible only on uniformly quantized tensor; use dequantize()"
    )


def _dim_of_lists(name: str, args: tuple[Any, ...]) -> int:
    place = 0 if name == "unbind" else 1
    return args[place] if len(args) > place and isinstance(args[place], int) else 0


def clone(op: Any, tensor: Tensor, **kwargs: Any) -> Any:
    """A copy of the integers; the scales are shared, for nothing writes them."""
    parts = split(tensor)
    return parts.with_integers(op(parts.integers, **kwargs))


def contiguous(op: Any, tensor: Tensor, **kwargs: Any) -> Any:
    """The tensor itself where it is contiguous."""
    parts = split(tensor)
    made = op(parts.integers, **kwargs)
    return tensor if made is parts.integers else parts.with_integers(made)


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


def empty_like(op: Any, tensor: Tensor, *, dtype: Any = None, **kwargs: Any) -> Any:
    """Of another dtype: not quantized; else with the same scales."""
    parts = split(tensor)
    if dtype is not None and dtype is not tensor.dtype:
        return op(parts.integers, dtype=dtype, **kwargs)
    return parts.with_integers(op(parts.integers, **kwargs))


def cat(op: Any, tensors: Any, dim: int = 0) -> Any:
    """Joined in the scale of the first; the others are quantized again."""
    if not all(map(is_quantized, tensors)):
        raise RuntimeError("cat: tensors must all be quantized, or none of them")
    parts = [split(each) for each in tensors]
    first = parts[0]
    if any(each.axis is not None for each in parts):
        raise RuntimeError("cat: every tensor must have one scale")
    if any(each.dtype is not first.dtype for each in parts):
        raise RuntimeError("cat: all tensors must have the same quantized dtype")
    same = all(
        (each.scale, each.zero_point) == (first.scale, first.zero_point)
        for each in parts
    )
    if same:
        return first.with_integers(op([each.integers for each in parts], dim))
    return first.like(op([each.floats() for each in parts], dim))


def stack(op: Any, tensors: Any, dim: int = 0) -> Any:
    """``cat`` of tensors with another dim."""
    rank = tensors[0].dim() + 1
    return pellucid.cat([each.unsqueeze(dim) for each in tensors], dim % rank)


RULES = {
    **{name: _moving(name) for name in (*_ANY, *_LISTS)},
    "clone": clone,
    "contiguous": contiguous,
    "to": to,
    "_to_copy": to,
    "empty_like": empty_like,
    "cat": cat,
    "concat": cat,
    "stack": stack,
}
