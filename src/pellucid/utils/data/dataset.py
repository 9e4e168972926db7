"""Datasets: by index (``Dataset``) or as a stream (``IterableDataset``)."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

import pellucid
from pellucid import Tensor

_T_co = TypeVar("_T_co", covariant=True)


class Dataset(Generic[_T_co]):
    """Samples by index: define ``__getitem__`` and, for most samplers, ``__len__``.

    A ``__getitems__(indices)`` that returns a list, if defined, fetches whole batches.
    """

    def __getitem__(self, index: Any) -> _T_co:
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """Samples in the order of ``__iter__``, which every subclass defines."""

    def __add__(self, other: Dataset[Any]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Tensors of equal first size; sample i is a tuple of their rows i."""

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            sizes = [tensor.size(0) for tensor in tensors]
            raise AssertionError(f"the tensors' first sizes differ: {sizes}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        length: int = self.tensors[0].size(0)
        return length


class StackDataset(Dataset[Any]):
    """Datasets of equal length; sample i is a tuple or dict of their samples i."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("give datasets by position or by keyword, not both")
        if not args and not kwargs:
            raise ValueError("give at least one dataset")
        self.datasets: Any = args or kwargs
        lengths = [len(dataset) for dataset in args or kwargs.values()]
        if len(set(lengths)) > 1:
            raise ValueError(f"the datasets' lengths differ: {lengths}")
        self._length = lengths[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: data[index] for name, data in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """The samples at ``indices``, fetched together if a dataset supports it."""
        if isinstance(self.datasets, dict):
            fetched = [_fetch(data, indices) for data in self.datasets.values()]
            names = tuple(self.datasets)
            rows = zip(*fetched, strict=True)
            return [dict(zip(names, row, strict=True)) for row in rows]
        fetched = [_fetch(dataset, indices) for dataset in self.datasets]
        return list(zip(*fetched, strict=True))

    def __len__(self) -> int:
        return self._length


def _fetch(dataset: Any, indices: list[int]) -> list[Any]:
    """The samples at ``indices``, by ``__getitems__`` if the dataset has it."""
    fetch_all = getattr(dataset, "__getitems__", None)
    if not callable(fetch_all):
        return [dataset[index] for index in indices]
    items: list[Any] = fetch_all(indices)
    if len(items) != len(indices):
        raise ValueError(
            f"{type(dataset).__name__}.__getitems__ returned {len(items)} samples for "
            f"{len(indices)} indices"
        )
    return items


def _fetch_batch(dataset: Any, indices: list[int]) -> list[Tensor] | None:
    """The batch that ``default_collate`` makes of the samples at ``indices``, or None.

    Rows of a TensorDataset are gathered in one op, equivalent to stacking them.
    """
    if type(dataset) is not TensorDataset or not all(map(_is_int, indices)):
        return None
    rows = pellucid.tensor(indices, dtype=pellucid.int64)
    for tensor in dataset.tensors:
        length = tensor.size(0)
        if not all(-length <= i < length for i in indices) or tensor.requires_grad:
            return None  # one by one: for the same errors, or recording
    rows = rows % max(len(dataset), 1)
    return [tensor.index_select(0, rows) for tensor in dataset.tensors]


def _is_int(index: Any) -> bool:
    return type(index) is int


class ConcatDataset(Dataset[_T_co]):
    """The concatenation of datasets."""

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets: list[Any] = list(datasets)
        if not self.datasets:
            raise AssertionError("give at least one dataset")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError(
                "an IterableDataset has no indices; use ChainDataset for those"
            )
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The cumulative sums of the lengths."""
        return list(accumulate(len(dataset) for dataset in sequence))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        if idx < 0:
            if -idx > len(self):
                raise ValueError(
                    f"index {idx} is out of range: there are {len(self)} samples"
                )
            idx += len(self)
        position = bisect_right(self.cumulative_sizes, idx)
        before = self.cumulative_sizes[position - 1] if position else 0
        return self.datasets[position][idx - before]


class ChainDataset(IterableDataset[Any]):
    """The concatenation of iterable datasets."""

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(
                    f"ChainDataset needs IterableDatasets, not {type(dataset).__name__}"
                )
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset[_T_co]):
    """The samples of ``dataset`` at ``indices``."""

    def __init__(self, dataset: Dataset[_T_co], indices: Sequence[int]) -> None:
        own = type(self)
        if (
            own.__getitem__ is not Subset.__getitem__
            and own.__getitems__ is Subset.__getitems__
        ):
            raise NotImplementedError(
                f"{own.__name__} overrides __getitem__, which DataLoader does not call "
                "when there is a __getitems__; override that as well: "
                "return [self[i] for i in indices]"
            )
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """The samples at ``indices``, fetched together if the dataset supports it."""
        return _fetch(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[float], generator: Any = None
) -> list[Subset[Any]]:
    """Disjoint random subsets of the given lengths, or of fractions that sum to 1.

    Samples left over by fractions are added to the first subsets, one each.
    """
    total = sum(lengths)
    counts: list[Any] = list(lengths)
    if math.isclose(total, 1) and total <= 1:
        counts = _counts_of(lengths, len(dataset))
    if sum(counts) != len(dataset):
        raise ValueError(
            f"the lengths sum to {sum(counts)}; the dataset has {len(dataset)} samples"
        )
    order = pellucid.randperm(sum(counts), generator=generator).tolist()
    ends = accumulate(counts)
    return [
        Subset(dataset, order[end - count : end])
        for end, count in zip(ends, counts, strict=True)
    ]


def _counts_of(fractions: Sequence[float], length: int) -> list[int]:
    for index, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"fraction {index} must be between 0 and 1: {fraction}")
    counts = [math.floor(length * fraction) for fraction in fractions]
    for index in range(length - sum(counts)):
        counts[index % len(counts)] += 1
    for index, count in enumerate(counts):
        if count == 0:
            warnings.warn(f"subset {index} is empty", stacklevel=3)
    return counts
