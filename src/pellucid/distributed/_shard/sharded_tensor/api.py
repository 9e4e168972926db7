"""``ShardedTensor``: a tensor of which each process has parts.

Checkpoints store and load its parts by the protocol of ``checkpoint/planner_helpers``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import pellucid as torch
import pellucid.distributed as dist
from pellucid import _C
from pellucid.distributed._shard._utils import narrow_tensor
from pellucid.distributed._shard.metadata import ShardMetadata
from pellucid.distributed._shard.sharded_tensor.metadata import (
    ShardedTensorMetadata,
    TensorProperties,
)
from pellucid.distributed._shard.sharded_tensor.ops import OPS, copied
from pellucid.distributed._shard.sharded_tensor.shard import Shard
from pellucid.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    MetadataIndex,
)
from pellucid.distributed.checkpoint.planner import (
    TensorWriteData,
    WriteItem,
    WriteItemType,
)
from pellucid.overrides import DisableTorchFunctionSubclass

_custom_ops: dict[Any, Callable[..., Any]] = {}
"""What programs have registered, by function."""


def flatten_size(size: Sequence[Any]) -> torch.Size:
    """The sizes of ``(2, 3)`` or ``((2, 3),)``."""
    is_one = len(size) == 1 and isinstance(size[0], (list, tuple))
    return torch.Size(size[0] if is_one else size)


class ShardedTensorBase(torch.Tensor):
    """A tensor of parts without the processes that have them."""

    _metadata: ShardedTensorMetadata
    _local_shards: list[Shard]
    _sharding_spec: Any

    @staticmethod
    def _made(cls: Any, spec: Any, metadata: ShardedTensorMetadata) -> Any:
        """A tensor of this metadata, without parts."""
        dtype = metadata.tensor_properties.dtype
        geometry = torch.empty(metadata.size, dtype=dtype, device="meta")
        made = _C._make_wrapper(cls, geometry, torch.device("cpu"), 0)
        made._metadata, made._sharding_spec = metadata, spec
        made._local_shards = []
        if metadata.tensor_properties.requires_grad:
            with DisableTorchFunctionSubclass():
                made.requires_grad_()
        return made

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise RuntimeError(
            f"torch function '{func}' is not supported for ShardedTensor: register it "
            "by custom_sharded_op_impl, compute on local_tensor(), or use DTensor"
        )

    def metadata(self) -> ShardedTensorMetadata:
        """Where all parts are."""
        return self._metadata

    def local_shards(self) -> list[Shard]:
        """The parts of this process."""
        return self._local_shards


class ShardedTensor(ShardedTensorBase):
    """A tensor cut by ``sharding_spec``; this process's parts are uninitialised. All
    ranks of the group make it.

    Example::

        spec = ChunkShardingSpec(dim=0, placements=["rank:0/cpu", "rank:1/cpu"])
        x = ShardedTensor(spec, 10, 4)
        x.local_tensor()  # (5, 4)
    """

    _process_group: Any

    def __new__(cls, sharding_spec: Any, *size: Any, **kwargs: Any) -> ShardedTensor:
        group, init_rrefs = (
            kwargs.pop("process_group", None),
            kwargs.pop("init_rrefs", False),
        )
        if init_rrefs:
            raise NotImplementedError(
                "init_rrefs: parts of other processes are not reached by RPC here; "
                "gather() collects them"
            )
        properties = TensorProperties(**kwargs)
        metadata = sharding_spec.build_metadata(flatten_size(size), properties)
        made: ShardedTensor = cls._made(cls, sharding_spec, metadata)
        made._process_group = group
        rank = dist.get_rank()
        for each in metadata.shards_metadata:
            if rank_of(each) == rank:
                part = torch.empty(
                    each.shard_sizes,
                    dtype=properties.dtype,
                    requires_grad=properties.requires_grad,
                )
                made._local_shards.append(Shard(part, each))
        return made

    def __init__(self, *_: Any, **__: Any) -> None:
        """Nothing: it is made by ``__new__``."""

    @classmethod
    def _init_from_local_shards_and_global_metadata(
        cls,
        local_shards: list[Shard],
        sharded_tensor_metadata: ShardedTensorMetadata,
        process_group: Any = None,
        init_rrefs: bool = False,
        sharding_spec: Any = None,
    ) -> ShardedTensor:
        """A tensor of these parts, without communication."""
        rank, known = dist.get_rank(), sharded_tensor_metadata.shards_metadata
        expected = [each for each in known if rank_of(each) == rank]
        if [shard.metadata for shard in local_shards] != expected:
            raise RuntimeError(
                f"rank {rank}: the local shards are {local_shards}; by the metadata "
                f"they are {expected}"
            )
        made: ShardedTensor = cls._made(cls, sharding_spec, sharded_tensor_metadata)
        made._process_group, made._local_shards = process_group, local_shards
        return made

    @classmethod
    def _init_from_local_tensor(
        cls,
        local_tensor: torch.Tensor,
        sharding_spec: Any,
        *global_size: Any,
        process_group: Any = None,
        init_rrefs: bool = False,
    ) -> ShardedTensor:
        """A tensor whose only part on this rank is ``local_tensor``."""
        properties = TensorProperties.create_from_tensor(local_tensor)
        metadata = sharding_spec.build_metadata(flatten_size(global_size), properties)
        rank = dist.get_rank()
        shards = [
            Shard(local_tensor, each)
            for each in metadata.shards_metadata
            if rank_of(each) == rank
        ]
        return cls._init_from_local_shards_and_global_metadata(
            *(shards, metadata, process_group), sharding_spec=sharding_spec
        )

    def reshard(self, resharding_spec: Any) -> ShardedTensor:
        """Cuts it in another way, through rank 0; all ranks of the group call it."""
        properties = self._metadata.tensor_properties
        whole = torch.empty(self._metadata.size, dtype=properties.dtype)
        group = self._process_group
        self.gather(0, whole if dist.get_rank(group) == 0 else None)
        whole.requires_grad_(properties.requires_grad)
        made = resharding_spec.shard(whole, 0, group)
        self._metadata, self._local_shards = made._metadata, made._local_shards
        self._sharding_spec = resharding_spec
        return self

    def remote_shards(self) -> dict[int, list[Any]]:
        """Refused: parts of other processes are collected by ``gather``."""
        raise RuntimeError("RPC does not reach the parts of other ranks: call gather()")

    def sharding_spec(self) -> Any:
        """How it is cut."""
        return self._sharding_spec

    def local_tensor(self) -> torch.Tensor:
        """The only part of this process."""
        if len(self._local_shards) != 1:
            raise NotImplementedError(
                f"local_tensor() takes one local shard, not {len(self._local_shards)}"
            )
        return self._local_shards[0].tensor

    def gather(  # type: ignore[override]
        self,
        dst: int = 0,
        out: torch.Tensor | None = None,
        enforce_dtype: bool = False,
        dtype: torch.dtype | None = None,
    ) -> None:
        """Copies all parts to ``out``, a tensor of the whole's sizes on rank ``dst`` of
        the group, None on the others.
        """
        group = self._process_group
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        whole = self._metadata.size
        if (out is not None) != (rank == dst):
            raise ValueError(f"out is needed on rank {dst}, and on no other rank")
        if out is not None and out.shape != whole:
            raise ValueError(f"out has the sizes {out.shape} instead of {whole}")
        counts = [
            sum(math.prod(each.shard_sizes) for each in self._of(group, other))
            for other in range(size)
        ]
        kind = dtype or self._metadata.tensor_properties.dtype
        flat = torch.zeros(max(counts), dtype=kind)
        own = [shard.tensor.detach().reshape(-1) for shard in self._local_shards]
        if own:
            flat[: counts[rank]] = torch.cat(own)
        rows = [torch.empty_like(flat) for _ in counts] if rank == dst else None
        target = dst if group is None else dist.get_global_rank(group, dst)
        dist.gather(flat, rows, dst=target, group=group)
        for other, row in enumerate(rows or ()):
            place = 0
            for each in self._of(group, other):
                count = math.prod(each.shard_sizes)
                part = row[place : place + count].view(each.shard_sizes)
                assert out is not None
                narrow_tensor(out, each).copy_(part)
                place += count

    def _of(self, group: Any, rank: int) -> list[ShardMetadata]:
        """The parts of a rank of the group, in order."""
        number = rank if group is None else dist.get_global_rank(group, rank)
        return [e for e in self._metadata.shards_metadata if rank_of(e) == number]

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func in _custom_ops:
            group = next(x for x in args if isinstance(x, ShardedTensor))._process_group
            return _custom_ops[func](types, args, kwargs, group)
        if func in OPS:
            return OPS[func](*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs or {})

    def __repr__(self) -> str:  # type: ignore[override]
        return f"ShardedTensor({self._metadata})"

    def __hash__(self) -> int:
        return id(self)

    def __copy__(self) -> ShardedTensor:
        made: ShardedTensor = copied(self, lambda part: part)
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        group = self._process_group
        place = dist.get_rank(group), dist.get_world_size(group)
        is_param = "_is_param" in self.__dict__
        facts = self._local_shards, self._metadata, self._sharding_spec
        return _rebuilt, (*facts, place, is_param)

    # Checkpoints

    def __create_write_items__(self, fqn: str, value: Any) -> list[WriteItem]:
        """The parts to store."""
        properties, size = self._metadata.tensor_properties, self._metadata.size
        return [
            WriteItem(
                MetadataIndex(fqn, chunk.offsets),
                WriteItemType.SHARD,
                tensor_data=TensorWriteData(chunk, properties, size),
            )
            for chunk in self.__create_chunk_list__()
        ]

    def __create_chunk_list__(self) -> list[ChunkStorageMetadata]:
        """Where the parts of this process are."""
        return [
            ChunkStorageMetadata(
                torch.Size(shard.metadata.shard_offsets),
                torch.Size(shard.metadata.shard_sizes),
            )
            for shard in self._local_shards
        ]

    def __get_tensor_shard__(self, index: MetadataIndex) -> torch.Tensor:
        """The values of a part."""
        for shard in self._local_shards:
            if tuple(shard.metadata.shard_offsets) == tuple(index.offset or ()):
                return shard.tensor.detach()
        raise ValueError(f"{index.fqn}: this process has no part at {index.offset}")


_loading: ContextVar[Any] = ContextVar("group of loaded ShardedTensors", default=None)


@contextmanager
def load_with_process_group(process_group: Any) -> Iterator[Any]:
    """A context in which ShardedTensors are unpickled as tensors of this group."""
    if _loading.get() is not None:
        raise RuntimeError("load_with_process_group cannot be nested")
    token = _loading.set(process_group)
    try:
        yield process_group
    finally:
        _loading.reset(token)


def _get_current_process_group() -> Any:
    """The group of ``load_with_process_group``, or the default one."""
    group = _loading.get()
    return dist.group.WORLD if group is None else group


def _rebuilt(
    shards: list[Shard],
    metadata: ShardedTensorMetadata,
    spec: Any,
    place: tuple[int, int],
    is_param: bool,
) -> ShardedTensor:
    """A tensor from a pickle, which the same rank of as large a group reads."""
    group = _loading.get()
    now = dist.get_rank(group), dist.get_world_size(group)
    if now != place:
        raise RuntimeError(
            f"a ShardedTensor of rank {place[0]} of {place[1]} is loaded by rank "
            f"{now[0]} of {now[1]}: use torch.distributed.checkpoint for other ranks"
        )
    made = ShardedTensor._init_from_local_shards_and_global_metadata(
        shards, metadata, group, sharding_spec=spec
    )
    if is_param:
        made.__dict__["_is_param"] = True
    return made


def rank_of(metadata: ShardMetadata) -> int:
    """The rank that has a part."""
    rank = None if metadata.placement is None else metadata.placement.rank()
    if rank is None:
        raise ValueError(
            f"the placement {metadata.placement} names no rank: give 'rank:0/cpu'"
        )
    return rank
