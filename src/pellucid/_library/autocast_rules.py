"""Autocast rules of ops written in Python.

Used by ``custom_ops.py`` and ``register.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid import _C, float64
from pellucid._tensor import Tensor
from pellucid.utils._pytree import tree_map

_KEYS = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA"}


def autocast_kernel(
    op: Any, device_type: str, dtype: Any
) -> tuple[str, Callable[..., Any]]:
    """The key and the kernel that casts what may be cast and calls the op below it."""
    if not isinstance(device_type, str):
        raise ValueError(
            f"Expected `device_type` of type `str`, got: `{type(device_type)}`"
        )
    if device_type not in _KEYS:
        raise ValueError(f"Unknown device type: {device_type}")
    below = _C.DispatchKeySet(_C._dispatch_key_parse("Autocast"))

    def cast(value: Any) -> Any:
        may = (
            isinstance(value, Tensor)
            and value.is_floating_point()
            and value.device.type == device_type
            and value.dtype != float64
        )
        return value.to(dtype) if may else value

    def run(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map(cast, (args, kwargs))
        with _C._ExcludeDispatchKeyGuard(below):
            return op(*args, **kwargs)

    return _KEYS[device_type], run
