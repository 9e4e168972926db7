"""``allow_mutation_on_saved_tensors``: in-place writes to tensors saved for backward.

A pack hook replaces every saved tensor by a handle. Before an op writes to memory that
a handle refers to, the handle copies it; so only overwritten tensors are copied.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from pellucid import _C
from pellucid._tensor import Tensor
from pellucid.autograd.saved_tensors import saved_tensors_hooks

__all__ = ["allow_mutation_on_saved_tensors"]


class _Handle:
    """The handle of one saved tensor in the graph."""


class _SavedTensors:
    """The saved tensors of one scope: originals, and copies of those overwritten."""

    def __init__(self) -> None:
        self.original: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        self.cloned: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        self._of_storage: defaultdict[int, WeakSet[_Handle]] = defaultdict(WeakSet)

    def pack(self, tensor: Tensor) -> _Handle:
        handle = _Handle()
        self.original[handle] = tensor.detach()
        self._of_storage[tensor.untyped_storage()._cdata].add(handle)
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        for tensors in (self.cloned, self.original):
            if handle in tensors:
                return tensors[handle]
        raise AssertionError(
            "backward reached a graph that was recorded under allow_mutation_on_saved_"
            "tensors after that scope ended: run backward inside it"
        )

    def before_write(self, tensor: Tensor) -> None:
        handles = self._of_storage.pop(tensor.untyped_storage()._cdata, ())
        for handle in list(handles):
            if handle in self.original:
                self.cloned[handle] = self.original.pop(handle).clone()

    def clear(self) -> None:
        """Releases every saved tensor: backward through them becomes an error."""
        self.original.clear()
        self.cloned.clear()
        self._of_storage.clear()


_scopes: list[_SavedTensors] = []


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[Any]:
    """A scope in which tensors that are saved for backward may be written in place.

    Backward must run inside the scope too. It uses the values of the forward pass:
    before an op overwrites a saved tensor, the tensor is copied. Scopes do not nest.

    >>> with allow_mutation_on_saved_tensors():
    ...     b = a.clone()
    ...     out = (b**2).sum()
    ...     b.sin_()
    ...     out.backward()
    """
    if _scopes:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    saved = _SavedTensors()
    _scopes.append(saved)
    watcher = _C._watch_writes(saved.before_write)
    try:
        with saved_tensors_hooks(saved.pack, saved.unpack):
            yield saved
    finally:
        del watcher
        _scopes.clear()
        saved.clear()
