"""``torch._guards``: finds the active fake tensor mode, for libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pellucid.utils._python_dispatch import _get_current_dispatch_mode_stack
from pellucid.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from pellucid._subclasses.fake_tensor import FakeTensorMode


def active_fake_mode() -> FakeTensorMode | None:
    """The innermost fake tensor mode that is active in this thread."""
    stack = _get_current_dispatch_mode_stack()
    if not stack:
        return None
    from pellucid._subclasses.fake_tensor import FakeTensorMode

    found = (mode for mode in reversed(stack) if isinstance(mode, FakeTensorMode))
    return next(found, None)


def detect_fake_mode(inputs: Any = None) -> FakeTensorMode | None:
    """The active fake tensor mode, else that of the fake tensors in ``inputs``, else
    None. AssertionError if they belong to different modes.
    """
    from pellucid._subclasses.fake_tensor import FakeTensor

    modes = [active_fake_mode()]
    modes += [t.fake_mode for t in tree_leaves(inputs) if isinstance(t, FakeTensor)]
    found = [mode for mode in modes if mode is not None]
    if any(mode is not found[0] for mode in found):
        raise AssertionError("the fake tensors belong to different modes")
    return found[0] if found else None
