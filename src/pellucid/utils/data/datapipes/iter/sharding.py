"""The pipe of which each worker or rank reads a shard."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from itertools import islice
from typing import Any

from pellucid.utils.data.datapipes._decorator import functional_datapipe
from pellucid.utils.data.datapipes.datapipe import IterDataPipe

__all__ = ["SHARDING_PRIORITIES", "ShardingFilterIterDataPipe"]


class SHARDING_PRIORITIES(IntEnum):
    """The priority of sharding: ranks first, then workers."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe[Any]):
    """Every n-th sample after ``apply_sharding``; all samples before it."""

    def __init__(
        self,
        source_datapipe: IterDataPipe[Any],
        sharding_group_filter: SHARDING_PRIORITIES | None = None,
    ) -> None:
        self.source_datapipe = source_datapipe
        self.sharding_group_filter = sharding_group_filter
        self.groups: dict[int, tuple[int, int]] = {}
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(
        self,
        num_of_instances: int,
        instance_id: int,
        sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
    ) -> None:
        """Makes this the reader ``instance_id`` of ``num_of_instances``."""
        if instance_id >= num_of_instances:
            raise ValueError(
                f"instance_id({instance_id}) should be smaller than "
                f"num_of_instances({num_of_instances})"
            )
        default = SHARDING_PRIORITIES.DEFAULT
        if sharding_group == default and any(g != default for g in self.groups):
            raise RuntimeError(
                "ShardingFilter cannot mix DEFAULT and non DEFAULT groups"
            )
        if sharding_group != default and default in self.groups:
            raise RuntimeError(
                "ShardingFilter cannot mix DEFAULT and non DEFAULT groups"
            )
        self.groups[sharding_group] = num_of_instances, instance_id
        chosen = self.sharding_group_filter
        self.num_of_instances, self.instance_id = 1, 0
        for group in sorted(self.groups):
            if chosen is None or group == chosen:
                count, place = self.groups[group]
                self.instance_id += self.num_of_instances * place
                self.num_of_instances *= count

    def __iter__(self) -> Iterator[Any]:
        own = islice(
            self.source_datapipe, self.instance_id, None, self.num_of_instances
        )
        yield from own

    def __len__(self) -> int:
        count = len(self.source_datapipe)
        more = self.instance_id < count % self.num_of_instances
        return count // self.num_of_instances + more
