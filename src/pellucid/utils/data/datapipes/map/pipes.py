"""Indexed pipes."""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pellucid
from pellucid.utils.data.datapipes._decorator import functional_datapipe
from pellucid.utils.data.datapipes.datapipe import DataChunk, IterDataPipe, MapDataPipe
from pellucid.utils.data.datapipes.utils.common import _check_unpickable_fn


class SequenceWrapperMapDataPipe(MapDataPipe[Any]):
    """The items of a list or dict, of a deep copy unless ``deepcopy=False``."""

    def __init__(
        self, sequence: Sequence[Any] | Mapping[Any, Any], deepcopy: bool = True
    ) -> None:
        self.sequence: Any = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warnings.warn(
                    "The input sequence can not be deepcopied, please be aware of "
                    "in-place modification would affect source data",
                    stacklevel=2,
                )

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


def _same(item: Any) -> Any:
    return item


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe[Any]):
    """Applies ``fn`` to the item at an index."""

    def __init__(self, datapipe: Any, fn: Callable[[Any], Any] = _same) -> None:
        _check_unpickable_fn(fn)
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("batch")
class BatcherMapDataPipe(MapDataPipe[DataChunk]):
    """Batches of ``batch_size`` items; the last one may be shorter."""

    def __init__(
        self,
        datapipe: Any,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: type[DataChunk] = DataChunk,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size = datapipe, batch_size
        self.drop_last, self.wrapper_class = drop_last, wrapper_class

    def __getitem__(self, index: int) -> DataChunk:
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        start = index * self.batch_size
        end = min(start + self.batch_size, len(self.datapipe))
        return self.wrapper_class([self.datapipe[k] for k in range(start, end)])

    def __len__(self) -> int:
        whole = len(self.datapipe) // self.batch_size
        return whole if self.drop_last else -(-len(self.datapipe) // self.batch_size)


class _Joining(MapDataPipe[Any]):
    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(pipe, MapDataPipe) for pipe in datapipes):
            raise TypeError("Expected all inputs to be `MapDataPipe`")
        self.datapipes = datapipes


@functional_datapipe("concat")
class ConcaterMapDataPipe(_Joining):
    """Concatenates the items of all pipes."""

    def __getitem__(self, index: int) -> Any:
        left = index
        for pipe in self.datapipes:
            if left < len(pipe):
                return pipe[left]
            left -= len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class ZipperMapDataPipe(_Joining):
    """Tuples of the items of all pipes at one index."""

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(pipe[index] for pipe in self.datapipes)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


class ShufflerIterDataPipe(IterDataPipe[Any]):
    """All items in a random order: an iterable pipe of an indexed one."""

    def __init__(self, datapipe: Any, *, indices: list[Any] | None = None) -> None:
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._enabled = True
        self._seed: int | None = None
        self._rng = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Switches shuffling on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """Sets the seed of the next pass."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        order: Any = self.indices
        if self._enabled:
            if self._seed is None:
                self._seed = int(pellucid.empty((), dtype=pellucid.int64).random_())
            self._rng.seed(self._seed)
            self._seed = None
            # From the end, as PyTorch does: equal seeds give equal orders.
            order = reversed(self._rng.sample(self.indices, len(self.indices)))
        for index in order:
            yield self.datapipe[index]

    def __len__(self) -> int:
        return len(self.datapipe)


# A method of indexed pipes, though its result is iterated.
MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
