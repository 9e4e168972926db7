"""Layered placement in a group: a layer for each child, and its place in the layer.

Each group has its own layout: edges between items become edges between the children
that hold them. A child's layer is one below the lowest child it reads from (Sugiyama et
al., 1981); places in a layer follow the mean place of neighbours, a few times down and
up. None of this depends on what is folded: the page only stacks boxes. Called by
drawing.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pellucid.viz.collect import Item
from pellucid.viz.tree import Group

SWEEPS = 4


def arrange(group: Group, items: Sequence[Item]) -> dict[int, list[list[int]]]:
    """For each group (by ``id``): its layers, each a list of the children's numbers."""
    found: dict[int, list[list[int]]] = {}
    waiting = [group]
    while waiting:
        current = waiting.pop()
        edges = _edges_of_children(current, items)
        found[id(current)] = _ordered(_layered(len(current.children), edges), edges)
        waiting += [c for c in current.children if isinstance(c, Group)]
    return found


def _edges_of_children(group: Group, items: Sequence[Item]) -> set[tuple[int, int]]:
    """(from, to) between numbers of children; children are in forward's order."""
    holder: dict[int, int] = {}
    for place, child in enumerate(group.children):
        for item in child.items() if isinstance(child, Group) else (child,):
            holder[item.number] = place
    edges = set()
    for number, place in holder.items():
        for source in items[number].inputs:
            start = holder.get(source)
            # A module that is left and entered again would close a cycle.
            if start is not None and start < place:
                edges.add((start, place))
    return edges


def _layered(count: int, edges: set[tuple[int, int]]) -> list[list[int]]:
    incoming = defaultdict(list)
    outgoing = defaultdict(list)
    for start, end in edges:
        incoming[end].append(start)
        outgoing[start].append(end)
    layer = [0] * count
    for place in range(count):
        layer[place] = max((layer[s] + 1 for s in incoming[place]), default=0)
    for place in reversed(range(count)):  # what reads nothing moves down to its reader
        if not incoming[place] and outgoing[place]:
            layer[place] = min(layer[e] for e in outgoing[place]) - 1
    layers: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for place, number in enumerate(layer):
        layers[number].append(place)
    return layers


def _ordered(layers: list[list[int]], edges: set[tuple[int, int]]) -> list[list[int]]:
    neighbours: dict[int, list[int]] = defaultdict(list)
    for start, end in edges:
        neighbours[start].append(end)
        neighbours[end].append(start)
    position: dict[int, float] = {}

    def settle(layer: list[int]) -> None:
        middle = (len(layer) - 1) / 2
        for place, child in enumerate(layer):
            position[child] = place - middle

    def mean(child: int) -> float:
        near = neighbours[child]
        if not near:
            return position[child]
        return sum(position[n] for n in near) / len(near)

    for layer in layers:
        settle(layer)
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            layer.sort(key=mean)
            settle(layer)
    return layers
