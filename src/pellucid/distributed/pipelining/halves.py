"""Splits backward into two halves: gradients of the inputs, for which the previous
stage waits, then those of the weights (Qi et al., "Zero bubble pipeline parallelism",
2023). ``stage.py`` runs them. No gradient is computed twice: the first half records the
gradients at the nodes that read weights, and the second half starts there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pellucid as torch
from pellucid.autograd.graph import GradientEdge

__all__ = ["input_half"]


def input_half(
    outputs: list[Any], gradients: list[Any] | None, inputs: list[Any]
) -> Callable[[], None]:
    """Accumulates the gradients of ``inputs``, which are leaves, in their ``grad``; the
    returned function does so for all other leaves, and must be called once.
    """
    if not inputs:
        return lambda: torch.autograd.backward(outputs, gradients)
    leads, weights = _weights_read(outputs, {id(x) for x in inputs})
    uses = Counter(id(w) for found in weights.values() for w in found.values())
    # A weight that several nodes read has its gradient at once: from any of these nodes
    # the second half would reach the others again.
    several = {key for key, count in uses.items() if count > 1}
    own = {
        node: [w for key, w in found.items() if key not in several]
        for node, found in weights.items()
    }
    shared = {k: w for found in weights.values() for k, w in found.items()}
    arrived: dict[Any, Any] = {}
    hooks = [
        node.register_prehook(lambda grads, node=node: arrived.update({node: grads}))
        for node, found in own.items()
        if found and leads[node]
    ]
    try:
        wanted = [*inputs, *(shared[key] for key in several)]
        torch.autograd.backward(outputs, gradients, retain_graph=True, inputs=wanted)
    finally:
        for hook in hooks:
            hook.remove()
    # An output that depends on no input: all of its backward is in the second half.
    apart = [number for number, x in enumerate(outputs) if not leads[x.grad_fn]]

    def weight_half() -> None:
        for node, grads in arrived.items():
            there = [k for k, gradient in enumerate(grads) if gradient is not None]
            edges = [GradientEdge(node, k) for k in there]
            _backward(edges, [grads[k] for k in there], own[node])
        roots = [outputs[k] for k in apart]
        given = [gradients[k] for k in apart] if gradients is not None else None
        _backward(roots, given, [w for x in roots for w in own[x.grad_fn]])

    return weight_half


def _backward(roots: list[Any], gradients: list[Any] | None, leaves: list[Any]) -> None:
    """Accumulates gradients of the leaves; other roots may share nodes."""
    if leaves:
        torch.autograd.backward(roots, gradients, retain_graph=True, inputs=leaves)


def _weights_read(
    outputs: list[Any], inputs: set[int]
) -> tuple[dict[Any, bool], dict[Any, dict[int, Any]]]:
    """Whether each node depends on an input. And the weights: for nodes on paths to
    inputs, the other leaves reached by edges that leave these paths; for outputs that
    depend on no input, all their leaves.
    """
    leads: dict[Any, bool] = {}
    reached: dict[Any, dict[int, Any]] = {}
    stack = [(x.grad_fn, False) for x in outputs]
    while stack:
        node, has_followers = stack.pop()
        if node in leads:
            continue
        followers = [f for f, _ in node.next_functions if f is not None]
        if not has_followers:
            stack += [(node, True), *((f, False) for f in followers)]
            continue
        leaf = getattr(node, "variable", None)
        leads[node] = id(leaf) in inputs or any(leads[f] for f in followers)
        found = {} if leaf is None or leads[node] else {id(leaf): leaf}
        for follower in followers:
            if not leads[follower]:
                found |= reached[follower]
        reached[node] = found
    roots = {x.grad_fn for x in outputs}
    reading = {n: found for n, found in reached.items() if leads[n] or n in roots}
    return leads, reading
