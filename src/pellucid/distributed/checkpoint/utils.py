"""Steps that all ranks take together, and values of a state by their index."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import pellucid as torch
import pellucid.distributed as dist
from pellucid.distributed.checkpoint.api import (
    WRAPPED_EXCEPTION,
    CheckpointException,
    _is_wrapped_exception,
    _wrap_exception,
)
from pellucid.distributed.checkpoint.metadata import MetadataIndex
from pellucid.distributed.tensor import DTensor

__all__ = ["find_state_dict_object", "find_tensor_shard"]

T = TypeVar("T")
R = TypeVar("R")


def _get_failure_dict(results: Sequence[Any]) -> dict[int, WRAPPED_EXCEPTION]:
    return {
        rank: each for rank, each in enumerate(results) if _is_wrapped_exception(each)
    }


def _tried(function: Callable[[], Any]) -> Any:
    """The result of a function, or its error for other ranks."""
    try:
        return function()
    except BaseException as error:
        return _wrap_exception(error)


def _raised(result: Any) -> Any:
    """A result; raises it if it is the error of a step."""
    if isinstance(result, CheckpointException):
        raise result
    return result


class _DistWrapper:
    """A group of ranks that take steps together: an error of a function on any of them
    raises CheckpointException on all. Without ``use_dist``, this process alone.
    """

    def __init__(self, group: Any, use_dist: bool, coordinator_rank: int) -> None:
        self.group, self.use_dist = group, use_dist
        self.coordinator_rank = coordinator_rank
        self.rank = dist.get_rank(group) if use_dist else 0
        self.is_coordinator = not use_dist or self.rank == coordinator_rank

    def get_rank(self) -> int:
        """This process's rank in the group."""
        return self.rank

    def get_world_size(self) -> int:
        """The number of ranks."""
        return dist.get_world_size(self.group) if self.use_dist else 1

    def broadcast_object(self, object: T | None) -> T:
        """The coordinator's object."""
        objects = [object]
        if self.use_dist:
            dist.broadcast_object_list(
                objects, group=self.group, group_src=self.coordinator_rank
            )
        return cast(T, objects[0])

    def gather_object(self, object: T) -> list[T] | None:
        """All ranks' objects, on the coordinator."""
        if not self.use_dist:
            return [object]
        found: Any = [None] * self.get_world_size() if self.is_coordinator else None
        root = self.coordinator_rank
        dist.gather_object(object, found, group=self.group, group_dst=root)
        return cast("list[T] | None", found)

    def all_gather_object(self, object: T) -> list[T]:
        """All ranks' objects, on all."""
        if not self.use_dist:
            return [object]
        found: list[Any] = [None] * self.get_world_size()
        dist.all_gather_object(found, object, self.group)
        return found

    def scatter_object(self, object_list: list[T] | None) -> T:
        """This rank's object of the coordinator's list."""
        if not self.use_dist:
            assert object_list is not None
            return object_list[0]
        found: list[Any] = [None]
        root = self.coordinator_rank
        dist.scatter_object_list(found, object_list, group=self.group, group_src=root)
        return cast(T, found[0])

    def _reduced(
        self, step: str, mapped: list[Any] | None, reduce_fun: Callable[[Any], Any]
    ) -> Any:
        """On the coordinator, ``reduce_fun`` of all results, or the error of a rank."""
        if mapped is None:
            return None
        failures = _get_failure_dict(mapped)
        result = None
        if not failures:
            result = _tried(lambda: reduce_fun(mapped))
            if _is_wrapped_exception(result):
                failures = {self.rank: result}
        return CheckpointException(step, failures) if failures else result

    def reduce_scatter(
        self,
        step: str,
        map_fun: Callable[[], T],
        reduce_fun: Callable[[list[T]], list[R]],
    ) -> R:
        """``map_fun`` on all ranks, ``reduce_fun`` of the results on the coordinator,
        and to each rank one of its results.
        """
        found = self._reduced(step, self.gather_object(_tried(map_fun)), reduce_fun)
        if isinstance(found, CheckpointException):
            found = [found] * self.get_world_size()
        return cast(R, _raised(self.scatter_object(found)))

    def all_reduce(
        self, step: str, map_fun: Callable[[], T], reduce_fun: Callable[[list[T]], R]
    ) -> R:
        """``map_fun`` on all ranks, ``reduce_fun`` of the results on the coordinator,
        and its result to all.
        """
        found = self._reduced(step, self.gather_object(_tried(map_fun)), reduce_fun)
        return cast(R, _raised(self.broadcast_object(found)))

    def all_gather(self, step: str, map_fun: Callable[[], T]) -> list[T]:
        """``map_fun`` on all ranks; all results to all."""
        found = self.all_gather_object(_tried(map_fun))
        if failures := _get_failure_dict(found):
            raise CheckpointException(step, failures)
        return found

    def broadcast(self, step: str, map_fun: Callable[[], T]) -> T:
        """``map_fun`` on the coordinator; its result to all."""
        found = None
        if self.is_coordinator:
            found = _tried(map_fun)
            if _is_wrapped_exception(found):
                found = CheckpointException(step, {self.rank: found})
        return cast(T, _raised(self.broadcast_object(found)))

    def barrier(self) -> None:
        """Waits for all ranks."""
        if self.use_dist:
            dist.barrier(group=self.group)


