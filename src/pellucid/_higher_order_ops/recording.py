"""Whether ops of functions are recorded: fx is imported where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.utils._python_dispatch import _get_current_dispatch_mode

if TYPE_CHECKING:
    from pellucid.fx.experimental.proxy_tensor import ProxyTorchDispatchMode


def current_trace() -> ProxyTorchDispatchMode | None:
    """The trace that records what is called now, or None."""
    mode = _get_current_dispatch_mode()
    if mode is None:
        return None
    from pellucid.fx.experimental.proxy_tensor import ProxyTorchDispatchMode

    if not isinstance(mode, ProxyTorchDispatchMode):
        return None
    return mode if mode.enable_tracing else None


def is_fake(*values: object) -> bool:
    """Whether any of the values is a tensor without data, of a fake mode."""
    return any(hasattr(value, "fake_mode") for value in values)
