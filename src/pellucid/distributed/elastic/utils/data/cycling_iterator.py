"""``CyclingIterator``: epochs one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

__all__ = ["CyclingIterator"]

T = TypeVar("T")


class CyclingIterator(Iterator[T]):
    """The items of ``generator_fn(epoch)`` for the epochs ``start_epoch`` to ``n - 1``.

    Example::

        for batch in CyclingIterator(3, lambda epoch: iter(loader)):
            ...
    """

    def __init__(
        self, n: int, generator_fn: Callable[[int], Iterator[T]], start_epoch: int = 0
    ) -> None:
        self._n, self._epoch, self._generator_fn = n, start_epoch, generator_fn
        self._iter = generator_fn(start_epoch)

    def __iter__(self) -> CyclingIterator[T]:
        return self

    def __next__(self) -> T:
        while True:
            try:
                return next(self._iter)
            except StopIteration:
                if self._epoch >= self._n - 1:
                    raise
            self._epoch += 1
            self._iter = self._generator_fn(self._epoch)
