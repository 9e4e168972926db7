"""``torch.distributed``: process groups, collectives, and parallel training.

``_group`` has process groups, ``_transport`` the transports of their bytes, ``_stores``
the key-value stores by which processes find each other. Imported lazily.
"""

from __future__ import annotations

import enum
from typing import Any

from pellucid.distributed._stores.errors import DistBackendError as DistBackendError
from pellucid.distributed._stores.errors import DistError as DistError
from pellucid.distributed._stores.errors import DistNetworkError as DistNetworkError
from pellucid.distributed._stores.errors import DistStoreError as DistStoreError
from pellucid.distributed._stores.errors import QueueEmptyError as QueueEmptyError
from pellucid.distributed._stores.file_store import FileStore as FileStore
from pellucid.distributed._stores.hash_store import HashStore as HashStore
from pellucid.distributed._stores.tcp_store import TCPStore as TCPStore
from pellucid.distributed.distributed_c10d import *
from pellucid.distributed.distributed_c10d import _all_gather_base as _all_gather_base
from pellucid.distributed.distributed_c10d import (
    _coalescing_manager as _coalescing_manager,
)
from pellucid.distributed.distributed_c10d import (
    _make_nccl_premul_sum as _make_nccl_premul_sum,
)
from pellucid.distributed.distributed_c10d import (
    _reduce_scatter_base as _reduce_scatter_base,
)
from pellucid.distributed.rendezvous import (
    register_rendezvous_handler as register_rendezvous_handler,
)
from pellucid.distributed.rendezvous import rendezvous as rendezvous


def is_available() -> bool:
    """Whether this system supports process groups: Linux."""
    import sys

    return sys.platform == "linux"


def waiting(group: Any = None) -> dict[int, str]:
    """What each rank of the group is doing, by its global rank: its current
    collectives, for how many seconds, and the source lines of its main thread,
    innermost first. Any thread may call it at any time; ranks answer on background
    threads. RuntimeError without a group.

    Example::

        threading.Timer(30, lambda: print(dist.waiting())).start()
        # {0: "all_reduce float32[4] sum, #17 of group '0', for 28.3 s; step (train:9)",
        #  1: "load (data:31), called by step (train:7)"}
    """
    from pellucid.distributed._group.world import check_member

    target = check_member(group, "waiting")
    return {} if target is None else target.whereabouts()


class DebugLevel(enum.Enum):
    """The debug level; mismatched calls are always detected."""

    OFF = 0
    INFO = 1
    DETAIL = 2


def get_debug_level() -> DebugLevel:
    """The level in TORCH_DISTRIBUTED_DEBUG."""
    import os

    return DebugLevel[os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()]


def __getattr__(name: str) -> object:
    """Imports meshes at first use."""
    if name in ("DeviceMesh", "device_mesh", "init_device_mesh"):
        from importlib import import_module

        meshes = import_module("pellucid.distributed.device_mesh")
        return meshes if name == "device_mesh" else getattr(meshes, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
