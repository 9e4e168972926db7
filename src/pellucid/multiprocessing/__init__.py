"""``torch.multiprocessing``: Python's multiprocessing, and ``spawn``.

Tensors that go to another process are copied; no memory is shared between processes.
Imported lazily.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403 - the names are Python's

from pellucid.multiprocessing.spawn import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    spawn,
    start_processes,
)

__all__ = [
    *multiprocessing.__all__,
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = ["file_descriptor"]


def get_all_sharing_strategies() -> set[str]:
    """The names that ``set_sharing_strategy`` takes."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """What was set, "file_descriptor" at first."""
    return _strategy[-1]


def set_sharing_strategy(new_strategy: str) -> None:
    """Set how memory would be shared; tensors are copied with either strategy."""
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"{new_strategy!r} is not a strategy: give one of {sorted(_STRATEGIES)}"
        )
    _strategy[:] = [new_strategy]
