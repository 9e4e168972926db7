"""A backward pass node by node: each one's gradients, saved tensors and ops.

``explain.backward(loss)`` runs the pass once for the gradients alone; no ``.grad``
changes and the graph stays usable. Called by ``explain`` too when it is given a
tensor's ``grad_fn``. Read next: viz/collect.py (the graph as data), report.py (what
ran).
"""

from __future__ import annotations

from typing import Any

from pellucid._tensor import Tensor
from pellucid.autograd import grad
from pellucid.autograd.graph import GradientEdge
from pellucid.explain.report import (
    Call,
    Explanation,
    Section,
    calls_of,
    sections_of,
    watched_log,
)
from pellucid.profiler._timeline.log import Kind
from pellucid.profiler._timeline.storages import ancestors
from pellucid.viz.collect import Item, collect, readable_bytes, shapes_text


def explain_backward(target: Any) -> Explanation:
    """The backward pass of a tensor, or of a ``grad_fn``, one section a node.

    A target of several elements is given a gradient of ones. Raises ValueError if there
    is not a graph.

    Example::

        print(pellucid.explain.backward(loss))
    """
    items = collect(target)
    return Explanation(
        [_section(item, items, calls) for item, calls in _run(target, items)]
    )


def _run(target: Any, items: list[Item]) -> list[tuple[Item, list[Call]]]:
    """Each node that ran, in order, with the calls it made."""
    leaves = [item.node.variable for item in items if item.is_leaf]
    root, seed = _root_and_gradient(target)
    log = watched_log(
        lambda: grad(root, leaves, seed, retain_graph=True, allow_unused=True)
    )
    known = {
        (item.node._sequence_nr(), item.backward_name): item
        for item in items
        if not item.is_leaf
    }
    ran: dict[int, tuple[Item, list[Call]]] = {}
    for event in log.events_of(Kind.NODE):
        item = known.get((event.sequence, event.name))
        if item is not None:
            ran[event.row] = item, []
    for call in calls_of(log):
        node = next((e for e in ancestors(call.event) if e.kind is Kind.NODE), None)
        if node is not None and node.row in ran:
            ran[node.row][1].append(call)
    return list(ran.values())


def _root_and_gradient(target: Any) -> tuple[Any, Any]:
    import pellucid

    if isinstance(target, Tensor):
        return target, pellucid.ones_like(target.detach())
    shape, dtype, *_ = target._input_metadata[0]
    return GradientEdge(target, 0), pellucid.ones(shape, dtype=dtype)


def _section(item: Item, items: list[Item], calls: list[Call]) -> Section:
    ran = list(sections_of(calls))
    where = ", ".join(text for text in (item.module, item.source) if text)
    lines = [
        f"{item.backward_name}: the gradient of {item.name}"
        + (f" ({where})" if where else ""),
        f"  given      {shapes_text(item)}",
        *(f"  saved      {text}" for text in _saved_lines(item)),
        *(f"  goes to    {_destination(items[number])}" for number in item.inputs),
    ]
    for section in ran:
        lines += [f"  {line}" for line in section.text.splitlines()]
    saved = sum(s.nbytes for s in item.saved if not s.is_leaf)
    return Section(
        "\n".join(lines),
        [kernel for section in ran for kernel in section.kernels],
        [stage for section in ran for stage in section.stages],
        (
            f"{item.backward_name} of {item.name}",
            f"saved {readable_bytes(saved)}" if saved else "",
            ", ".join(dict.fromkeys(section.brief[0] for section in ran)),
            where,
        ),
    )


def _saved_lines(item: Item) -> list[str]:
    return [
        f"{s.name}: {s.dtype}{list(s.shape)}, "
        + ("a leaf" if s.is_leaf else readable_bytes(s.nbytes))
        for s in item.saved
    ]


def _destination(item: Item) -> str:
    if item.is_leaf:
        return f"the leaf {item.name}, {shapes_text(item)}"
    return item.backward_name
