"""Scans with any associative function, in a logarithmic number of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._higher_order_ops.recording import current_trace, first_slices, is_fake
from pellucid._ops.higher_order import HigherOrderOperator
from pellucid.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["associative_scan", "associative_scan_op"]


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

    count = len(leaves)

    def pair(*given: Any) -> list[Tensor]:
        nests = (
            tree_unflatten(list(given[:count]), spec),
            tree_unflatten(list(given[count : 2 * count]), spec),
        )
        return tree_flatten(combine_fn(*nests, *additional_inputs))[0]

    moved = [leaf.movedim(dim, 0) if dim else leaf for leaf in leaves]
    if reverse:
        moved = [leaf.flip(0) for leaf in moved]
    scanned = associative_scan_op(pair, moved, ())
    if reverse:
        scanned = [leaf.flip(0) for leaf in scanned]
    if dim:
        scanned = [leaf.movedim(0, dim) for leaf in scanned]
    return tree_unflatten(scanned, spec)


class _AssociativeScanOp(HigherOrderOperator):
    """The scan of flat ``xs`` along their first dim; in a trace, notes the function."""

    def __call__(
        self, combine_fn: Callable[..., Any], xs: Any, additional_inputs: Any
    ) -> list[Any]:
        mode = current_trace()
        if mode is None:
            return _run(combine_fn, xs, additional_inputs)
        first = first_slices(mode, xs)
        (body,), lifted = mode.trace_functions(
            (combine_fn,), ((*first, *first, *additional_inputs),)
        )

        def results() -> Any:
            if is_fake(*xs):
                return [x.clone() for x in xs]
            return _run(combine_fn, xs, additional_inputs)

        found: list[Any] = mode.record_call(
            self,
            {"associative_scan_combine_graph": body.module},
            (list(xs), (*additional_inputs, *lifted)),
            results,
        )
        return found


associative_scan_op = _AssociativeScanOp("associative_scan")


def _run(combine_fn: Callable[..., Any], xs: Any, additional: Any) -> list[Tensor]:
    def combine(first: list[Tensor], second: list[Tensor]) -> list[Tensor]:
        def pair(a: list[Tensor], b: list[Tensor]) -> list[Tensor]:
            return list(combine_fn(*a, *b, *additional))

        found: list[Tensor] = pellucid.vmap(pair)(first, second)
        return found

    return _scan(combine, list(xs))


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
