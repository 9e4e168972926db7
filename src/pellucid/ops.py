"""``torch.ops`` as a module: ``torch.ops.aten`` and other namespaces. See ``_ops``."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from pellucid._ops import ops

    return getattr(ops, name)