def _all_gather_keys(local_dict: dict[str, Any], group: Any = None) -> set[str]:
    """The keys of all ranks' dicts."""
    found: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(found, list(local_dict), group)
    return {key for keys in found for key in keys}


def _assert_same_keys(state_dict: dict[str, Any], process_group: Any = None) -> None:
    """AssertionError if another rank's state has keys that this one lacks."""
    missing = _all_gather_keys(state_dict, process_group) - state_dict.keys()
    if missing:
        raise AssertionError(
            f"Key(s) present in other ranks but not this one, difference: {missing}"
        )


def find_tensor_shard(tensor: torch.Tensor, index: MetadataIndex) -> torch.Tensor:
    """The part of a tensor that this process has, at the index's offset."""
    if hasattr(tensor, "__get_tensor_shard__"):
        return cast(torch.Tensor, tensor.__get_tensor_shard__(index))
    if isinstance(tensor, DTensor):
        return tensor.to_local()
    if index.offset is not None and any(index.offset):
        raise ValueError(
            f"FQN: '{index.fqn}' is not a ShardedTensor, can't find by offset: "
            f"'{index.offset}'"
        )
    return tensor


def find_state_dict_object(state_dict: dict[str, Any], index: MetadataIndex) -> Any:
    """The value of a flat state that an index names."""
    if index.fqn not in state_dict:
        raise ValueError(f"Could not find FQN: '{index.fqn}'")
    value = state_dict[index.fqn]
    if isinstance(value, torch.Tensor):
        return find_tensor_shard(value, index)
    if index.offset is not None:
        raise ValueError(
            f"FQN: '{index.fqn}' is not a ShardedTensor, can't find by offset: "
            f"'{index.offset}'"
        )
    return value


def narrow_tensor_by_index(
    tensor: torch.Tensor, offsets: Sequence[int], sizes: Sequence[int]
) -> torch.Tensor:
    """The box of a tensor at ``offsets``, a view."""
    box = zip(offsets, sizes, strict=True)
    return tensor[tuple(slice(first, first + size) for first, size in box)]


def _element_wise_add(a: Sequence[int], b: Sequence[int]) -> list[int]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _element_wise_sub(a: Sequence[int], b: Sequence[int]) -> list[int]:
    return [x - y for x, y in zip(a, b, strict=True)]


class _ReaderView(io.RawIOBase):
    """``length`` bytes of a file from ``offset`` on, as a file of their own."""

    def __init__(self, base_stream: Any, offset: int, length: int) -> None:
        super().__init__()
        self._base, self._offset, self._length = base_stream, offset, length
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        begin = {
            os.SEEK_SET: 0,
            os.SEEK_CUR: self._place,
            os.SEEK_END: self._length,
        }[whence]
        self._place = max(0, begin + offset)
        return self._place

    def tell(self) -> int:
        return self._place

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, self._length - self._place)
        count = left if size is None or size < 0 else min(size, left)
        self._base.seek(self._offset + self._place)
        data: bytes = self._base.read(count)
        self._place += len(data)
        return data

    def readinto(self, buffer: Any, /) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _create_file_view(file: Any, offset: int, length: int) -> io.RawIOBase:
    return _ReaderView(file, offset, length)
