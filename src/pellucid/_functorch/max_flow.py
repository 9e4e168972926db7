"""The least cut of a network, by Dinic's algorithm. Used by ``partitioners.py``."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from itertools import pairwise

_INFINITE = 1 << 62


class Network:
    """Edges with capacities between any hashable things; None is unlimited."""

    def __init__(self) -> None:
        self._left: dict[Hashable, dict[Hashable, int]] = {}

    def add(self, start: Hashable, end: Hashable, capacity: int | None) -> None:
        """Add an edge."""
        edges = self._left.setdefault(start, {})
        more = _INFINITE if capacity is None else capacity
        edges[end] = min(edges.get(end, 0) + more, _INFINITE)
        self._left.setdefault(end, {}).setdefault(start, 0)

    def min_cut(self, source: Hashable, sink: Hashable) -> set[Hashable]:
        """What ``source`` reaches when the least total capacity is cut."""
        if source not in self._left or sink not in self._left:
            return {source}
        while True:
            level = self._levels(source)
            if sink not in level:
                return set(level)
            places = {node: iter(list(self._left[node])) for node in level}
            while self._push(source, sink, level, places):
                pass

    def _levels(self, source: Hashable) -> dict[Hashable, int]:
        level = {source: 0}
        waiting = deque([source])
        while waiting:
            node = waiting.popleft()
            for end, left in self._left[node].items():
                if left > 0 and end not in level:
                    level[end] = level[node] + 1
                    waiting.append(end)
        return level

    def _push(
        self,
        source: Hashable,
        sink: Hashable,
        level: dict[Hashable, int],
        places: dict[Hashable, Iterator[Hashable]],
    ) -> int:
        """One path with room from source to sink, filled; 0 if there is none."""
        path = [source]
        while path:
            node = path[-1]
            if node == sink:
                return self._fill(path)
            step = next(
                (
                    end
                    for end in places[node]
                    if self._left[node][end] > 0 and level.get(end) == level[node] + 1
                ),
                None,
            )
            if step is None:
                path.pop()
            else:
                path.append(step)
        return 0

    def _fill(self, path: list[Hashable]) -> int:
        pairs = list(pairwise(path))
        room = min(self._left[a][b] for a, b in pairs)
        for a, b in pairs:
            self._left[a][b] -= room
            self._left[b][a] += room
        return room
