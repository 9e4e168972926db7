"""Placements: how a tensor is distributed along one mesh dim."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """The base class, with queries of the kind."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is a shard, along ``dim`` if that is given."""
        return False

    def is_replicate(self) -> bool:
        """Whether it is replicated."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether it is a partial value, to be reduced."""
        return False


@dataclass(frozen=True)
class Shard(Placement):
    """Each process holds a shard along dim ``dim``, with the sizes of
    ``torch.chunk``.
    """

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is sharded along ``dim``, or at all."""
        return dim is None or dim == self.dim

    @staticmethod
    def local_shard_size_and_offset(
        curr_local_size: int, num_chunks: int, rank: int
    ) -> tuple[int, int]:
        """The size and offset of a rank's shard of ``curr_local_size`` elements."""
        step = -(-curr_local_size // num_chunks)
        first = min(rank * step, curr_local_size)
        return min(first + step, curr_local_size) - first, first

    _local_shard_size_and_offset = local_shard_size_and_offset


@dataclass(frozen=True)
class _StridedShard(Shard):
    """A shard of each of ``split_factor`` groups along the dim."""

    split_factor: int

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Each process holds all of it."""

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """The tensor is the sum, or another reduction, of the processes' values."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether it is partial, with the given reduction if one is given."""
        return reduce_op is None or reduce_op == self.reduce_op
