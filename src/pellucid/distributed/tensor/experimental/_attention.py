"""``context_parallel``: tensors sharded along their sequence dim, and attention over
the whole sequence.

With load balancing, which is the default, a sequence is split into twice as many chunks
as there are processes, and process r of n has the chunks r and 2 * n - 1 - r: under a
causal mask all have equal work.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import pellucid as torch
import pellucid.distributed as dist
from pellucid.distributed.device_mesh import DeviceMesh
from pellucid.distributed.tensor.experimental._ring import Ring, ring_attention
from pellucid.nn import functional as F
from pellucid.overrides import TorchFunctionMode

__all__ = ["context_parallel", "context_parallel_unshard", "set_rotate_method"]


class _RotateMethod(Enum):
    ALL_TO_ALL = auto()
    ALL_GATHER = auto()


@dataclass
class _ContextParallelOptions:
    enable_load_balance: bool = True
    rotate_method: _RotateMethod = _RotateMethod.ALL_GATHER


_cp_options = _ContextParallelOptions()


def set_rotate_method(rotate_method: str) -> None:
    """Sets how processes get the keys and values of others: "allgather", the default,
    gathers all of them; "alltoall" passes them around a ring, so that a process holds
    those of one other at a time and sends while it computes.
    """
    methods = {
        "allgather": _RotateMethod.ALL_GATHER,
        "alltoall": _RotateMethod.ALL_TO_ALL,
    }
    if rotate_method not in methods:
        raise NotImplementedError(
            f"Context Parallel does not support using {rotate_method} for kv shards "
            f"rotation; give one of {', '.join(methods)}"
        )
    _cp_options.rotate_method = methods[rotate_method]


def _chunks_of(rank: int, size: int) -> list[int]:
    """The indices of a process's chunks of the sequence."""
    if _cp_options.enable_load_balance:
        return [rank, 2 * size - 1 - rank]
    return [rank]


class _RingAttention(TorchFunctionMode):
    """A mode in which ``scaled_dot_product_attention`` attends to the whole
    sequence.
    """

    def __init__(self, mesh: DeviceMesh) -> None:
        super().__init__()
        group, size = mesh.get_group(), mesh.size()
        chunks = [_chunks_of(rank, size) for rank in range(size)]
        rotates = _cp_options.rotate_method is _RotateMethod.ALL_TO_ALL
        self._ring = Ring(group, mesh.get_local_rank(), chunks, rotates)

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func is F.scaled_dot_product_attention:
            return ring_attention(self._ring, *args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def context_parallel(
    mesh: DeviceMesh,
    *,
    buffers: Sequence[Any] | None = None,
    buffer_seq_dims: Sequence[int] | None = None,
    no_restore_buffers: Collection[Any] | None = None,
) -> Iterator[None]:
    """A scope in which the ``buffers`` hold this process's shard of their sequence dim,
    and ``scaled_dot_product_attention`` of (batch, heads, sequence, features) attends
    to the sequence of all processes, forward and backward.

    All processes call it with equal buffers. They are restored after the block, except
    those in ``no_restore_buffers``. Example::

        with context_parallel(mesh, buffers=[tokens, targets], buffer_seq_dims=[1, 1]):
            loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
            loss.backward()
    """
    buffers, dims = list(buffers or ()), list(buffer_seq_dims or ())
    dropped = {id(buffer) for buffer in no_restore_buffers or ()}
    if len(buffers) != len(dims):
        raise ValueError(
            "`seq_dims` must have the same number of elements as `buffers`: "
            f"{len(buffers)} buffers and {len(dims)} dims were given"
        )
    if not dropped <= {id(buffer) for buffer in buffers}:
        raise ValueError("`no_restore_buffers` must be a subset of `buffers`.")
    with torch.no_grad():
        parts = [_part(b, d, mesh) for b, d in zip(buffers, dims, strict=True)]
        whole = [None if id(b) in dropped else b.clone() for b in buffers]
        for buffer, part in zip(buffers, parts, strict=True):
            buffer.resize_(part.shape).copy_(part)
    try:
        with _RingAttention(mesh):
            yield
    finally:
        with torch.no_grad():
            for buffer, value in zip(buffers, whole, strict=True):
                if value is not None:
                    buffer.resize_(value.shape).copy_(value)


def _part(buffer: Any, dim: int, mesh: DeviceMesh) -> Any:
    """This process's shard of a full tensor."""
    own = _chunks_of(mesh.get_local_rank(), mesh.size())
    count, length = mesh.size() * len(own), buffer.shape[dim]
    if length % count:
        raise ValueError(
            f"a sequence of {length} does not divide into {count} equal chunks, "
            f"{len(own)} for each of {mesh.size()} processes: pad it"
        )
    chunks = buffer.chunk(count, dim)
    return torch.cat([chunks[number] for number in own], dim)


def context_parallel_unshard(
    mesh: DeviceMesh, buffers: Sequence[Any], seq_dims: Sequence[int]
) -> list[Any]:
    """Gathers sharded tensors in the original order of the sequence. No gradient passes
    through it.
    """
    with torch.no_grad():
        return [_whole(b, d, mesh) for b, d in zip(buffers, seq_dims, strict=True)]


def _whole(buffer: Any, dim: int, mesh: DeviceMesh) -> Any:
    parts = [torch.empty_like(buffer, memory_format=torch.contiguous_format)
             for _ in range(mesh.size())]  # fmt: skip
    dist.all_gather(parts, buffer.contiguous(), mesh.get_group())
    found: dict[int, Any] = {}
    for rank, part in enumerate(parts):
        numbers = _chunks_of(rank, mesh.size())
        found |= dict(zip(numbers, part.chunk(len(numbers), dim), strict=True))
    return torch.cat([found[number] for number in sorted(found)], dim)
