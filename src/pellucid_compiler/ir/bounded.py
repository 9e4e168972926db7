"""Bounded: a dict with a limited number of entries.

When it is full, the least recently used entry is evicted. For caches in a process that
keeps meeting new keys. Threads may use one concurrently: every step is a single
operation of an ``OrderedDict``, which no other thread interrupts.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Bounded(Generic[K, V]):
    """At most ``most`` entries; every access of a key counts as a use."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._entries: OrderedDict[K, V] = OrderedDict()  # least recently used first

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
        """The value of ``key``, set to ``value`` if absent."""
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
