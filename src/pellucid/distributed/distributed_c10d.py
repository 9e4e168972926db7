"""``torch.distributed.distributed_c10d``: groups and collectives in one module."""

from __future__ import annotations

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
    init_process_group,
    is_initialized,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
    split_group,
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
from pellucid.distributed._stores.prefix_store import PrefixStore
from pellucid.distributed._stores.store import Store
from pellucid.distributed.constants import (
    default_pg_nccl_timeout as default_pg_nccl_timeout,
)
from pellucid.distributed.constants import default_pg_timeout as default_pg_timeout
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
    "GatherOptions",
    "GroupMember",
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
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "split_group",
    "supports_complex",
]


def is_gloo_available() -> bool:
    """True: the CPU backend has this name."""
    return True


def is_mpi_available() -> bool:
    """Whether mpi4py is installed."""
    from importlib.util import find_spec

    return find_spec("mpi4py") is not None


def is_nccl_available() -> bool:
    """False: there are no GPUs."""
    return False


def is_ucc_available() -> bool:
    """False."""
    return False


def is_xccl_available() -> bool:
    """False."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether the launcher has started this process."""
    import os

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
