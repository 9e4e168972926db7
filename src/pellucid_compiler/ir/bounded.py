"""Bounded: a dict of which only so many entries are remembered.

Where a new one is one too many, the one that was used longest ago goes. For caches by
key in a process that meets new keys for ever. Not thread-safe: the caller has a lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Bounded(Generic[K, V]):
    """At most ``most`` entries; ``get`` counts as a use, and so does ``put``."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._entries: dict[K, V] = {}  # the one used longest ago first

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        if key not in self._entries:
            return None
        value = self._entries[key] = self._entries.pop(key)
        return value

    def put(self, key: K, value: V) -> V:
        self._entries.pop(key, None)
        self._entries[key] = value
        while len(self._entries) > self.most:
            del self._entries[next(iter(self._entries))]
        return value

    def update(self, entries: Mapping[K, V]) -> None:
        for key, value in entries.items():
            self.put(key, value)
