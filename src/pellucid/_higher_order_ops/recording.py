"""Whether ops of functions are recorded: by the mode that asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid import Tensor
from pellucid.utils._python_dispatch import _first_to_see


def current_trace() -> Any:
    """The mode that notes what is called now as a graph, or None: the
    ProxyTorchDispatchMode of fx, which is not imported for this.
    """
    mode: Any = _first_to_see()
    if not hasattr(mode, "trace_functions"):
        return None
    return mode if mode.enable_tracing else None


def is_fake(*values: object) -> bool:
    """Whether any of the values is a tensor without data, of a fake mode."""
    return any(hasattr(value, "fake_mode") for value in values)


def first_slices(mode: Any, xs: Sequence[Tensor]) -> list[Tensor]:
    """What a function of slices is traced with."""
    with mode.paused():
        return [x[0] for x in xs]
