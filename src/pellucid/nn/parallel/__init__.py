"""Modules on several devices and processes: see README.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.nn.parallel.data_parallel import DataParallel, data_parallel
from pellucid.nn.parallel.parallel_apply import parallel_apply
from pellucid.nn.parallel.replicate import replicate
from pellucid.nn.parallel.scatter_gather import gather, scatter

if TYPE_CHECKING:
    from pellucid.nn.parallel.distributed import DistributedDataParallel

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]


def __getattr__(name: str) -> type[DistributedDataParallel]:
    """Imports ``DistributedDataParallel`` and its module at first use."""
    if name != "DistributedDataParallel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pellucid.nn.parallel.distributed import DistributedDataParallel as found

    globals()[name] = found
    return found
