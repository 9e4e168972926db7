"""Distributed training: not offered."""

from typing import Any, NoReturn


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def init_process_group(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses."""
    raise NotImplementedError(
        "Pellucid trains in one process; run without init_process_group"
    )
