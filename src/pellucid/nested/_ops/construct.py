"""The constructors of nested tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._package.calls import offered
from pellucid.nested._ops.parts import (
    Parts,
    is_nested,
    join,
    joined,
    ragged_of,
    ragged_of_counts,
)


def nested_tensor(
    tensor_list: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A nested tensor with copies of the examples: tensors, or lists of numbers.

    ``layout``: ``torch.strided`` (the default) or ``torch.jagged``, whose examples
    differ in one dim. TypeError if it is not a list, RuntimeError if examples
    are incompatible.

    Example::

        torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(5, 3)])
    """
    if not isinstance(tensor_list, list | tuple):
        raise TypeError(
            "Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in "
            f"nested_tensor, not {type(tensor_list).__name__}"
        )
    examples = [
        each.detach() if isinstance(each, Tensor) else pellucid.tensor(each)
        for each in tensor_list
    ]
    made = _of_examples(_converted(examples, layout, dtype, device), layout, pin_memory)
    made = made.detach()
    made.requires_grad = requires_grad
    return made


def as_nested_tensor(
    ts: Any, dtype: Any = None, device: Any = None, layout: Any = None
) -> Tensor:
    """A nested tensor of the examples; gradients pass to them.

    A dense tensor is treated as a batch of examples; a nested tensor of the layout is
    returned unchanged.
    """
    if is_nested(ts) and layout in (None, ts.layout):
        same: Tensor = ts.to(dtype=dtype or ts.dtype)
        return same
    if not isinstance(ts, Tensor | list | tuple) or (
        not isinstance(ts, Tensor) and not all(isinstance(t, Tensor) for t in ts)
    ):
        raise TypeError(
            "as_nested_tensor(): Expected first argument to be a tensor or a list / "
            f"tuple of tensors, not {type(ts).__name__}"
        )
    if isinstance(ts, Tensor) and ts.dim() == 0:
        raise RuntimeError("as_nested_tensor(): a batch needs a dim of examples")
    examples = ts.unbind() if isinstance(ts, Tensor) else ts
    return _of_examples(_converted(examples, layout, dtype, device), layout, False)


def _converted(
    examples: Sequence[Tensor], layout: Any, dtype: Any, device: Any
) -> list[Tensor]:
    if layout is pellucid.jagged and len({each.dtype for each in examples}) > 1:
        raise RuntimeError(
            "the examples of a jagged tensor have one dtype; these have "
            + ", ".join(str(each.dtype) for each in examples)
        )
    dtype = dtype or (examples[0].dtype if examples else None)
    return [each.to(device=device or each.device, dtype=dtype) for each in examples]


def _of_examples(examples: list[Tensor], layout: Any, pin_memory: bool) -> Tensor:
    if pin_memory:
        raise RuntimeError("nested tensors are not pinned: leave pin_memory out")
    if layout not in (None, pellucid.strided, pellucid.jagged):
        raise RuntimeError(
            f"Specified layout is unsupported for nested tensors: {layout}"
        )
    ranks = [each.dim() for each in examples]
    if layout is pellucid.jagged:
        return joined(examples, None, _ragged_axis(examples, ranks))
    for k, rank in enumerate(ranks):
        if rank != ranks[0]:
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. "
                f"Found dimension {rank} for Tensor at index {k} and dimension "
                f"{ranks[0]} for Tensor at index 0."
            )
    return joined(examples, None, -1)


def _ragged_axis(examples: list[Tensor], ranks: list[int]) -> int:
    if not examples:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "When constructing a nested tensor, all tensors in list must have the same "
            f"dim, and these have {ranks}"
        )
    if ranks[0] == 0:
        raise RuntimeError(
            "Cannot construct a nested tensor from a list of zero-dim tensors"
        )
    sizes = zip(*(each.shape for each in examples), strict=True)
    differing = [d for d, of_dim in enumerate(sizes) if len(set(of_dim)) > 1]
    if len(differing) > 1:
        raise RuntimeError(
            "When constructing a nested tensor, all tensors in list must have the same "
            f"size in all dims but one, and these differ in dims {differing}"
        )
    return 1 + (differing[0] if differing else 0)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """A jagged tensor over ``values``, without a copy.

    ``offsets`` (B + 1): the first row of each example, and the end; with ``lengths``
    (B) there may be holes between examples. ``jagged_dim`` is the ragged dim of the
    result, 1 by default. ``min_seqlen`` and ``max_seqlen`` are accepted and ignored:
    lengths are read when needed.
    """
    for name, given in (("values", values), ("offsets", offsets), ("lengths", lengths)):
        if not isinstance(given, Tensor) and (given is not None or name == "values"):
            raise TypeError(
                f"nested_tensor_from_jagged(): {name} must be a Tensor, not "
                f"{type(given).__name__}"
            )
    if offsets is None and lengths is None:
        raise RuntimeError(
            "nested_tensor_from_jagged(): At least one of offsets or lengths is "
            "required."
        )
    if offsets is None:
        assert lengths is not None
        if lengths.dim() != 1:
            raise RuntimeError(
                f"nested_tensor_from_jagged(): lengths of shape "
                f"{tuple(lengths.shape)}; expected one dim"
            )
        structure = ragged_of_counts(lengths.tolist(), values.device)
    else:
        if lengths is not None and lengths.numel() != offsets.numel() - 1:
            raise AssertionError(
                f"nested_tensor_from_jagged(): {lengths.numel()} lengths with "
                f"{offsets.numel()} offsets; give one offset more than lengths"
            )
        structure = ragged_of(offsets, lengths)
    axis = 1 if jagged_dim is None else jagged_dim
    if not 1 <= axis <= values.dim():
        raise RuntimeError(
            f"nested_tensor_from_jagged(): jagged_dim {axis} of values with "
            f"{values.dim()} dims; expected 1 to {values.dim()}"
        )
    _check_borders(structure, values.shape[axis - 1])
    return join(Parts(axis, structure, values))


