"""Samplers: the order in which a DataLoader takes indices.

The random ones make PyTorch's random calls, so a seed gives the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

import pellucid

_T_co = TypeVar("_T_co", covariant=True)


class Sampler(Generic[_T_co]):
    """Base class: ``__iter__`` yields indices, or lists of them."""

    def __iter__(self) -> Iterator[_T_co]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")


def _require_count(value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"num_samples must be a positive int, not {value!r}")


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ..."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """A shuffled order, or ``num_samples`` draws ``replacement``."""

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement must be bool, not {replacement!r}")
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        _require_count(self.num_samples)

    @property
    def num_samples(self) -> int:
        """The number of indices per pass; a dataset may grow between passes."""
        if self._num_samples is None:
            return len(self.data_source)
        return self._num_samples

    def _own_generator(self) -> Any:
        if self.generator is not None:
            return self.generator
        seed = int(pellucid.empty((), dtype=pellucid.int64).random_().item())
        generator = pellucid.Generator()
        generator.manual_seed(seed)
        return generator

    def __iter__(self) -> Iterator[int]:
        length, count = len(self.data_source), self.num_samples
        generator = self._own_generator()
        if self.replacement:
            sizes = [32] * (count // 32) + [count % 32]
            for size in sizes:
                yield from pellucid.randint(
                    high=length,
                    size=(size,),
                    dtype=pellucid.int64,
                    generator=generator,
                ).tolist()
            return
        for _ in range(count // length):
            yield from pellucid.randperm(length, generator=generator).tolist()
        rest = pellucid.randperm(length, generator=generator).tolist()
        yield from rest[: count % length]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in a random order."""

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        order = pellucid.randperm(len(self.indices), generator=self.generator)
        return (self.indices[i] for i in order.tolist())

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """``num_samples`` indices drawn with the given (unnormalised) weights."""

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Any = None,
    ) -> None:
        _require_count(num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement must be bool, not {replacement!r}")
        self.weights = pellucid.as_tensor(weights, dtype=pellucid.float64)
        if self.weights.ndim != 1:
            raise ValueError(
                "weights must have one dimension, not shape "
                f"{tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = pellucid.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of ``batch_size`` indices; ``drop_last`` leaves out a shorter last one."""

    def __init__(
        self, sampler: Iterable[int], batch_size: int, drop_last: bool
    ) -> None:
        if (
            not isinstance(batch_size, int)
            or isinstance(batch_size, bool)
            or batch_size <= 0
        ):
            raise ValueError(f"batch_size must be a positive int, not {batch_size!r}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last must be bool, not {drop_last!r}")
        self.sampler: Any = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)
