"""``holders(tensor)``: the references that keep its memory alive."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from pellucid._tensor import Tensor
from pellucid.memory._live import LiveStorage, address_of, live_storages
from pellucid.memory._names import Names

_MOST = 20


def holders(tensor: Tensor) -> list[str]:
    """The paths that keep the storage of ``tensor`` alive, besides the argument itself:
    variables and attributes that refer to it or to a view of it, and graphs whose nodes
    saved it.

    Example: ``memory.holders(h)`` gives ``["best (fit.py:61, fit) -> MinimumBackward0 x
    4 -> saved by MulBackward0"]``.
    """
    storage = live_storages().get(address_of(tensor))
    return [] if storage is None else paths_to(storage, names_for([storage]))


def names_for(storages: Sequence[LiveStorage]) -> Names:
    """What `paths_to` needs, for several storages."""
    tensors = [tensor for storage in storages for tensor in storage.tensors]
    return Names([*tensors, *(saved.root for s in storages for saved in s.nodes)])


def paths_to(storage: LiveStorage, names: Names) -> list[str]:
    """Like `holders`, for a given storage."""
    found: list[str] = []
    for tensor in storage.tensors:
        found += names.of(tensor)
    by_root: dict[int, tuple[Tensor, Any]] = {}
    for node, root, _ in storage.nodes:
        by_root.setdefault(id(root), (root, node))
    for root, node in by_root.values():
        for name in names.of(root) or ["a tensor without a name"]:
            found.append(" -> ".join([name, *_path(root.grad_fn, node)]))
    return list(dict.fromkeys(found))[:_MOST]


def _path(start: Any, target: Any) -> list[str]:
    """Nodes from one to another, runs of the same kind as one with a count."""
    before: dict[Any, Any] = {start: None}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        if node is target:
            break
        for following, _ in node.next_functions:
            if following is not None and following not in before:
                before[following] = node
                waiting.append(following)
    names: list[str] = []
    node = before.get(target)
    while node is not None:
        names.append(node.name())
        node = before[node]
    shown = []
    for name, run in groupby(reversed(names)):
        count = len(list(run))
        shown.append(name if count == 1 else f"{name} x {count}")
    return [*shown, f"saved by {target.name()}"]
