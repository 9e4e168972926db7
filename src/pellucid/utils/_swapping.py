"""``swap_tensors``: exchanges everything of two tensors except their identity."""

from __future__ import annotations

import copyreg
import weakref
from typing import Any

from pellucid import _C, Tensor


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchanges the contents of two tensors for all references to them: elements,
    shapes, dtypes, gradients, classes, attributes.

    A graph that has recorded one of them keeps the recorded values. RuntimeError if one
    has a weak reference, which would not follow, or if their classes have different
    ``__slots__``.

    Example::

        layer.weight, other = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.ones(2))
        torch.utils.swap_tensors(layer.weight, other)  # optimizers keep layer.weight
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefcount(tensor):
            raise RuntimeError(
                f"Cannot swap {name} because it has weakref associated with it"
            )
    exchange(t1, t2)


def exchange(t1: Tensor, t2: Tensor) -> None:
    """``swap_tensors`` where weak references may be to either: they see the new
    contents, as after an assignment to ``data``.
    """
    slots = _slots(t1)
    if slots != _slots(t2):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    first: Any = t1
    second: Any = t2
    first.__class__, second.__class__ = second.__class__, first.__class__
    first.__dict__, second.__dict__ = second.__dict__, first.__dict__
    for name in slots:
        _swap_slot(first, second, name)
    _C._swap_tensor_impl(t1, t2)


def _slots(tensor: Tensor) -> set[str]:
    found: list[str] = copyreg._slotnames(type(tensor))  # type: ignore[attr-defined]
    return set(found)


def _swap_slot(t1: Any, t2: Any, name: str) -> None:
    """One of ``__slots__``, which may be empty."""
    values = [
        (t, getattr(s, name)) for t, s in ((t1, t2), (t2, t1)) if hasattr(s, name)
    ]
    for tensor in (t1, t2):
        if hasattr(tensor, name):
            delattr(tensor, name)
    for tensor, value in values:
        setattr(tensor, name, value)
