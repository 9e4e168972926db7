"""``DistributedSampler``: the part of a dataset for one of several processes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any

import pellucid
from pellucid.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every ``num_replicas``-th index from ``rank`` on, shuffled by the seed and the
    epoch (``set_epoch``).

    All replicas get equally many indices: the order is padded from its start, or cut at
    its end with ``drop_last``. ``num_replicas`` and ``rank`` are by default those of
    the default process group: ValueError if there is none, or for a rank that is none
    of the replicas'.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            import pellucid.distributed as dist

            if num_replicas is None:
                num_replicas = dist.get_world_size()
            rank = dist.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"rank {rank} is not between 0 and {num_replicas - 1}")
        self.dataset = dataset
        self.num_replicas, self.rank = num_replicas, rank
        self.shuffle, self.seed = shuffle, seed
        self.drop_last = drop_last
        self.epoch = 0
        share = len(dataset) / num_replicas
        self.num_samples = math.floor(share) if drop_last else math.ceil(share)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            generator = pellucid.Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = pellucid.randperm(count, generator=generator).tolist()
        else:
            order = list(range(count))
        whole = list(islice(cycle(order), self.total_size))
        return iter(whole[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Changes the order: call it before each epoch with the same number in all
        replicas.
        """
        self.epoch = epoch
