"""``torch._guards``: which mode of fake tensors computes, as libraries ask it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pellucid.utils._python_dispatch import _get_current_dispatch_mode_stack
from pellucid.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from pellucid._subclasses.fake_tensor import FakeTensorMode


def active_fake_mode() -> FakeTensorMode | None:
    """The innermost mode of fake tensors that is in force in this thread."""
    stack = _get_current_dispatch_mode_stack()
    if not stack:
        return None
    from pellucid._subclasses.fake_tensor import FakeTensorMode

    found = (mode for mode in reversed(stack) if isinstance(mode, FakeTensorMode))
    return next(found, None)


def detect_fake_mode(inputs: Any = None) -> FakeTensorMode | None:
    """The mode in force, else that of the fake tensors among ``inputs``; None of
    neither. AssertionError where they belong to different ones.
    """
    from pellucid._subclasses.fake_tensor import FakeTensor

    modes = [active_fake_mode()]
    modes += [t.fake_mode for t in tree_leaves(inputs) if isinstance(t, FakeTensor)]
    found = [mode for mode in modes if mode is not None]
    if any(mode is not found[0] for mode in found):
        raise AssertionError("the fake tensors belong to different modes")
    return found[0] if found else None
