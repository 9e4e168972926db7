"""The autograd graph behind some tensors as plain data: nodes, edges, saved values.

Every node is an op of the forward pass and, read the other way round, the step of the
backward pass that computes its gradients, so one list serves both pictures. Called by
``viz.graph`` and ``explain.backward``. Read next: tree.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from pellucid._tensor import Tensor
from pellucid.viz.record import is_leaf, origin_of, read_recordings


@dataclass
class Saved:
    """A value that a node saves for backward; leaves would live without it."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    is_leaf: bool


@dataclass
class Item:
    """One op, or a leaf: a parameter or an input that wants a gradient."""

    number: int
    name: str  # "addmm"; of a leaf, the parameter's name
    backward_name: str  # "AddmmBackward0"
    shapes: list[tuple[int, ...]]  # of the results, and so of the gradients given
    dtype: str
    order: int  # place in the forward pass
    is_leaf: bool
    module: str = ""
    source: str = ""
    saved: list[Saved] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)  # numbers of the items it reads
    node: Any = None

    @property
    def bytes_saved(self) -> int:
        """Bytes that live for the sake of this node alone."""
        return sum(s.nbytes for s in self.saved if not s.is_leaf)


def collect(target: Any, model: Any = None) -> list[Item]:
    """The items behind ``target``, inputs before what reads them."""
    read_recordings()
    nodes = _nodes_behind(_roots(target))
    numbers = {node: number for number, node in enumerate(nodes)}
    names = _parameter_names(model)
    items = [_read(node, number, names) for node, number in numbers.items()]
    for item in items:
        item.inputs = [
            numbers[node] for node, _ in item.node.next_functions if node is not None
        ]
    _place_leaves(items)
    return items


def _roots(target: Any) -> list[Any]:
    given = target if isinstance(target, tuple | list) else [target]
    roots = [getattr(t, "grad_fn", None) if isinstance(t, Tensor) else t for t in given]
    roots = [root for root in roots if root is not None]
    if not roots:
        raise ValueError(
            "there is no graph to show: the tensor has no grad_fn\n"
            "compute it from tensors that require gradients, outside of no_grad()"
        )
    return roots


def _nodes_behind(roots: list[Any]) -> list[Any]:
    """All nodes, sorted by when forward made them; leaves first."""
    seen = set(roots)
    waiting = list(roots)
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is not None and node not in seen:
                seen.add(node)
                waiting.append(node)
    return sorted(seen, key=lambda node: (not is_leaf(node), node._sequence_nr()))


def _parameter_names(model: Any) -> dict[int, str]:
    if model is None:
        return {}
    root = type(model).__name__
    return {id(p): f"{root}.{name}" for name, p in model.named_parameters()}


def _read(node: Any, number: int, names: dict[int, str]) -> Item:
    metadata = node._input_metadata
    shapes = [tuple(shape) for shape, *_ in metadata]
    dtype = str(metadata[0][1]).removeprefix("torch.") if metadata else ""
    if is_leaf(node):
        leaf = node.variable
        path = names.get(id(leaf), "")
        module, _, own_name = path.rpartition(".")
        shapes, dtype = [tuple(leaf.shape)], str(leaf.dtype).removeprefix("torch.")
        name = own_name or leaf.name or "leaf"
        return Item(
            number, name, node.name(), shapes, dtype, -1, True, module, node=node
        )
    origin = origin_of(node)
    return Item(
        number,
        node._op_name or _words(node.name()),
        node.name(),
        shapes,
        dtype,
        node._sequence_nr(),
        False,
        origin.module,
        origin.source,
        list(_saved_values(node)),
        node=node,
    )


def _words(backward_name: str) -> str:
    """``LogSoftmaxBackward0`` -> ``log_softmax``."""
    words = re.sub(r"Backward\d*$", "", backward_name)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", words).lower()


def _saved_values(node: Any) -> Any:
    for attribute in dir(node):
        if not attribute.startswith("_saved_"):
            continue
        try:
            value = getattr(node, attribute)
        except RuntimeError:  # freed by a backward pass
            continue
        name = attribute.removeprefix("_saved_")
        for tensor in value if isinstance(value, tuple | list) else (value,):
            if isinstance(tensor, Tensor):
                yield _saved(name, tensor)
    for place, tensor in enumerate(_context_tensors(node)):
        if isinstance(tensor, Tensor):
            yield _saved(f"saved_tensors[{place}]", tensor)


def _context_tensors(node: Any) -> Any:
    """What a custom Function saved."""
    try:
        return getattr(node, "saved_tensors", ())
    except RuntimeError:  # freed by a backward pass
        return ()


def _saved(name: str, tensor: Tensor) -> Saved:
    dtype = str(tensor.dtype).removeprefix("torch.")
    is_leaf = tensor.requires_grad and tensor.is_leaf
    return Saved(name, tuple(tensor.shape), dtype, tensor.nbytes, is_leaf)


def _place_leaves(items: list[Item]) -> None:
    """A leaf goes just before its first reader; ops without a module stay alone."""
    for item in sorted(items, key=lambda item: item.order):
        for number in item.inputs:
            leaf = items[number]
            if not leaf.is_leaf:
                continue
            if leaf.order < 0:
                leaf.order = item.order
            if leaf.module and not item.module:
                item.module = leaf.module
            if not leaf.module:
                leaf.module = item.module


def shapes_text(item: Item) -> str:
    """``"float32 2x3"``."""
    sizes = ["x".join(map(str, shape)) or "scalar" for shape in item.shapes]
    return f"{item.dtype} {', '.join(sizes)}".strip()


def readable_bytes(count: int) -> str:
    """``"1.2 MB"``."""
    for power, unit in ((9, "GB"), (6, "MB"), (3, "kB")):
        if count >= 10**power:
            return f"{count / 10**power:.1f} {unit}"
    return f"{count} B"
