"""Gradients in buckets: consecutive parameters whose gradients are reduced as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pellucid as torch

# Ranges of the timeline, which `profiler/_timeline/storages.py` names too: of a bucket
# with its number and bytes while it is sent, its end on another thread, and the wait
# for all of them.
BUCKET = "DistributedDataParallel.bucket"
REDUCED = "DistributedDataParallel.reduced"
WAIT = "DistributedDataParallel.wait"

_FIRST_BYTES = 1024 * 1024
_LARGEST_BYTES = 25 * 1024 * 1024
_LEAST_BYTES = 64 * 1024  # a smaller all_reduce is hardly faster
_NUM_BUCKETS = 8
_ALIGNMENT = 64  # bytes, of each bucket


class Bucket:
    """A flat tensor, and a view of it for each parameter's gradient."""

    def __init__(self, index: int, numbers: list[int], flat: Any, views: list[Any]):
        self.index, self.numbers, self.flat, self.views = index, numbers, flat, views
        self.missing: set[int] = set()
        self.result: Any = None  # a Work or a Future

    def nbytes(self) -> int:
        """The total over all gradients."""
        return int(self.flat.numel() * self.flat.element_size())


class GradBucket:
    """The argument of a communication hook."""

    def __init__(self, bucket: Bucket, parameters: list[Any], is_last: bool) -> None:
        self._bucket, self._parameters, self._is_last = bucket, parameters, is_last
        self._buffer = bucket.flat

    def index(self) -> int:
        """The bucket's number, in the order of reduction."""
        return self._bucket.index

    def buffer(self) -> Any:
        """The gradients as one flat tensor."""
        return self._buffer

    def set_buffer(self, buffer: Any) -> None:
        """Replaces the flat tensor."""
        self._buffer = buffer

    def gradients(self) -> list[Any]:
        """Views of the flat tensor, one for each parameter."""
        return _views(self._buffer, self._parameters)

    def parameters(self) -> list[Any]:
        """The parameters of these gradients."""
        return list(self._parameters)

    def is_last(self) -> bool:
        """Whether this is the last bucket of the pass."""
        return self._is_last


def group_numbers(
    parameters: Sequence[Any], order: Sequence[int], bucket_bytes: int
) -> list[list[int]]:
    """Parameters by bucket. A bucket has one dtype; the first is smaller, so that its
    reduction starts early.
    """
    open_buckets: dict[Any, list[int]] = {}
    filled: dict[Any, int] = {}
    done: list[list[int]] = []
    for number in order:
        parameter = parameters[number]
        key = parameter.dtype
        limit = min(_FIRST_BYTES, bucket_bytes) if not done else bucket_bytes
        open_buckets.setdefault(key, []).append(number)
        nbytes = parameter.numel() * parameter.element_size()
        filled[key] = filled.get(key, 0) + nbytes
        if filled[key] >= limit:
            done.append(open_buckets.pop(key))
            filled[key] = 0
    return done + list(open_buckets.values())


def default_bytes(parameters: Sequence[Any]) -> int:
    """The size limit of a bucket: an eighth of all gradients. Ranks wait only for the
    last one, whose gradients are ready when backward ends.
    """
    whole = int(sum(p.numel() * p.element_size() for p in parameters))
    return min(max(whole // _NUM_BUCKETS, _LEAST_BYTES), _LARGEST_BYTES)


def bytes_for(parameters: Sequence[Any]) -> int:
    """The most memory that buckets of these parameters take, for any grouping."""
    return sum(p.numel() * p.element_size() + _ALIGNMENT for p in parameters)


def make_buckets(
    parameters: Sequence[Any], groups: list[list[int]], memory: Any
) -> list[Bucket]:
    """Buckets in ``memory``, a tensor of bytes."""
    buckets, start = [], 0
    for index, numbers in enumerate(groups):
        members = [parameters[number] for number in numbers]
        count = sum(p.numel() for p in members)
        nbytes = count * members[0].element_size()
        flat = memory[start : start + nbytes].view(members[0].dtype)
        start += -(-nbytes // _ALIGNMENT) * _ALIGNMENT
        buckets.append(Bucket(index, numbers, flat, _views(flat, members)))
    return buckets


def _views(flat: Any, members: Sequence[Any]) -> list[Any]:
    """A view for each parameter, with its shape and layout."""
    parts = flat.split([p.numel() for p in members])
    return [
        part.view(p.shape)
        if p.is_contiguous() or p.dim() == 0
        else _strided_like(part, p)
        for part, p in zip(parts, members, strict=True)
    ]


def _strided_like(part: Any, parameter: Any) -> Any:
    """A view with the layout of a dense parameter, such as channels-last weights."""
    order = sorted(range(parameter.dim()), key=parameter.stride, reverse=True)
    strides, step = [0] * parameter.dim(), 1
    for dim in reversed(order):
        strides[dim] = step
        step *= max(parameter.shape[dim], 1)
    return torch.as_strided(part, parameter.shape, strides, part.storage_offset())
