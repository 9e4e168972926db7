"""Pipes that group samples, and ungroup them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from pellucid.utils.data.datapipes._decorator import functional_datapipe
from pellucid.utils.data.datapipes.datapipe import DataChunk, IterDataPipe
from pellucid.utils.data.datapipes.utils.common import _check_unpickable_fn

__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe[Any]):
    """Batches of ``batch_size`` samples; the last one may be shorter."""

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: type[DataChunk] = DataChunk,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size = datapipe, batch_size
        self.drop_last, self.wrapper_class = drop_last, wrapper_class

    def __iter__(self) -> Iterator[DataChunk]:
        batch: list[Any] = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        count = len(self.datapipe)
        whole = count // self.batch_size
        return whole if self.drop_last else -(-count // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """Flattens batches by ``unbatch_level`` levels, or -1 for all."""

    def __init__(self, datapipe: IterDataPipe[Any], unbatch_level: int = 1) -> None:
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        if self.unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        for element in self.datapipe:
            yield from self._dive(element, self.unbatch_level)

    def _dive(self, element: Any, level: int) -> Iterator[Any]:
        is_batch = isinstance(element, (list, DataChunk))
        if level == 0 or (level == -1 and not is_batch):
            yield element
        elif not is_batch:
            raise IndexError(
                f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe"
            )
        else:
            for item in element:
                yield from self._dive(item, level if level == -1 else level - 1)


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe[Any]):
    """Chunks of samples with the same ``group_key_fn(sample)``.

    At most ``buffer_size`` samples are buffered; a group is emitted when it has
    ``group_size`` samples, or when the buffer is full and it is the largest. The rest
    is emitted at the end, in the order of the keys, unless ``drop_remaining``.
    """

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        group_key_fn: Callable[[Any], Any],
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:
        _check_unpickable_fn(group_key_fn)
        self.datapipe, self.group_key_fn = datapipe, group_key_fn
        self.keep_key, self.max_buffer_size = keep_key, buffer_size
        self.group_size = group_size
        self.guaranteed_group_size = guaranteed_group_size
        if group_size is not None and buffer_size is not None:
            if not 0 < group_size <= buffer_size:
                raise ValueError("group_size must be > 0 and <= buffer_size")
            self.guaranteed_group_size = guaranteed_group_size or group_size
        if guaranteed_group_size is not None:
            if group_size is None or not 0 < guaranteed_group_size <= group_size:
                raise ValueError(
                    "guaranteed_group_size must be > 0 and <= group_size and "
                    "group_size must be set"
                )
            self.guaranteed_group_size = guaranteed_group_size
        self.drop_remaining = drop_remaining

    def _given(self, key: Any, group: list[Any]) -> Any:
        chunk = DataChunk(group)
        return (key, chunk) if self.keep_key else chunk

    def _pop_largest(self, groups: dict[Any, list[Any]]) -> tuple[Any, list[Any]]:
        """Removes the largest group to make room; emitted if it has the guaranteed
        size.
        """
        key = max(groups, key=lambda k: len(groups[k]))
        group = groups.pop(key)
        least = self.guaranteed_group_size
        if least is not None and len(group) < least and not self.drop_remaining:
            raise RuntimeError("Failed to group items", str(group))
        return key, group

    def __iter__(self) -> Iterator[Any]:
        groups: dict[Any, list[Any]] = defaultdict(list)
        waiting, least = 0, self.guaranteed_group_size
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            groups[key].append(sample)
            waiting += 1
            if self.group_size is not None and len(groups[key]) == self.group_size:
                yield self._given(key, groups[key])
                waiting -= len(groups.pop(key))
            if waiting == self.max_buffer_size:
                key, group = self._pop_largest(groups)
                waiting -= len(group)
                if least is None or len(group) >= least:
                    yield self._given(key, group)
        if not self.drop_remaining:
            for key, group in groups.items():
                yield self._given(key, group)
