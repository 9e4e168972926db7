"""Batches in pinned memory, from which an accelerator copies while it computes."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import pellucid


def pin_memory(data: Any, device: Any = None) -> Any:
    """``data`` with the tensors inside tuples, lists and mappings pinned; for objects
    with a method ``pin_memory`` it calls that.

    RuntimeError, as for ``Tensor.pin_memory``, where there is no accelerator.
    """
    if isinstance(data, pellucid.Tensor):
        return data.pin_memory()
    if isinstance(data, str | bytes):
        return data
    if isinstance(data, Mapping):
        return _like(data, {k: pin_memory(v, device) for k, v in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(v, device) for v in data))
    if isinstance(data, tuple):
        return [pin_memory(v, device) for v in data]
    if isinstance(data, Sequence):
        return _like(data, [pin_memory(v, device) for v in data])
    return data.pin_memory() if hasattr(data, "pin_memory") else data


def _like(container: Any, values: Any) -> Any:
    """``values`` in a container of the same type, or unchanged."""
    try:
        if isinstance(container, MutableMapping | MutableSequence):
            made = copy.copy(container)
            if isinstance(made, MutableMapping):
                made.update(values)
            else:
                made[:] = values
            return made
        return type(container)(values)
    except TypeError:  # from a constructor with other parameters
        return values
