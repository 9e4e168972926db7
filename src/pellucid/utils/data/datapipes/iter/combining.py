"""Pipes that combine several pipes or split one."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from pellucid.utils.data.datapipes._decorator import functional_datapipe
from pellucid.utils.data.datapipes.datapipe import IterDataPipe
from pellucid.utils.data.datapipes.utils.common import _check_unpickable_fn

__all__ = [
    "ConcaterIterDataPipe",
    "DemultiplexerIterDataPipe",
    "ForkerIterDataPipe",
    "MultiplexerIterDataPipe",
    "ZipperIterDataPipe",
]


class _Joining(IterDataPipe[Any]):
    """A pipe that reads several."""

    def __init__(self, *datapipes: IterDataPipe[Any]) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
            raise TypeError("Expected all inputs to be `IterDataPipe`")
        self.datapipes: tuple[Any, ...] = datapipes


@functional_datapipe("concat")
class ConcaterIterDataPipe(_Joining):
    """Concatenates the samples of all pipes."""

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class ZipperIterDataPipe(_Joining):
    """Tuples of one sample of each pipe, until the shortest ends."""

    def __iter__(self) -> Iterator[Any]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


@functional_datapipe("mux")
class MultiplexerIterDataPipe(_Joining):
    """A sample of each pipe in turn, until the shortest ends."""

    def __iter__(self) -> Iterator[Any]:
        for samples in zip(*self.datapipes, strict=False):
            yield from samples

    def __len__(self) -> int:
        return min(map(len, self.datapipes)) * len(self.datapipes)


class _Divided:
    """Reads a pipe for several children: samples that one child has read and others
    have not are buffered.
    """

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        num_instances: int,
        choose: Callable[[Any], Any],
        buffer_size: int,
        copied: Callable[[Any], Any],
    ) -> None:
        self.main_datapipe, self.num_instances = datapipe, num_instances
        self.choose, self.buffer_size, self.copied = choose, buffer_size, copied
        self.round = 0
        self.restart()

    def restart(self) -> None:
        """Clears the buffers."""
        self.round += 1
        self.source: Iterator[Any] | None = None
        self.started: set[int] = set()
        self.ended: set[int] = set()
        self.buffers: list[deque[Any]] = [deque() for _ in range(self.num_instances)]

    def begin(self, child: int) -> int:
        """Starts a child's pass; if it was reading already, restarts all children."""
        if child in self.started:
            if len(self.ended) < self.num_instances:
                warnings.warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. "
                    "We are resetting the buffer and each child DataPipe will read "
                    "from the start again.",
                    stacklevel=4,
                )
            self.restart()
        self.started.add(child)
        return self.round

    def read(self, child: int) -> Iterator[Any]:
        """The samples of a child."""
        number, own = self.begin(child), self.buffers[child]
        while True:
            if number != self.round:
                raise RuntimeError(
                    "This iterator has been invalidated, because a new iterator has "
                    f"been created from one of the ChildDataPipes of "
                    f"{self.main_datapipe!r}"
                )
            if own:
                yield own.popleft()
            elif not self._fetch():
                self.ended.add(child)
                return

    def _fetch(self) -> bool:
        """Reads one sample into the buffers that get it; False at the end."""
        if self.source is None:
            self.source = iter(self.main_datapipe)
        try:
            sample = next(self.source)
        except StopIteration:
            return False
        for child in self.choose(sample):
            self.buffers[child].append(self.copied(sample))
        if 0 <= self.buffer_size < max(map(len, self.buffers)):
            raise BufferError(
                "a child pipe is further behind than the buffer of "
                f"{self.buffer_size} samples allows: read the children in turn, or "
                "give a larger buffer_size (-1 for any)"
            )
        return True

    def __getstate__(self) -> dict[str, Any]:
        unread: dict[str, Any] = {"source": None, "started": set(), "ended": set()}
        empty = [deque[Any]() for _ in self.buffers]
        return {**self.__dict__, **unread, "buffers": empty}


class _ChildDataPipe(IterDataPipe[Any]):
    """One of the pipes that read the same pipe."""

    def __init__(self, main_datapipe: _Divided, instance_id: int) -> None:
        self.main_datapipe, self.instance_id = main_datapipe, instance_id

    def __iter__(self) -> Iterator[Any]:
        return self.main_datapipe.read(self.instance_id)

    def __len__(self) -> int:
        if isinstance(self.main_datapipe.choose, _All):
            return len(self.main_datapipe.main_datapipe)
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


class _All:
    """Passes every sample to every child."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self, sample: Any) -> Any:
        return range(self.count)


class _One:
    """Passes a sample to the child chosen by a function; None may be dropped."""

    def __init__(self, count: int, classify: Any, drop_none: bool) -> None:
        self.count, self.classify, self.drop_none = count, classify, drop_none

    def __call__(self, sample: Any) -> Any:
        child = self.classify(sample)
        if child is None and self.drop_none:
            return ()
        if child is None or not 0 <= child < self.count:
            raise ValueError(
                f"Output of the classification fn should be between 0 and "
                f"{self.count - 1}. {child} is returned."
            )
        return (child,)


def _same(sample: Any) -> Any:
    return sample


def _copying(copy: str | None) -> Callable[[Any], Any]:
    if copy is None:
        return _same
    import copy as functions

    chosen = {"shallow": functions.copy, "deep": functions.deepcopy}.get(copy)
    if chosen is None:
        raise ValueError(f"Unknown copy method {copy}: give None, 'shallow' or 'deep'")
    return chosen


def _divided(
    datapipe: Any, num_instances: int, choose: Any, buffer_size: int, copied: Any
) -> list[_ChildDataPipe]:
    if num_instances < 1:
        raise ValueError(
            f"Expected `num_instances` larger than 0, but {num_instances} is found"
        )
    if buffer_size < 0:
        warnings.warn(
            "Unlimited buffer size is set, OOM errors may occur", stacklevel=3
        )
    main = _Divided(datapipe, num_instances, choose, buffer_size, copied)
    return [_ChildDataPipe(main, child) for child in range(num_instances)]


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe[Any]):
    """``num_instances`` pipes with the samples of this one. At most ``buffer_size``
    samples are buffered for slower readers; ``copy`` is "shallow", "deep" or None.
    """

    def __new__(  # type: ignore[misc]
        cls,
        datapipe: IterDataPipe[Any],
        num_instances: int,
        buffer_size: int = 1000,
        copy: str | None = None,
    ) -> list[_ChildDataPipe]:
        choose = _All(num_instances)
        if num_instances == 1:
            return [datapipe]  # type: ignore[list-item]
        return _divided(datapipe, num_instances, choose, buffer_size, _copying(copy))


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe[Any]):
    """``num_instances`` pipes: ``classifier_fn`` returns the number of the pipe for
    each sample. With ``drop_none``, samples for which it returns None are dropped.
    """

    def __new__(  # type: ignore[misc]
        cls,
        datapipe: IterDataPipe[Any],
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> list[_ChildDataPipe]:
        _check_unpickable_fn(classifier_fn)
        choose = _One(num_instances, classifier_fn, drop_none)
        return _divided(datapipe, num_instances, choose, buffer_size, _same)
