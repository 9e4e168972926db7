"""Training in several processes: not offered."""

from __future__ import annotations

from typing import Any

from pellucid.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Refuses."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise NotImplementedError(
            "Pellucid trains in one process: use the module itself"
        )
