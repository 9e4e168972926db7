"""Pipes that change the order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pellucid
from pellucid.utils.data.datapipes._decorator import functional_datapipe
from pellucid.utils.data.datapipes.datapipe import IterDataPipe
from pellucid.utils.data.sampler import Sampler, SequentialSampler

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]


class SamplerIterDataPipe(IterDataPipe[Any]):
    """The samples in the order of a sampler of the pipe."""

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        sampler: type[Sampler[Any]] = SequentialSampler,
        sampler_args: tuple[Any, ...] | None = None,
        sampler_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self.datapipe = datapipe
        self.sampler_args, self.sampler_kwargs = (
            sampler_args or (),
            sampler_kwargs or {},
        )
        named = {**self.sampler_kwargs, "data_source": datapipe}
        self.sampler: Any = sampler(*self.sampler_args, **named)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return len(self.sampler)


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(IterDataPipe[Any]):
    """The samples in a random order, drawn from a buffer of ``buffer_size``.

    The seed is drawn from the default generator at each pass, unless ``set_seed`` gave
    one for the next pass. ``set_shuffle(False)`` switches it off, as a DataLoader with
    ``shuffle=False`` does.
    """

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        *,
        buffer_size: int = 10000,
        unbatch_level: int = 0,
    ) -> None:
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe: Any = datapipe
        if unbatch_level:
            self.datapipe = datapipe.unbatch(unbatch_level=unbatch_level)
        self.buffer_size = buffer_size
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

    def reset(self) -> None:
        if not self._enabled:
            return
        if self._seed is None:
            self._seed = int(pellucid.empty((), dtype=pellucid.int64).random_())
        self._rng.seed(self._seed)
        self._seed = None

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        buffer: list[Any] = []
        for sample in self.datapipe:
            if len(buffer) == self.buffer_size:
                k = self._rng.randint(0, len(buffer) - 1)
                given, buffer[k] = buffer[k], sample
                yield given
            else:
                buffer.append(sample)
        while buffer:
            yield buffer.pop(self._rng.randint(0, len(buffer) - 1))

    def __len__(self) -> int:
        return len(self.datapipe)
