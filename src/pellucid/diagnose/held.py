"""What is still referenced when a recording ends: storages by the line that created
them, with the names of their holders, and graphs that span several steps.

Called while the program's variables still exist; rules read the result.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

import pellucid as torch
from pellucid.memory._holders import names_for, paths_to
from pellucid.memory._live import live_storages, live_tensors, nodes_behind
from pellucid.memory._names import Names
from pellucid.nn import Parameter
from pellucid.profiler._timeline.columns import Array
from pellucid.profiler._timeline.log import Kind, Line, Log
from pellucid.profiler._timeline.storages import OPTIMIZER, Storages

_LEAST, _ROUNDS = 1 << 14, 6  # bytes, and storages of one line
_GRAPH = " -> "  # in a holder's path: then the nodes of its graph
_EARLY, _MIDDLE = 0.2, (0.3, 0.7)  # of a line's storages in turn
_STEPS_BACK = 3


@dataclass(frozen=True)
class Held:
    """Storages of one line that lived to the end: how many, bytes, ``holders``: paths
    as `memory.holders` gives them.
    """

    line: Line
    count: int
    nbytes: int
    holders: tuple[str, ...]

    @property
    def containers(self) -> set[str]:
        """The variables and attributes that reference them directly."""
        return {container_of(path) for path in self.holders if _GRAPH not in path}

    @property
    def graph_roots(self) -> set[str]:
        """The holders that reference them through a graph."""
        return {container_of(path) for path in self.holders if _GRAPH in path}


def container_of(path: str) -> str:
    """The last plain name of a holder's path before items: ``seen`` of
    ``Probe.seen[3] -> ReluBackward0``.
    """
    name = path.partition(_GRAPH)[0].partition(" (")[0].partition("[")[0]
    return name.rpartition(".")[2]


def held_storages(log: Log) -> list[Held]:
    """By line, the largest first, of lines whose storages accumulated."""
    storages = Storages(log)
    made = np.flatnonzero(storages.made >= 0)
    places, lines = log.user_lines(storages.made[made])
    groups = [made[places == number] for number in range(len(lines))]
    found = [
        (line, own[np.isinf(storages.end[own])])
        for line, own in zip(lines, groups, strict=True)
        if _accumulates(np.isinf(storages.end[own]))
    ]
    found = [(line, own) for line, own in found if _bytes(storages, own) >= _LEAST]
    live = live_storages() if found else {}
    held = []
    for line, own in found:
        addresses = storages.address[own[:: max(len(own) // 4, 1)][:4]].tolist()
        shown = [live[address] for address in addresses if address in live]
        names = names_for(shown)
        paths = dict.fromkeys(p for storage in shown for p in paths_to(storage, names))
        held.append(Held(line, len(own), _bytes(storages, own), tuple(paths)))
    return sorted(held, key=lambda entry: -entry.nbytes)


def _bytes(storages: Storages, places: Array) -> int:
    return int(storages.nbytes[places].sum())


def _accumulates(is_held: Array) -> bool:
    """Whether storages from one line accumulated evenly since the first rounds, as
    opposed to only the last few, which are in use.
    """
    places = np.flatnonzero(is_held)
    if len(places) < _ROUNDS:
        return False
    turns = places / len(is_held)
    middle = float(np.median(turns))
    return bool(turns[0] < _EARLY) and _MIDDLE[0] < middle < _MIDDLE[1]


def old_graphs(log: Log) -> dict[str, str]:
    """Names of tensors with graphs of earlier optimizer steps, and which: what was
    saved for backward may be freed, the nodes are not.
    """
    columns = log.columns
    steps = np.sort(columns.end[columns.is_named(Kind.RANGE, OPTIMIZER)])
    if len(steps) < 2 * _STEPS_BACK:
        return {}
    calls = columns.rows_of(Kind.CALL)
    numbers = columns.sequence[calls[columns.begin[calls] < steps[-_STEPS_BACK]]]
    before = int(numbers.max(initial=-1))
    spans: dict[str, int] = {}
    counts: dict[str, int] = {}
    graphs = []
    for tensor in live_tensors():
        made = [_number(node) for node in nodes_behind(tensor)]
        own = [number for number in made if number is not None]
        if own and min(own) < before:
            graphs.append((tensor, len(made), max(own)))
    names = Names([tensor for tensor, *_ in graphs])
    for tensor, size, last in graphs:
        for name in {container_of(name) for name in names.of(tensor)}:
            counts[name] = counts.get(name, 0) + 1
            if last > before:
                spans[name] = max(spans.get(name, 0), size)
    found = {name: f"{n} graphs of earlier steps" for name, n in counts.items()}
    found = {name: text for name, text in found.items() if counts[name] >= _ROUNDS}
    return found | {
        name: f"a graph of {nodes} nodes that reaches back over earlier steps"
        for name, nodes in spans.items()
    }


def holds_denormals() -> bool:
    """Whether a tensor of float32 that is alive has denormal values, a hundredth of
    those that are not zero or more.
    """
    for tensor in live_tensors():
        is_plain = type(tensor) in (torch.Tensor, Parameter)
        if not is_plain or tensor.dtype != torch.float32 or not tensor.numel():
            continue
        if tensor.device.type != "cpu" or tensor.layout != torch.strided:
            continue
        values = np.abs(tensor.numpy(force=True))
        is_denormal = (values > 0) & (values < np.finfo(np.float32).tiny)
        if is_denormal.sum() > 0.01 * np.count_nonzero(values):
            return True
    return False


def _number(node: Any) -> int | None:
    """The sequence number of a node; leaves' nodes have none."""
    return int(node._sequence_nr()) if node.next_functions else None


def double_arrays() -> tuple[int, int]:
    """The number and the bytes of NumPy's float64 arrays of which one container that is
    alive holds the most; (0, 0) without.
    """
    most = 0, 0
    for container in gc.get_objects():
        if type(container) in (list, deque) and _holds_arrays(container):
            arrays = {id(a): a for item in tuple(container) for a in _arrays_in(item)}
            nbytes = sum(a.nbytes for a in arrays.values() if a.dtype == np.float64)
            most = max(most, (len(arrays), nbytes), key=lambda found: found[1])
    return most if most[1] else (0, 0)


def _holds_arrays(container: Any) -> bool:
    """Whether its first item is an array or holds one: those of a collection are
    alike.
    """
    return any(True for item in islice(container, 1) for _ in _arrays_in(item))


def _arrays_in(item: Any) -> Iterator[Any]:
    if isinstance(item, np.ndarray):
        yield item
    elif type(item) in (tuple, list):
        yield from (part for part in item if isinstance(part, np.ndarray))
