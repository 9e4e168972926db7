"""Scans with any associative function, in a logarithmic number of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["associative_scan"]


def associative_scan(
    combine_fn: Callable[..., Any],
    xs: Any,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
    additional_inputs: tuple[Any, ...] = (),
) -> Any:
    """``x[0], f(x[0], x[1]), f(f(x[0], x[1]), x[2]), ...`` along ``dim``, or from its
    end with ``reverse``.

    ``combine_fn(a, b)`` takes slices of tensors, or of nests of them, and must be
    associative. Raises ValueError for another mode than "pointwise" and "generic" and
    for tensors whose sizes along ``dim`` differ.

    Example::

        associative_scan(torch.add, x, 0)  # as x.cumsum(0)
    """
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(
            f"there is no combine_mode {combine_mode!r}: give 'pointwise' or 'generic'"
        )
    leaves, spec = tree_flatten(xs)
    if len({leaf.size(dim) for leaf in leaves}) != 1:
        raise ValueError(
            "associative_scan takes tensors of one size along the dimension, not "
            f"{[leaf.size(dim) for leaf in leaves]}"
        )

    def combine(first: list[Tensor], second: list[Tensor]) -> list[Tensor]:
        def pair(a: list[Tensor], b: list[Tensor]) -> list[Tensor]:
            given = tree_unflatten(a, spec), tree_unflatten(b, spec)
            return tree_flatten(combine_fn(*given, *additional_inputs))[0]

        found: list[Tensor] = pellucid.vmap(pair)(first, second)
        return found

    moved = [leaf.movedim(dim, 0) for leaf in leaves]
    if reverse:
        moved = [leaf.flip(0) for leaf in moved]
    scanned = _scan(combine, moved)
    if reverse:
        scanned = [leaf.flip(0) for leaf in scanned]
    return tree_unflatten([leaf.movedim(0, dim) for leaf in scanned], spec)


def _scan(combine: Callable[..., list[Tensor]], xs: list[Tensor]) -> list[Tensor]:
    """Neighbours are combined, their scan gives every second result (Blelloch 1990)."""
    length = xs[0].size(0)
    if length < 2:
        return xs
    pairs = combine([x[: length - 1 : 2] for x in xs], [x[1::2] for x in xs])
    odd = _scan(combine, pairs)
    count = (length - 1) // 2  # even places behind the first
    if count == 0:
        return [pellucid.cat([x[:1], o]) for x, o in zip(xs, odd, strict=True)]
    even = combine([o[:count] for o in odd], [x[2::2] for x in xs])
    found = []
    for x, o, e in zip(xs, odd, even, strict=True):
        result = pellucid.empty_like(x)
        evens = pellucid.cat([x[:1], e])
        places = pellucid.arange(length)
        result = result.index_copy(0, places[::2], evens)
        found.append(result.index_copy(0, places[1::2], o))
    return found
