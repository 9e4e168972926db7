"""Options of a group's methods, under PyTorch's names."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pellucid.distributed._group.reduce_op import ReduceOp


class _Options:
    """Attributes with defaults; ``timeout`` None means the group's timeout."""

    rootRank = 0
    rootTensor = 0
    asyncOp = False
    timeout: timedelta | None = None
    reduceOp: ReduceOp = ReduceOp.SUM


class AllreduceOptions(_Options):
    """Options of ``allreduce``."""


class AllreduceCoalescedOptions(AllreduceOptions):
    """Options of ``allreduce_coalesced``."""


class BroadcastOptions(_Options):
    """Options of ``broadcast``."""


class ReduceOptions(_Options):
    """Options of ``reduce``."""


class AllgatherOptions(_Options):
    """Options of ``allgather`` and ``_allgather_base``."""


class GatherOptions(_Options):
    """Options of ``gather``."""


class ScatterOptions(_Options):
    """Options of ``scatter``."""


class ReduceScatterOptions(_Options):
    """Options of ``reduce_scatter`` and ``_reduce_scatter_base``."""


class AllToAllOptions(_Options):
    """Options of ``alltoall`` and ``alltoall_base``."""


class BarrierOptions(_Options):
    """Options of ``barrier``."""

    device_ids: list[int] | None = None
    device: Any = None
