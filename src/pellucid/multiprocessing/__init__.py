"""``torch.multiprocessing``: Python's multiprocessing, between whose processes tensors
share memory; and ``spawn``.

Objects sent to a queue, a pipe, a pool or a process are pickled by ``reductions.py``:
the memory of tensors is moved to shared memory once and not copied again. Imported
lazily.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403 - the names are Python's

from pellucid._package.calls.submodules import submodules
from pellucid.multiprocessing.reductions import init_reductions
from pellucid.multiprocessing.spawn import (
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)
from pellucid.storage import sharing_strategy

__all__ = [
    *multiprocessing.__all__,
    "ENV_VAR_PARALLEL_START",
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "init_reductions",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


_STRATEGIES = {"file_descriptor", "file_system"}


def get_all_sharing_strategies() -> set[str]:
    """The names that ``set_sharing_strategy`` takes."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """The current strategy, by default "file_descriptor"."""
    return sharing_strategy[-1]


def set_sharing_strategy(new_strategy: str) -> None:
    """Sets how other processes find shared memory from now on.

    "file_descriptor": by an open file that is sent along; the memory goes with the last
    process that has it, however that ends. "file_system": by a name in /dev/shm, which
    needs no open files; a process that is killed leaves the name behind.
    """
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"{new_strategy!r} is not a strategy: give one of {sorted(_STRATEGIES)}"
        )
    sharing_strategy[:] = [new_strategy]


init_reductions()

__getattr__ = submodules(__name__)
