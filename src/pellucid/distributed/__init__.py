"""``torch.distributed``: process groups, collectives, and parallel training.

``_group`` has process groups, ``_transport`` the transports of their bytes, ``_stores``
the key-value stores by which processes find each other. Imported lazily.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from pellucid._package.calls.submodules import submodules
from pellucid.distributed._stores.errors import DistBackendError as DistBackendError
from pellucid.distributed._stores.errors import DistError as DistError
from pellucid.distributed._stores.errors import DistNetworkError as DistNetworkError
from pellucid.distributed._stores.errors import DistStoreError as DistStoreError
from pellucid.distributed._stores.errors import QueueEmptyError as QueueEmptyError
from pellucid.distributed._stores.file_store import FileStore as FileStore
from pellucid.distributed._stores.hash_store import HashStore as HashStore
from pellucid.distributed._stores.tcp_store import TCPStore as TCPStore
from pellucid.distributed.distributed_c10d import *
from pellucid.distributed.distributed_c10d import ProcessGroupGloo as ProcessGroupGloo
from pellucid.distributed.distributed_c10d import _all_gather_base as _all_gather_base
from pellucid.distributed.distributed_c10d import (
    _broadcast_coalesced as _broadcast_coalesced,
)
from pellucid.distributed.distributed_c10d import (
    _coalescing_manager as _coalescing_manager,
)
from pellucid.distributed.distributed_c10d import (
    _get_process_group_name as _get_process_group_name,
)
from pellucid.distributed.distributed_c10d import (
    _make_nccl_premul_sum as _make_nccl_premul_sum,
)
from pellucid.distributed.distributed_c10d import (
    _rank_not_in_group as _rank_not_in_group,
)
from pellucid.distributed.distributed_c10d import (
    _reduce_scatter_base as _reduce_scatter_base,
)
from pellucid.distributed.distributed_c10d import barrier, get_rank
from pellucid.distributed.distributed_c10d import (
    default_pg_timeout as default_pg_timeout,
)
from pellucid.distributed.remote_device import _remote_device as _remote_device
from pellucid.distributed.rendezvous import (
    register_rendezvous_handler as register_rendezvous_handler,
)
from pellucid.distributed.rendezvous import rendezvous as rendezvous


def is_available() -> bool:
    """Whether this system supports process groups: Linux."""
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


def breakpoint(rank: int = 0, skip: int = 0, timeout_s: float = 3600) -> None:
    """Opens the debugger on one rank; the others wait for it. The first ``skip`` calls
    do nothing.
    """
    global _num_breakpoints
    _num_breakpoints += 1
    if _num_breakpoints <= skip:
        return
    if get_rank() == rank:
        import pdb

        sys.stdout.write(
            f"rank {rank} is in the debugger; the others wait. Type 'up' for the "
            "caller, 'c' to go on.\n"
        )
        pdb.set_trace()
    barrier()


_num_breakpoints = 0
_Work = Work  # noqa: F405
_HOOKS = "pellucid.distributed.algorithms.ddp_comm_hooks"
_LAZY = {
    "DeviceMesh": "pellucid.distributed.device_mesh",
    "init_device_mesh": "pellucid.distributed.device_mesh",
    "BuiltinCommHookType": f"{_HOOKS}.default_hooks",
    "GradBucket": "pellucid.nn.parallel._buckets",
}


def _others(name: str) -> object:
    """Imports meshes and buckets at first use."""
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__getattr__ = submodules(__name__, _others)
