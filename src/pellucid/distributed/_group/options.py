"""The options that a group's methods take, under PyTorch's names."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pellucid.distributed._group.reduce_op import ReduceOp


class _Options:
    """Attributes with defaults; ``timeout`` None is the group's."""

    rootRank = 0
    rootTensor = 0
    asyncOp = False
    timeout: timedelta | None = None
    reduceOp: ReduceOp = ReduceOp.SUM


class AllreduceOptions(_Options):
    """Of ``allreduce``."""


class AllreduceCoalescedOptions(AllreduceOptions):
    """Of ``allreduce_coalesced``."""


class BroadcastOptions(_Options):
    """Of ``broadcast``."""


class ReduceOptions(_Options):
    """Of ``reduce``."""


class AllgatherOptions(_Options):
    """Of ``allgather`` and ``_allgather_base``."""


class GatherOptions(_Options):
    """Options of ``gather``."""


class ScatterOptions(_Options):
    """Of ``scatter``."""


class ReduceScatterOptions(_Options):
    """Of ``reduce_scatter`` and ``_reduce_scatter_base``."""


class AllToAllOptions(_Options):
    """Of ``alltoall`` and ``alltoall_base``."""


class BarrierOptions(_Options):
    """Of ``barrier``."""

    device_ids: list[int] | None = None
    device: Any = None
