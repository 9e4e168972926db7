"""``scan``: a function that carries values along a dim, and gives one result a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._higher_order_ops.recording import current_trace, first_slices, is_fake
from pellucid._ops.higher_order import HigherOrderOperator
from pellucid.utils import _pytree as pytree

__all__ = ["scan", "scan_op"]


class _ScanOp(HigherOrderOperator):
    """The scan of flat ``xs`` along their first dim; in a trace, notes the function."""

    def __call__(
        self, combine_fn: Callable[..., Any], init: Any, xs: Any, additional_inputs: Any
    ) -> list[Any]:
        mode = current_trace()
        if mode is None:
            return _run(combine_fn, init, xs, additional_inputs)
        first = first_slices(mode, xs)
        (step,), lifted = mode.trace_functions(
            (combine_fn,), ((*init, *first, *additional_inputs),)
        )
        length = xs[0].shape[0]

        def results() -> Any:
            if is_fake(*init, *xs):
                carried, given = step.results[: len(init)], step.results[len(init) :]
                return [*carried, *(x.expand(length, *x.shape).clone() for x in given)]
            return _run(combine_fn, init, xs, additional_inputs)

        found: list[Any] = mode.record_call(
            self,
            {"scan_combine_graph": step.module},
            (list(init), list(xs), (*additional_inputs, *lifted)),
            results,
        )
        return found


scan_op = _ScanOp("scan")


def scan(
    combine_fn: Callable[..., Any],
    init: Any,
    xs: Any,
    *,
    dim: int = 0,
    reverse: bool = False,
) -> Any:
    """``carry, y = combine_fn(carry, x)`` for every ``x`` along ``dim`` of ``xs``,
    beginning with ``init``: the last carry, and the ys stacked along the first dim.

    ``reverse`` begins at the end; the ys keep the places of their xs. Tensors may be
    nests of tensors. In ``make_fx`` and ``torch.export``, ``combine_fn`` becomes a
    graph. Raises RuntimeError for a carry of another form than ``init`` and for xs
    without elements.

    Example::

        scan(lambda c, x: (c + x, c + x), torch.zeros(2), xs)  # sums so far
    """
    if not callable(combine_fn):
        raise RuntimeError(f"scan: combine_fn is a function, not {combine_fn!r}")
    carried, carried_spec = pytree.tree_flatten(init)
    leaves, spec = pytree.tree_flatten(xs)
    _check(carried, leaves, dim)
    moved = [x.movedim(dim, 0) if dim else x for x in leaves]
    if reverse:
        moved = [x.flip(0) for x in moved]
    out: list[pytree.TreeSpec] = []
    count = len(carried)

    def flat(*given: Any) -> list[Any]:
        carry = pytree.tree_unflatten(list(given[:count]), carried_spec)
        x = pytree.tree_unflatten(list(given[count : count + len(leaves)]), spec)
        new, y = combine_fn(carry, x)
        flat_new, new_spec = pytree.tree_flatten(new)
        flat_y, y_spec = pytree.tree_flatten(y)
        _require_alike(carried, flat_new, carried_spec == new_spec)
        out.append(y_spec)
        return [*flat_new, *flat_y]

    found = scan_op(flat, carried, moved, ())
    ys = [y.flip(0) for y in found[count:]] if reverse else found[count:]
    last = pytree.tree_unflatten(found[:count], carried_spec)
    return last, pytree.tree_unflatten(ys, out[-1])


def _check(carried: list[Any], leaves: list[Any], dim: int) -> None:
    for name, values in (("init", carried), ("xs", leaves)):
        if not values or any(not isinstance(x, Tensor) for x in values):
            raise RuntimeError(f"scan: {name} has tensors or nests of tensors")
    sizes = {x.shape[dim] for x in leaves}
    if len(sizes) > 1 or 0 in sizes:
        raise RuntimeError(
            f"scan: the tensors of xs have one size along dim {dim}, which is not 0; "
            f"theirs are {[tuple(x.shape) for x in leaves]}"
        )


def _require_alike(before: list[Any], after: list[Any], same_nest: bool) -> None:
    kinds = [[(x.dtype, tuple(x.shape)) for x in values] for values in (before, after)]
    if not same_nest or kinds[0] != kinds[1]:
        raise RuntimeError(
            "scan: combine_fn gives a carry of the nest, sizes and dtypes of init; it "
            f"gave {kinds[1]} for {kinds[0]}"
        )


def _run(
    combine_fn: Callable[..., Any], init: Any, xs: Any, additional: Any
) -> list[Any]:
    carry, rows = list(init), []
    for slices in zip(*(x.unbind() for x in xs), strict=True):
        found = combine_fn(*carry, *slices, *additional)
        carry = list(found[: len(carry)])
        rows.append(found[len(carry) :])
    return [*carry, *(pellucid.stack(c) for c in zip(*rows, strict=True))]
