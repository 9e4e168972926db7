"""``ElasticDistributedSampler``: goes on in an epoch after a restart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pellucid as torch
from pellucid.utils.data.distributed import DistributedSampler

__all__ = ["ElasticDistributedSampler"]


class ElasticDistributedSampler(DistributedSampler):
    """A ``DistributedSampler`` of the examples from ``start_index`` on, which are
    permuted by the epoch.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        start_index: int = 0,
    ) -> None:
        super().__init__(dataset, num_replicas, rank)
        if start_index >= len(dataset):
            raise ValueError(
                f"start_index={start_index} is beyond the {len(dataset)} samples"
            )
        self.start_index = start_index
        self.num_samples = math.ceil((len(dataset) - start_index) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[Any]:
        generator = torch.Generator()
        generator.manual_seed(self.epoch)
        count = len(self.dataset) - self.start_index
        order = torch.randperm(count, generator=generator).add(self.start_index)
        indices = order.tolist()
        indices += indices[: self.total_size - len(indices)]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples
