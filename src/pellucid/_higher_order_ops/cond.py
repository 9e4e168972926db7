"""``cond``: one of two functions, chosen by a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid import SymBool, Tensor
from pellucid._higher_order_ops.recording import current_trace, is_fake
from pellucid._ops.higher_order import HigherOrderOperator
from pellucid._package.calls import offered
from pellucid.utils import _pytree as pytree

__all__ = ["cond", "cond_op"]


class _CondOp(HigherOrderOperator):
    """Runs one of two functions on flat operands; in a trace, notes both."""

    def __call__(
        self,
        pred: Any,
        true_fn: Callable[..., Any],
        false_fn: Callable[..., Any],
        operands: Any,
    ) -> Any:
        mode = current_trace()
        if mode is None or not isinstance(pred, Tensor):
            return (true_fn if pred else false_fn)(*operands)
        branches, lifted = mode.trace_functions(
            (true_fn, false_fn), (operands, operands)
        )
        _require_alike(*branches)

        def results() -> Any:
            if is_fake(pred):
                return branches[0].results
            return pytree.tree_leaves((true_fn if pred else false_fn)(*operands))

        found = mode.record_call(
            self,
            {"true_graph": branches[0].module, "false_graph": branches[1].module},
            (pred, (*operands, *lifted)),
            results,
            graphs_at=1,
        )
        return pytree.tree_unflatten(found, branches[0].spec)


cond_op = _CondOp("cond")


@offered.function
def cond(
    pred: bool | Tensor,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: Any = (),
) -> Any:
    """What ``true_fn(*operands)`` gives if ``pred``, a bool or a tensor of one, holds;
    else what ``false_fn(*operands)`` gives. The other function is not called.

    In ``make_fx`` and ``torch.export`` both functions become graphs, if ``pred`` is a
    tensor: they take the same tensors and give tensors of the same sizes and dtypes.
    Raises RuntimeError for a ``pred`` of several values, for functions that cannot be
    called and for operands other than tensors.

    Example::

        torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
    """
    _check(pred, true_fn, false_fn, operands)
    leaves, spec = pytree.tree_flatten(tuple(operands))

    def flat(function: Callable[..., Any]) -> Callable[..., Any]:
        # An op that is recorded hands over what the functions read besides, too.
        return lambda *given: function(
            *pytree.tree_unflatten(list(given[: len(leaves)]), spec)
        )

    return cond_op(pred, flat(true_fn), flat(false_fn), tuple(leaves))


def _check(pred: Any, true_fn: Any, false_fn: Any, operands: Any) -> None:
    is_single = isinstance(pred, bool | SymBool | int) or (
        isinstance(pred, Tensor) and pred.numel() == 1
    )
    if not is_single:
        given = (
            f"a tensor of shape {tuple(pred.shape)}"
            if isinstance(pred, Tensor)
            else repr(pred)
        )
        raise RuntimeError(f"cond: pred is one truth value; {given} was given")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("cond: true_fn and false_fn are functions, both are given")
    leaves = pytree.tree_leaves(operands)
    is_nest = isinstance(operands, tuple | list)
    if not is_nest or any(not isinstance(x, Tensor | int) for x in leaves):
        raise RuntimeError(
            f"cond: operands are a tuple of tensors, or of nests of tensors, not "
            f"{operands!r}"
        )


def _require_alike(first: Any, second: Any) -> None:
    """RuntimeError if the branches give different nests, sizes or dtypes."""
    kinds = [[_kind(x) for x in branch.results] for branch in (first, second)]
    if first.spec != second.spec or kinds[0] != kinds[1]:
        raise RuntimeError(
            "cond: both functions give results of the same nest, sizes and dtypes; "
            f"true_fn gives {kinds[0]}, false_fn {kinds[1]}"
        )


def _kind(value: Any) -> str:
    if not isinstance(value, Tensor):
        return repr(value)
    return f"{value.dtype}{list(value.shape)}"
