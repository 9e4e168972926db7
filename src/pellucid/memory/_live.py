"""The live storages, by their holders: Python tensors and graph nodes.

Used by holders, leaks and the error of a failed allocation. Storages that are only
referenced by other C++ objects are not found.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pellucid._tensor import Tensor
from pellucid.memory._names import running_frames

_TOGETHER = 4096  # objects whose referents are listed at once


class Saved(NamedTuple):
    """A node that saved a storage, as which tensor, and the tensor whose graph has the
    node.
    """

    node: Any
    root: Tensor
    tensor: Tensor


@dataclass
class LiveStorage:
    """``tensors``: Python's that share it; ``nodes``: those that saved it."""

    address: int
    nbytes: int
    tensors: list[Tensor] = field(default_factory=list)
    nodes: list[Saved] = field(default_factory=list)

    @property
    def role(self) -> str:
        """ "parameter", "saved" or "other"."""
        leaves = [t for t in self.tensors if t.is_leaf and t.requires_grad]
        if leaves:
            return "parameter"
        if self.nodes:
            return "saved"
        return "other"


def address_of(tensor: Tensor) -> int:
    """The address of its storage, as the timeline's events have it; 0 without one."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError, TypeError):
        return 0


def instances(kind: type, items: list[Any]) -> list[Any]:
    """Those of a type. Types are compared, each once: to ask an object for its class
    may import a module.
    """
    types = {found for found in set(map(type, items)) if issubclass(found, kind)}
    return [item for item in items if type(item) in types] if types else []


def live_tensors() -> list[Tensor]:
    """Python's tensors: what containers and the running functions refer to. Most
    tensors are not containers themselves, so the collector does not list them.
    """
    found: dict[int, Tensor] = {}

    def note(items: list[Any]) -> None:
        found.update((id(tensor), tensor) for tensor in instances(Tensor, items))

    objects = gc.get_objects()
    for start in range(0, len(objects), _TOGETHER):
        holders = objects[start : start + _TOGETHER]
        note(holders)
        note(gc.get_referents(*holders))
    for frame in running_frames():
        note(list(frame.f_locals.values()))
    return list(found.values())


def live_storages() -> dict[int, LiveStorage]:
    """By address."""
    found: dict[int, LiveStorage] = {}

    def note(tensor: Tensor) -> LiveStorage | None:
        address = address_of(tensor)
        if not address:
            return None
        if address not in found:
            nbytes = tensor.untyped_storage().nbytes()
            found[address] = LiveStorage(address, nbytes)
        return found[address]

    tensors = live_tensors()
    for tensor in tensors:
        storage = note(tensor)
        if storage is not None:
            storage.tensors.append(tensor)
    seen: set[Any] = set()
    for tensor in tensors:
        for node in nodes_behind(tensor, seen):
            for saved in saved_by(node):
                storage = note(saved)
                if storage is not None:
                    storage.nodes.append(Saved(node, tensor, saved))
    return found


def nodes_behind(tensor: Tensor, seen: set[Any] | None = None) -> Iterator[Any]:
    """The nodes of a tensor's graph that are not among ``seen``."""
    known: set[Any] = set() if seen is None else seen
    waiting = [_last_node(tensor)]
    while waiting:
        node = waiting.pop()
        if node is None or node in known:
            continue
        known.add(node)
        yield node
        waiting += [following for following, _ in node.next_functions]


def _last_node(tensor: Tensor) -> Any:
    try:
        return tensor.grad_fn
    except RuntimeError:  # a view of no_grad mode whose base was written: no history
        return None


def saved_by(node: Any) -> Iterator[Tensor]:
    """The tensors that a node saved and has not freed."""
    names = [name for name in dir(node) if name.startswith("_saved_")]
    for name in (*names, "saved_tensors"):
        try:
            value = getattr(node, name, ())
        except RuntimeError:  # freed by a backward pass
            continue
        for item in value if isinstance(value, tuple | list) else (value,):
            if isinstance(item, Tensor):
                yield item
