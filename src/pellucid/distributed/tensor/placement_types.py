"""How one dim of a mesh of processes holds a tensor."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """What is common: the questions that are answered by the kind."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each process holds a part, along ``dim`` if that is given."""
        return False

    def is_replicate(self) -> bool:
        """Whether each process holds all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the tensor is the combination of what the processes hold."""
        return False


@dataclass(frozen=True)
class Shard(Placement):
    """Each process holds a part along dim ``dim``, as ``torch.chunk`` makes them."""

    dim: int

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is sharded along ``dim``, or at all."""
        return dim is None or dim == self.dim

    @staticmethod
    def local_shard_size_and_offset(
        curr_local_size: int, num_chunks: int, rank: int
    ) -> tuple[int, int]:
        """The size of a rank's part of ``curr_local_size`` elements, and its first."""
        step = -(-curr_local_size // num_chunks)
        first = min(rank * step, curr_local_size)
        return min(first + step, curr_local_size) - first, first


@dataclass(frozen=True)
class _StridedShard(Shard):
    """A part of each of ``split_factor`` groups along the dim."""

    split_factor: int


@dataclass(frozen=True)
class Replicate(Placement):
    """Each process holds all of it."""

    def __repr__(self) -> str:
        return "Replicate()"


@dataclass(frozen=True)
class Partial(Placement):
    """The tensor is the sum, or another reduction, of what the processes hold."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether it is, by the given reduction if one is given."""
        return reduce_op is None or reduce_op == self.reduce_op
