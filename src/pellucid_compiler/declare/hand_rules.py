"""Derivatives written by hand, in the Graph of an op.

A call of an op with a hand vjp is one node (``CALL``): its body, and the rule over the
body's results, which the transpose of the node runs. Called by ``op.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from pellucid_compiler import transforms
from pellucid_compiler.declare.tensor import Tensor, map_tensors, tensors_in
from pellucid_compiler.declare.tracing import tracer, tracing
from pellucid_compiler.ir.graph import Graph, Value
from pellucid_compiler.ir.primitives import CALL, CallAttrs


class HandRule(NamedTuple):
    """A derivative written by hand, and why the derived one does not suffice."""

    function: Callable[..., Any]
    reason: str


def call_with_rule(
    name: str,
    function: Callable[..., Any],
    rule: HandRule,
    values: Sequence[Any],
) -> Any:
    """The results of ``function``, the body of the op ``name``, as those of one node
    whose gradient ``rule`` gives.
    """
    leaves = list(tensors_in(values))
    body = Graph(name)
    with tracing(body):
        mine = map_tensors(values, lambda t: Tensor(body.input_like(t.value)))
        out = function(*mine)
        outputs = out if isinstance(out, tuple) else (out,)
    count = len(outputs)
    if not any(t.is_floating for t in outputs):
        return function(*values)
    num_saved = len(body.saved)
    body = body.with_outputs([*(t.value for t in outputs), *body.saved])
    wrt, hand = _rule_graph(name, rule, values, body, count)
    graph = tracer().graph
    found = graph.emit(
        CALL,
        [t.value for t in leaves],
        CallAttrs(name, body, hand, wrt, num_saved),
    )
    graph.saved += found[count:]
    results = tuple(Tensor(v) for v in found[:count])
    return results if isinstance(out, tuple) else results[0]


def _rule_graph(
    name: str, rule: HandRule, values: Sequence[Any], body: Graph, num_outputs: int
) -> tuple[tuple[int, ...], Graph]:
    """The rule over the results of ``body`` (outputs, then saved values), and the
    inputs that it gives gradients of: those for which it does not return None.
    """
    hand = Graph(f"{name}.vjp")
    hand.sizes.merge(body.sizes)  # it runs under the same conditions as the body
    floats = [k for k, v in enumerate(body.inputs) if v.differentiable]
    with tracing(hand):
        mine = map_tensors(values, lambda t: Tensor(hand.input_like(t.value)))
        hand.respell_inputs()
        inputs = list(hand.inputs)
        known = [Tensor(hand.input(v.shape, v.dtype)) for v in body.outputs]
        grads = [
            Tensor(hand.input(v.shape, v.dtype, "grad" if k == 0 else f"grad_{k}"))
            for k, v in enumerate(body.outputs)
            if v.differentiable
        ]
        outputs, saved = body.outputs[:num_outputs], body.outputs[num_outputs:]
        num_grads = sum(v.differentiable for v in outputs)

        def transposed(results: list[Value], cts: Iterable[Tensor]) -> list[Value]:
            back = transforms.vjp(body.with_outputs(results), floats)
            return hand.inline(back, [*inputs, *(ct.value for ct in cts)])

        def derived(*cts: Tensor) -> Any:
            found = tuple(Tensor(v) for v in transposed(outputs, cts))
            return found if len(found) > 1 else found[0]

        result = rule.function(*mine, *known, *grads[:num_grads], derived=derived)
        results = result if isinstance(result, tuple) else (result,)
        given = dict(zip(floats, results, strict=True))
        floats = [k for k, t in given.items() if t is not None]
        hand.outputs = [given[k].value for k in floats]
        if len(grads) > num_grads:  # of saved values: second derivatives need them
            more = transposed(saved, grads[num_grads:])
            hand.outputs = [
                (Tensor(value) + Tensor(term)).value
                for value, term in zip(hand.outputs, more, strict=True)
            ]
    return tuple(floats), hand.prune()
