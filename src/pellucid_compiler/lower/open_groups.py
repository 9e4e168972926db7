"""The row groups under construction while a Graph's nodes are walked in order.

A node joins an open group, or closes the groups that it reads. Groups are indexed by
the values that they compute and read, so that a node considers only related groups.
Called only by graph.py. Read next: rows.py.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

from pellucid_compiler.ir.graph import Node, Value
from pellucid_compiler.lower.rows import RowGroup


class OpenGroups:
    """The open groups in the order in which they were opened."""

    def __init__(self, lower: Callable[[RowGroup], None]) -> None:
        self._lower = lower
        self._groups: dict[int, RowGroup] = {}
        self._numbers: dict[RowGroup, int] = {}
        self._maker: dict[Value, int] = {}
        self._readers: dict[Value, set[int]] = {}

    def open(self, group: RowGroup) -> None:
        number = self._numbers[group] = len(self._numbers)
        self._groups[number] = group
        for member in group.members:
            self._note(member.node, number)

    def reading(self, node: Node) -> list[RowGroup]:
        """The groups that compute what ``node`` reads."""
        return self._open(self._maker[v] for v in node.inputs if v in self._maker)

    def try_add(self, node: Node, to_worthwhile: bool = False) -> bool:
        """Add the node to a group that computes or reads its inputs; the other groups
        that it reads are then closed. ``to_worthwhile``: only to a group that is
        already worthwhile.
        """
        touched = self.reading(node)
        near = self._open(k for v in node.inputs for k in self._readers.get(v, ()))
        for group in dict.fromkeys((*touched, *near)):
            if to_worthwhile and not group.is_worthwhile:
                continue
            if group.try_add(node):
                self._note(node, self._numbers[group])
                self.close(other for other in touched if other is not group)
                return True
        return False

    def close(self, groups: Iterable[RowGroup]) -> None:
        """Lower the groups, each with the single loops that fit into it."""
        for group in groups:
            if self._numbers[group] in self._groups:
                self._remove(group)
                self._absorb(group)
                self._lower(group)

    def close_all(self) -> None:
        self.close(list(self._groups.values()))

    def close_longest_first(self) -> None:
        self.close(sorted(self._groups.values(), key=lambda g: -len(g.members)))

    def _open(self, numbers: Iterable[int]) -> list[RowGroup]:
        return [self._groups[k] for k in sorted(set(numbers)) if k in self._groups]

    def _note(self, node: Node, number: int) -> None:
        self._maker[node.outputs[0]] = number
        for value in node.inputs:
            self._readers.setdefault(value, set()).add(number)

    def _remove(self, group: RowGroup) -> None:
        number = self._numbers[group]
        del self._groups[number]
        for value in group.inputs:
            self._readers[value].discard(number)
        for value in group.made:
            del self._maker[value]

    def _absorb(self, group: RowGroup) -> None:
        """Merge open groups of one loop into ``group``: nothing has read them yet."""
        if len(group.members) < 2:
            return
        waiting = [k for value in group.inputs for k in self._readers[value]]
        heapq.heapify(waiting)
        last = -1
        while waiting:
            number = heapq.heappop(waiting)
            other = self._groups.get(number) if number > last else None
            last = max(last, number)
            if other is None or len(other.members) > 1:
                continue
            node = other.members[0].node
            if group.try_add(node):
                self._remove(other)
                for value in node.inputs:
                    for near in self._readers[value]:
                        heapq.heappush(waiting, near)
