"""``torch.distributed.tensor``: how tensors are spread over processes.

Placements describe it. No function makes a spread tensor yet: libraries ask tensors
for the type.
"""

from __future__ import annotations

from typing import Any, NoReturn

from pellucid.distributed.tensor.placement_types import Partial as Partial
from pellucid.distributed.tensor.placement_types import Placement as Placement
from pellucid.distributed.tensor.placement_types import Replicate as Replicate
from pellucid.distributed.tensor.placement_types import Shard as Shard

__all__ = [
    "DTensor",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
]


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"{what} is not offered yet; use the collectives of torch.distributed, "
        "DistributedDataParallel or ZeroRedundancyOptimizer"
    )


class DTensor:
    """A tensor spread over processes, which no function makes yet."""

    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse("DTensor")


def distribute_tensor(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses."""
    _refuse("distribute_tensor")


def distribute_module(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses."""
    _refuse("distribute_module")
