"""``torch.distributed.fsdp``: policies of sharded training; nothing shards yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from pellucid import dtype as DType
from pellucid.nn import Module

__all__ = [
    "CPUOffloadPolicy",
    "FSDPModule",
    "FullyShardedDataParallel",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "fully_shard",
]


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"{what} is not offered yet; use DistributedDataParallel with "
        "ZeroRedundancyOptimizer"
    )


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of parameters in use, of gradients that are combined, of outputs."""

    param_dtype: DType | None = None
    reduce_dtype: DType | None = None
    output_dtype: DType | None = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parameters stay on their device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters that are not in use are in the host's memory."""

    pin_memory: bool = True


class FSDPModule:
    """What ``fully_shard`` makes of a module's class."""


class FullyShardedDataParallel(Module):
    """Refuses."""

    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse("FullyShardedDataParallel")


def fully_shard(module: Any, **options: Any) -> NoReturn:
    """Refuses."""
    _refuse("fully_shard")
