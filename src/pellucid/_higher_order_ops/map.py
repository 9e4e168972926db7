"""``map``: a function of every element of the first dim, stacked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._higher_order_ops.recording import current_trace, first_slices, is_fake
from pellucid._ops.higher_order import HigherOrderOperator
from pellucid.utils import _pytree as pytree

__all__ = ["map", "map_impl"]


class _MapOp(HigherOrderOperator):
    """``f(*slices, *args)`` for slices of flat ``xs``; in a trace, notes ``f``."""

    def __call__(self, f: Callable[..., Any], xs: Any, pos_args: Any) -> list[Any]:
        mode = current_trace()
        if mode is None:
            return _run(f, xs, pos_args)
        first = first_slices(mode, xs)
        (body,), lifted = mode.trace_functions((f,), ((*first, *pos_args),))
        length = xs[0].shape[0]

        def results() -> Any:
            if is_fake(*xs):
                return [x.expand(length, *x.shape).clone() for x in body.results]
            return _run(f, xs, pos_args)

        found: list[Any] = mode.record_call(
            self,
            {"body_graph": body.module},
            (list(xs), [*pos_args, *lifted]),
            results,
        )
        return found


map_impl = _MapOp("map_impl")


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """``f(x, *args)`` for every ``x`` along the first dim of ``xs``, a tensor or a nest
    of tensors; the results are stacked.

    In ``make_fx`` and ``torch.export``, ``f`` becomes a graph. Raises RuntimeError
    where there are no tensors in ``xs`` or their first sizes differ or are 0.

    Example::

        map(lambda x, y: x + y, xs, y)
    """
    leaves, spec = pytree.tree_flatten(xs)
    _check(leaves)
    out: list[pytree.TreeSpec] = []

    def flat(*given: Any) -> list[Any]:
        x = pytree.tree_unflatten(list(given[: len(leaves)]), spec)
        found, found_spec = pytree.tree_flatten(
            f(x, *given[len(leaves) : len(leaves) + len(args)])
        )
        out.append(found_spec)
        return found

    found = map_impl(flat, leaves, list(args))
    return pytree.tree_unflatten(found, out[-1])


def _check(leaves: list[Any]) -> None:
    if not leaves or any(not isinstance(x, Tensor) for x in leaves):
        raise RuntimeError(f"map: xs are tensors or nests of tensors, not {leaves!r}")
    sizes = {x.shape[0] if x.dim() else 0 for x in leaves}
    if len(sizes) > 1 or 0 in sizes:
        raise RuntimeError(
            "map: the tensors of xs have one first size, which is not 0; theirs are "
            f"{[tuple(x.shape) for x in leaves]}"
        )


def _run(f: Callable[..., Any], xs: Any, pos_args: Any) -> list[Any]:
    rows = [
        f(*slices, *pos_args) for slices in zip(*(x.unbind() for x in xs), strict=True)
    ]
    return [pellucid.stack(column) for column in zip(*rows, strict=True)]
