"""Bounded: a dict of which only so many entries are remembered.

Where a new one is one too many, the one that was used longest ago goes. For caches by
key in a process that meets new keys for ever. Threads may use one at once: every step
is a single one of an ``OrderedDict``, which no other thread interrupts.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Bounded(Generic[K, V]):
    """At most ``most`` entries; every call that names a key counts as a use of it."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._entries: OrderedDict[K, V] = OrderedDict()  # used longest ago first

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        value = self._entries.get(key)
        if value is not None:
            self._used(key)
        return value

    def put(self, key: K, value: V) -> V:
        self._entries[key] = value
        self._used(key)
        return value

    def setdefault(self, key: K, value: V) -> V:
        """The value of ``key``, which is ``value`` if it had none."""
        found = self._entries.setdefault(key, value)
        self._used(key)
        return found

    def update(self, entries: Mapping[K, V]) -> None:
        for key, value in entries.items():
            self.put(key, value)

    def _used(self, key: K) -> None:
        with suppress(KeyError):  # another thread removed it
            self._entries.move_to_end(key)
        while len(self._entries) > self.most:
            with suppress(KeyError):
                self._entries.popitem(last=False)
