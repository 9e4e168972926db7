"""``torch.accelerator``: whichever accelerator there is; here there is none."""

from __future__ import annotations

from typing import NoReturn

from pellucid import device

__all__ = [
    "current_accelerator",
    "current_device_index",
    "device_count",
    "is_available",
    "synchronize",
]


def current_accelerator(check_available: bool = False) -> device | None:
    """None: there is no accelerator."""
    return None


def device_count() -> int:
    """0."""
    return 0


def is_available() -> bool:
    """False."""
    return False


def _refuse() -> NoReturn:
    raise RuntimeError(
        "this build of Pellucid has no accelerator: it computes on the CPU.\n"
        "Ask torch.accelerator.is_available() before using one."
    )


def current_device_index() -> int:
    """Raises RuntimeError: there is no accelerator."""
    _refuse()


def synchronize(device: object = None, /) -> None:
    """Raises RuntimeError: there is no accelerator."""
    _refuse()
