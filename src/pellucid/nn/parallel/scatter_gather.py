"""``scatter`` and ``gather``, which libraries import: refused, there is one device."""

from __future__ import annotations

from typing import Any, NoReturn


def _refused(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name}: Pellucid computes on one device; call the module itself"
    )


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> NoReturn:
    """Refuses."""
    _refused("scatter")


def gather(outputs: Any, target_device: Any, dim: int = 0) -> NoReturn:
    """Refuses."""
    _refused("gather")
