"""``torch.distributed.checkpoint``: states saved by many processes: not offered yet."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["async_save", "load", "save"]


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"distributed.checkpoint.{what} is not offered yet: save the state_dict by "
        "torch.save on rank 0, and load it on every rank"
    )


def save(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses."""
    _refuse("save")


def load(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses."""
    _refuse("load")


def async_save(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses."""
    _refuse("async_save")
