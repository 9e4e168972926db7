"""The modes of recording: contexts and decorators, as ``torch.autograd.grad_mode``.

All but the last are C++ (``runtime/python/grad_mode.cpp``).
"""

from __future__ import annotations

from typing import Any

from pellucid import _C
from pellucid._C import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = [
    "enable_grad",
    "enforce_grad_layout_policy",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


class enforce_grad_layout_policy:
    """Sets whether a leaf's first gradient gets the leaf's strides (the default).

    Without it a gradient that nothing else references keeps its own strides, which
    saves a copy if they differ. Takes effect immediately in the calling thread; as a
    context manager restores the setting.

    Example::

        x = torch.ones(2, 3).t().requires_grad_()
        with torch.autograd.enforce_grad_layout_policy(False):
            (x * 2).sum().backward()
    """

    def __init__(self, enable: bool = True) -> None:
        self.mode = enable
        self.prev = _C._enforce_grad_layout(enable)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _C._enforce_grad_layout(self.prev)

    def __call__(self, function: Any) -> Any:
        """Decorates a function, which runs with the policy."""
        from pellucid._C._runtime.context_decorators import decorate_context

        _C._enforce_grad_layout(self.prev)
        return decorate_context(self, function)

    def clone(self) -> enforce_grad_layout_policy:
        """A new context of the same kind."""
        return type(self)(self.mode)


class set_multithreading_enabled:
    """Switches multithreaded backward on or off; as a context manager restores it.

    The switch is for worker threads of other devices: on the CPU the calling thread
    runs its own backward pass, and passes of several threads run concurrently.
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._previous = _C._set_multithreading_enabled(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _C._set_multithreading_enabled(self._previous)

    def __call__(self, function: Any) -> Any:
        """Decorates a function, which runs with the switch set."""
        from pellucid._C._runtime.context_decorators import decorate_context

        _C._set_multithreading_enabled(self._previous)
        return decorate_context(self, function)

    def clone(self) -> set_multithreading_enabled:
        """A new context of the same kind."""
        return type(self)(self.mode)
