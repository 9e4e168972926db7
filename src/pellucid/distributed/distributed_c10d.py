"""``torch.distributed.distributed_c10d``: groups and collectives in one module."""

from __future__ import annotations

import enum
import os
from datetime import timedelta
from typing import Any, NewType

from pellucid.distributed._collectives import _all_gather_base as _all_gather_base
from pellucid.distributed._collectives import _coalescing_manager as _coalescing_manager
from pellucid.distributed._collectives import _CoalescingManager as _CoalescingManager
from pellucid.distributed._collectives import (
    _reduce_scatter_base as _reduce_scatter_base,
)
from pellucid.distributed._collectives import (
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
)
from pellucid.distributed._group.native import NativeGroup
from pellucid.distributed._group.options import (
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
)
from pellucid.distributed._group.process_group import ProcessGroup
from pellucid.distributed._group.reduce_op import ReduceOp
from pellucid.distributed._group.reduce_op import (
    _make_nccl_premul_sum as _make_nccl_premul_sum,
)
from pellucid.distributed._group.work import Work
from pellucid.distributed._group.world import (
    Backend,
    BackendConfig,
    GroupMember,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    group_named,
    init_process_group,
    is_initialized,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
    shrink_group,
    split_group,
    world,
)
from pellucid.distributed._group.world import (
    _DistributedBackendOptions as _DistributedBackendOptions,
)
from pellucid.distributed._messages import (
    P2POp,
    batch_isend_irecv,
    irecv,
    isend,
    recv,
    send,
)
from pellucid.distributed._objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from pellucid.distributed._stores.errors import DistStoreError as DistStoreError
from pellucid.distributed._stores.prefix_store import PrefixStore
from pellucid.distributed._stores.store import Store
from pellucid.distributed.constants import (
    default_pg_nccl_timeout as default_pg_nccl_timeout,
)
from pellucid.distributed.constants import default_pg_timeout as default_pg_timeout
from pellucid.distributed.rendezvous import (
    register_rendezvous_handler as register_rendezvous_handler,
)
from pellucid.distributed.rendezvous import rendezvous as rendezvous

__all__ = [
    "AllToAllOptions",
    "AllgatherOptions",
    "AllreduceCoalescedOptions",
    "AllreduceOptions",
    "Backend",
    "BackendConfig",
    "BarrierOptions",
    "BroadcastOptions",
    "DebugLevel",
    "GatherOptions",
    "GroupMember",
    "GroupName",
    "P2POp",
    "PrefixStore",
    "ProcessGroup",
    "ReduceOp",
    "ReduceOptions",
    "ReduceScatterOptions",
    "ScatterOptions",
    "Store",
    "Work",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_backend_config",
    "get_debug_level",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "irecv",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "isend",
    "monitored_barrier",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_op",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "set_debug_level",
    "set_debug_level_from_env",
    "shrink_group",
    "split_group",
    "supports_complex",
]

GroupName = NewType("GroupName", str)
"""The name of a group."""

# Former and second names, and those that libraries use.
_world, _resolve_process_group = world, group_named
reduce_op = ReduceOp
all_gather_single = all_gather_into_tensor
reduce_scatter_single = reduce_scatter_tensor
ProcessGroupGloo = NativeGroup


class DebugLevel(enum.Enum):
    """The debug level; mismatched calls are always detected."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_debug_level = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """The level, which the variable TORCH_DISTRIBUTED_DEBUG sets at first."""
    return _debug_level


def set_debug_level(level: DebugLevel) -> None:
    """Sets the level."""
    global _debug_level
    _debug_level = level


def set_debug_level_from_env() -> None:
    """Sets the level in TORCH_DISTRIBUTED_DEBUG: OFF, INFO or DETAIL."""
    set_debug_level(
        DebugLevel[os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()]
    )


set_debug_level_from_env()


def is_backend_available(backend: str) -> bool:
    """Whether groups can have the backend: by a check of its own, or registered."""
    check = globals().get(f"is_{backend.lower()}_available")
    return bool(check()) if check else backend.lower() in Backend._plugins


def get_default_backend_for_device(device: Any) -> str:
    """The backend that tensors of a device have by default."""
    kind = device if isinstance(device, str) else device.type
    kind = kind.partition(":")[0]
    if kind not in Backend.default_device_backend_map:
        raise ValueError(f"Default backend not registered for device : {device}")
    return Backend.default_device_backend_map[kind]


def is_gloo_available() -> bool:
    """True: the CPU backend has this name."""
    return True


def is_mpi_available() -> bool:
    """Whether mpi4py is installed."""
    from importlib.util import find_spec

    return find_spec("mpi4py") is not None


def is_nccl_available() -> bool:
    """Whether NCCL is installed. It needs a GPU."""
    from pellucid.distributed._transport.nccl import found_library

    return found_library() is not None


def is_ucc_available() -> bool:
    """False."""
    return False


def is_xccl_available() -> bool:
    """False."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether the launcher has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def supports_complex(reduceOp: ReduceOp) -> bool:
    """Whether the reduction supports complex numbers."""
    return reduceOp.name in {"SUM", "AVG", "PRODUCT", "PREMUL_SUM"}


def _get_default_group() -> ProcessGroup:
    from pellucid.distributed._group.world import group_of

    return group_of(None)  # type: ignore[no-any-return]


def _get_default_store() -> Store:
    from pellucid.distributed._group.world import no_group, world

    if world.store is None:
        raise no_group()
    return world.store


def _rank_not_in_group(group: object) -> bool:
    return group is GroupMember.NON_GROUP_MEMBER


_get_global_rank = get_global_rank


def _get_process_group_name(pg: ProcessGroup) -> str:
    return pg.group_name


def _broadcast_coalesced(
    process_group: ProcessGroup, tensors: Any, buffer_size: int, src: int = 0
) -> None:
    """``broadcast`` of several tensors from the rank ``src`` of a group."""
    with _coalescing_manager(process_group):
        for tensor in tensors:
            broadcast(tensor, group=process_group, group_src=src)


def _new_process_group_helper(
    group_size: int,
    group_rank: int,
    global_ranks_in_group: Any,
    backend: str,
    store: Store,
    group_name: str,
    backend_options: Any = None,
    timeout: timedelta | None = None,
    pg_tag: str | None = None,
    device_id: Any = None,
    group_desc: str | None = None,
) -> tuple[ProcessGroup, Store]:
    """A group of processes that meet in ``store``, and its part of the store."""
    from pellucid.distributed._group.world import make_group

    own = PrefixStore(group_name, store)
    made = make_group(
        backend,
        own,
        group_rank,
        list(global_ranks_in_group) or list(range(group_size)),
        timeout or default_pg_timeout,
        name=group_name,
        desc=group_desc or "undefined",
        pg_options=backend_options,
        device_id=device_id,
    )
    return made, own


def __getattr__(name: str) -> Any:
    """``_pg_map``: the groups of this process, with their backends and stores."""
    if name == "_pg_map":
        return _world.pg_map
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