def _check_borders(structure: Any, total: int) -> None:
    if structure.offsets.dim() != 1 or structure.offsets.is_floating_point():
        raise RuntimeError("nested_tensor_from_jagged(): offsets are one row of ints")
    for start, count in structure.spans:
        if start < 0 or count < 0 or start + count > total:
            raise RuntimeError(
                f"nested_tensor_from_jagged(): an example of {count} rows from row "
                f"{start} on is not within the {total} rows of values"
            )


def narrow(
    tensor: Tensor,
    dim: int,
    start: int | Tensor,
    length: int | Tensor,
    layout: Any = None,
) -> Tensor:
    """The rows ``start`` to ``start + length`` of each example, along dim 1: a view, of
    ``layout=torch.jagged`` alone.
    """
    if layout is not pellucid.jagged:
        raise RuntimeError(
            "narrow(): only jagged layout is supported: layout=torch.jagged"
        )
    if dim != 1:
        raise RuntimeError(f"narrow(): only dim=1 is supported, not {dim}")
    batch, rows = tensor.shape[:2]
    starts = _each_of(start, batch, tensor)
    lengths = _each_of(length, batch, tensor)
    firsts = pellucid.arange(batch, device=tensor.device) * rows + starts
    end = firsts.new_full((1,), batch * rows)
    for first, count in zip(starts.tolist(), lengths.tolist(), strict=True):
        if first < 0 or count < 0 or first + count > rows:
            raise RuntimeError(
                f"narrow(): start {first} and length {count} of {rows} rows"
            )
    structure = ragged_of(pellucid.cat([firsts, end]), lengths)
    return join(Parts(1, structure, tensor.flatten(0, 1)))


def _each_of(value: Any, batch: int, tensor: Tensor) -> Tensor:
    if isinstance(value, Tensor):
        return value.to(device=tensor.device, dtype=pellucid.int64).expand(batch)
    return pellucid.full((batch,), value, dtype=pellucid.int64, device=tensor.device)


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """The elements (rows) of each example where ``mask`` is true, as a jagged tensor.

    ``tensor`` (B, rows...); ``mask`` (B, rows) of bools, broadcast.
    """
    if tensor.layout is not pellucid.strided or is_nested(tensor):
        raise RuntimeError(
            "torch.nested.masked_select requires a strided tensor, given "
            f"{tensor.layout}"
        )
    if mask.dtype != pellucid.bool:
        raise RuntimeError(f"masked_select(): the mask has bools, not {mask.dtype}")
    wide = mask.expand(*tensor.shape[: mask.dim()])
    counts = wide.sum(dim=list(range(1, wide.dim()))) if wide.dim() > 1 else wide
    structure = ragged_of_counts(counts.tolist(), tensor.device)
    return join(Parts(1, structure, tensor[wide]))


@offered.function
def _nested_view_from_jagged(
    values: Tensor,
    offsets: Tensor,
    dummy: Any = None,
    lengths: Tensor | None = None,
    ragged_idx: int = 1,
    min_seqlen: Any = None,
    max_seqlen: Any = None,
) -> Tensor:
    """``nested_tensor_from_jagged``, as libraries and files call it."""
    return nested_tensor_from_jagged(values, offsets, lengths, ragged_idx)


@offered.function
def _nested_tensor_from_tensor_list(
    list: Sequence[Tensor],
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """``as_nested_tensor`` of a list, for libraries."""
    return as_nested_tensor([*list], dtype, device, layout)


@offered.function
def _nested_view_from_buffer(
    buffer: Tensor, sizes: Tensor, strides: Tensor, starts: Tensor
) -> Tensor:
    """A strided nested tensor of examples in ``buffer``, which are copied."""
    places = zip(sizes.tolist(), strides.tolist(), starts.tolist(), strict=True)
    return joined([buffer.as_strided(*place) for place in places], None, -1)
