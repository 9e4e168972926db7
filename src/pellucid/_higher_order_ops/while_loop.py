"""``while_loop``: a function of its own results, as long as a condition holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid import Tensor
from pellucid._higher_order_ops.recording import current_trace, is_fake
from pellucid._ops.higher_order import HigherOrderOperator
from pellucid._package.calls import offered
from pellucid.utils import _pytree as pytree

__all__ = ["while_loop", "while_loop_op"]


class _WhileLoopOp(HigherOrderOperator):
    """The loop over flat values; in a trace, notes both functions."""

    def __call__(
        self,
        cond_fn: Callable[..., Any],
        body_fn: Callable[..., Any],
        carried_inputs: Any,
        additional_inputs: Any = (),
    ) -> tuple[Any, ...]:
        mode = current_trace()
        if mode is None:
            return _run(cond_fn, body_fn, carried_inputs, additional_inputs)
        operands = (*carried_inputs, *additional_inputs)
        graphs, lifted = mode.trace_functions((cond_fn, body_fn), (operands,) * 2)
        body = graphs[1]
        _require_alike(carried_inputs, body.results)

        def results() -> Any:
            if is_fake(*operands):
                return body.results
            return _run(cond_fn, body_fn, carried_inputs, additional_inputs)

        found = mode.record_call(
            self,
            {
                "while_loop_cond_graph": _single(graphs[0].module),
                "while_loop_body_graph": body.module,
            },
            (tuple(carried_inputs), (*additional_inputs, *lifted)),
            results,
        )
        return tuple(found)


while_loop_op = _WhileLoopOp("while_loop")


@offered.function
def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any
) -> Any:
    """``body_fn(*values)`` in place of the values, as long as ``cond_fn(*values)``
    holds, beginning with ``carried_inputs``: a tuple of tensors, numbers or nests.

    ``body_fn`` gives as many values of the same sizes and dtypes. In ``make_fx`` and
    ``torch.export`` both functions become graphs. Raises RuntimeError otherwise, and
    for a condition of several values.

    Example::

        while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (i, x))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("while_loop: cond_fn and body_fn are functions")
    if not isinstance(carried_inputs, tuple | list):
        raise RuntimeError(
            "while_loop: carried_inputs are a tuple of values, not "
            f"{type(carried_inputs).__name__}"
        )
    leaves, spec = pytree.tree_flatten(tuple(carried_inputs))

    def nested(given: tuple[Any, ...]) -> Any:
        return pytree.tree_unflatten(list(given[: len(leaves)]), spec)

    def flat_body(*given: Any) -> tuple[Any, ...]:
        found = body_fn(*nested(given))
        results, found_spec = pytree.tree_flatten(
            tuple(found) if isinstance(found, list | tuple) else found
        )
        if found_spec != spec:
            raise RuntimeError(
                "while_loop: body_fn gives the nest of carried_inputs; it gave "
                f"{found_spec} for {spec}"
            )
        return tuple(results)

    found = while_loop_op(
        lambda *given: cond_fn(*nested(given)), flat_body, tuple(leaves), ()
    )
    return pytree.tree_unflatten(list(found), spec)


def _run(
    cond_fn: Callable[..., Any],
    body_fn: Callable[..., Any],
    carried: Any,
    additional: Any,
) -> tuple[Any, ...]:
    values = tuple(carried)
    while _truth(cond_fn(*values, *additional)):
        found = tuple(body_fn(*values, *additional))
        _require_alike(values, found)
        values = found
    return values


def _truth(value: Any) -> bool:
    is_single = isinstance(value, bool) or (
        isinstance(value, Tensor) and value.numel() == 1
    )
    if not is_single:
        raise RuntimeError(
            f"while_loop: cond_fn gives one truth value; it gave {value!r}"
        )
    return bool(value)


def _require_alike(before: Any, after: Any) -> None:
    def kind(value: Any) -> Any:
        is_tensor = isinstance(value, Tensor)
        return (value.dtype, tuple(value.shape)) if is_tensor else type(value)

    if [kind(x) for x in before] != [kind(x) for x in after]:
        raise RuntimeError(
            "while_loop: body_fn gives values of the sizes and dtypes of those it "
            f"gets; it gave {[kind(x) for x in after]} for {[kind(x) for x in before]}"
        )


def _single(module: Any) -> Any:
    """The condition's graph gives its value, in no tuple."""
    (value,) = module.graph.output_node().args[0]
    module.graph.output_node().args = (value,)
    module.recompile()
    return module
