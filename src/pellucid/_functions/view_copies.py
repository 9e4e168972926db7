"""Views and parts of tensors as tensors with memory of their own.

Functions of the package, imported when first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pellucid
from pellucid import Tensor


def _copy_of(name: str) -> Callable[..., Tensor]:
    """The function whose result is a copy of what the view ``name`` shows."""

    def copy(
        input: Tensor, *args: Any, out: Tensor | None = None, **options: Any
    ) -> Tensor:
        seen: Tensor = getattr(pellucid.ops.aten, name)(input, *args, **options)
        if out is not None:
            return out.copy_(seen)
        return seen.clone(memory_format=pellucid.contiguous_format)

    copy.__name__ = copy.__qualname__ = f"{name}_copy"
    copy.__doc__ = f"What ``{name}`` shows, in memory of its own."
    return copy


alias_copy = _copy_of("alias")
diagonal_copy = _copy_of("diagonal")
expand_copy = _copy_of("expand")
narrow_copy = _copy_of("narrow")
permute_copy = _copy_of("permute")
select_copy = _copy_of("select")
slice_copy = _copy_of("slice")
squeeze_copy = _copy_of("squeeze")
t_copy = _copy_of("t")
transpose_copy = _copy_of("transpose")
unfold_copy = _copy_of("unfold")
unsqueeze_copy = _copy_of("unsqueeze")
view_copy = _copy_of("view")


def _copies(parts: Any, out: Any) -> Any:
    """Each view in memory of its own, or in the tensors of ``out``."""
    if out is None:
        return tuple(part.clone() for part in parts)
    for target, part in zip(out, parts, strict=True):
        target.copy_(part)
    return None


def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of ``input``, without its history."""
    found = input.detach()
    return found.clone() if out is None else out.copy_(found)


def split_copy(input: Tensor, split_size: int, dim: int = 0, *, out: Any = None) -> Any:
    """``split`` with memory of their own for the parts."""
    return _copies(input.split(split_size, dim), out)


def split_with_sizes_copy(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0, *, out: Any = None
) -> Any:
    """``split`` into parts of the given sizes, with memory of their own."""
    return _copies(input.split(list(split_sizes), dim), out)


def unbind_copy(input: Tensor, dim: int = 0, *, out: Any = None) -> Any:
    """``unbind`` with memory of their own for the slices."""
    return _copies(input.unbind(dim), out)


def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> Any:
    """``split`` whose parts may be changed in place, being copies."""
    return _copies(input.split(split_size, dim), None)


def unsafe_split_with_sizes(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0
) -> Any:
    """``split`` into given sizes whose parts may be changed in place."""
    return _copies(input.split(list(split_sizes), dim), None)


def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    """``chunk`` whose parts may be changed in place, being copies."""
    return _copies(input.chunk(chunks, dim), None)


def as_strided_copy(
    input: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``as_strided`` with memory of its own."""
    found = input.as_strided(size, stride, storage_offset)
    return found.clone() if out is None else out.copy_(found)


def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``input`` with ``src`` where ``as_strided`` reads."""
    result = input.clone(memory_format=pellucid.contiguous_format)
    result.as_strided(size, stride, storage_offset).copy_(src)
    return result if out is None else out.copy_(result)


def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """The sum over the dims along which ``size`` broadcasts to the input's shape."""
    given = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    shape = [int(n) for n in given]
    added = input.dim() - len(shape)
    fits = added >= 0 and all(
        n in (1, have) for n, have in zip(shape, input.shape[added:], strict=False)
    )
    if not fits:
        raise RuntimeError(
            f"sum_to_size: a tensor of shape {tuple(input.shape)} cannot be summed to "
            f"{tuple(shape)}: give its sizes, counted from the last, or 1"
        )
    summed = [
        d
        for d in range(input.dim())
        if d < added or (shape[d - added] == 1 and input.shape[d] != 1)
    ]
    return input.sum(summed, keepdim=True).view(shape) if summed else input.view(shape)


def nonzero_static(
    input: Tensor, *, size: int, fill_value: int = -1, out: Tensor | None = None
) -> Tensor:
    """``nonzero`` cut or filled up to ``size`` rows."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: size {size} is negative")
    mask = input.reshape(-1) != 0
    rows = mask.cumsum(0) - 1
    rows = pellucid.where(mask & (rows < size), rows, size)  # what is left out: behind
    shape = (size + 1, input.dim())
    result = pellucid.full(shape, fill_value, dtype=pellucid.int64)
    if input.dim():
        every = pellucid.arange(input.numel())
        places = pellucid.stack(pellucid.unravel_index(every, input.shape), 1)
        result = result.index_copy(0, rows, places)
    result = result[:size]
    return result if out is None else out.copy_(result)
