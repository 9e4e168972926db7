"""A backward pass node by node: each one's gradients, saved tensors and ops.

``explain.backward(loss)`` runs the pass once for the gradients alone; no ``.grad``
changes and the graph stays usable. Called by ``explain`` too when it is given a
tensor's ``grad_fn``. Read next: viz/collect.py (the graph as data), report.py (what
ran).
"""

from __future__ import annotations

from typing import Any

from pellucid import _C
from pellucid._tensor import Tensor
from pellucid.autograd import grad
from pellucid.autograd.graph import GradientEdge
from pellucid.explain.report import Explanation, Section, sections_of
from pellucid.viz.collect import Item, collect, readable_bytes, shapes_text

_Calls = list[tuple[str, str, int, bytes]]


def explain_backward(target: Any) -> Explanation:
    """The backward pass of a tensor, or of a ``grad_fn``, one section a node.

    A target of several elements is given a gradient of ones. Raises ValueError if there
    is not a graph.

    Example::

        print(pellucid.explain.backward(loss))
    """
    import pellucid_compiler.catalogue  # noqa: F401 - fills the registry

    items = collect(target)
    steps = _run(target, items)
    return Explanation([_section(item, items, calls) for item, calls in steps])


def _run(target: Any, items: list[Item]) -> list[tuple[Item, _Calls]]:
    """Each node that ran, in order, with the dispatches it made."""
    steps: list[tuple[Item, _Calls]] = []

    def begin(item: Item) -> None:
        calls = _C._stop_call_log()
        if steps:
            steps[-1][1].extend(calls)
        steps.append((item, []))
        _C._start_call_log()

    handles = [
        item.node.register_prehook(lambda grads, item=item: begin(item))
        for item in items
        if not item.is_leaf
    ]
    leaves = [item.node.variable for item in items if item.is_leaf]
    _C._start_call_log()
    try:
        root, seed = _root_and_gradient(target)
        grad(root, leaves, seed, retain_graph=True, allow_unused=True)
    finally:
        calls = _C._stop_call_log()
        for handle in handles:
            handle.remove()
    if steps:
        steps[-1][1].extend(calls)
    return steps


def _root_and_gradient(target: Any) -> tuple[Any, Any]:
    import pellucid

    if isinstance(target, Tensor):
        return target, pellucid.ones_like(target.detach())
    shape, dtype, *_ = target._input_metadata[0]
    return GradientEdge(target, 0), pellucid.ones(shape, dtype=dtype)


def _section(item: Item, items: list[Item], calls: _Calls) -> Section:
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
