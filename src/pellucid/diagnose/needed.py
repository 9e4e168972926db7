"""Which elements of an op's results a program needs: `wasted` goes backwards through a
flow from what Python read or still holds.

A storage has a mask of its elements that are read. From the mask of an op's result
follows which elements it needs of its operands: of an elementwise op the same, of a
reduction or a softmax all along its dims, of a product rows and columns; an op of which
nothing is known needs all, so what is reported is certain. Elements that backward
passes read are not counted: a gradient is zero where the result was not read.
"""

from __future__ import annotations

import gc
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import prod
from statistics import median
from typing import Any

import numpy as np

import pellucid as torch
from pellucid.diagnose.flow import Flow, Node, Place, View, size_of, writes
from pellucid.profiler._timeline.columns import Array

_SECONDS = 0.6  # of the CPU, for all masks
_LONGER = 3  # than the median of equal calls
_SMALL = 256  # elements: what is smaller is needed
_PRODUCTS = ("mm", "bmm", "addmm", "baddbmm")  # whose last two dims are contracted


@dataclass
class Waste:
    """Of a line and the line that reads a part of its results, or nothing: seconds of
    its ops, those ``unread``; of the longest op the name and shape, and the ``part`` of
    its result that is needed.
    """

    place: Place
    reader: Place | None
    seconds: float = 0.0
    unread: float = 0.0
    calls: int = 0
    longest: float = 0.0
    op: str = ""
    shape: tuple[int, ...] = ()
    part: float = 1.0


class _Masks:
    """Of each storage that an op made the elements that are needed."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._masks: dict[int, Array] = {}
        self._types: dict[int, Any] = {}
        self._full: set[int] = set()
        self.readers: dict[int, Place] = {}

    def add(self, node: Node) -> None:
        """The storages that a node made."""
        for view in node.results:
            self._types[view.key] = view.dtype

    def need(self, view: View, part: Array | None = None, by: Any = None) -> None:
        """A view's elements, those of ``part`` or all; ``by``: the line that takes a
        part.
        """
        key, known = view.key, self._flow.stored[view.key]
        if key in self._full or known.maker < 0:
            return
        length = known.owner.nbytes() // max(view.dtype.itemsize, 1)
        is_whole = part is None and size_of(view) >= length
        if (
            is_whole
            or known.is_written
            or length < _SMALL
            or self._types.get(key, view.dtype) != view.dtype
        ):
            self._full.add(key)
            return
        cut = min(known.cuts, default=None)
        if part is not None and by is not None:
            self.readers.setdefault(key, by)
        elif cut is not None:
            self.readers.setdefault(key, cut[1])
        mask = self._masks.setdefault(key, np.zeros(length, bool))
        steps = view.strides
        if part is not None:
            part = np.broadcast_to(part, view.sizes)
            for dim, step in enumerate(steps):
                if step == 0 and view.sizes[dim] > 1:
                    part = _any(part, dim)
        sizes = tuple(
            1 if step == 0 else n for n, step in zip(view.sizes, steps, strict=True)
        )
        own = np.lib.stride_tricks.as_strided(mask[view.offset :], sizes, steps)
        if part is None:
            own[...] = True
        else:
            own |= part

    def of(self, view: View) -> Array:
        """Of each element whether it is needed."""
        if view.key in self._full:
            return np.broadcast_to(np.True_, view.sizes)
        mask = self._masks.get(view.key)
        if mask is None:
            is_small = size_of(view) < _SMALL
            return np.broadcast_to(np.bool_(is_small), view.sizes)
        return np.lib.stride_tricks.as_strided(
            mask[view.offset :], view.sizes, view.strides
        )


def wasted(flow: Flow) -> list[Waste]:
    """The lines whose ops compute what nothing reads."""
    end = time.process_time() + _SECONDS
    masks = _Masks(flow)
    for node in flow.nodes:
        masks.add(node)
    for view in flow.read:
        masks.need(view)
    for node in flow.nodes:
        for alive, view in node.alive:
            if alive() is not None:
                masks.need(view)
    found: dict[tuple[Place, Place | None], Waste] = {}
    for node in reversed(flow.nodes):
        if time.process_time() > end:
            break
        _visit(node, masks, found)
    return [waste for waste in found.values() if waste.unread > 0]


def _visit(
    node: Node, masks: _Masks, found: dict[tuple[Place, Place | None], Waste]
) -> None:
    """Adds what a node needs, and what of it is wasted."""
    if not node.results:
        if writes(node.op):
            _need_all(node, masks)
        return
    needs = [masks.of(view) for view in node.results]
    part = max(float(need.mean()) if need.size else 1.0 for need in needs)
    if part == 0 and node.has_graph:
        part = 1.0  # the root of a backward pass, or a graph that none runs
    if part == 1 or writes(node.op) or len({n.shape for n in needs}) > 1:
        _need_all(node, masks)
        return
    reader = masks.readers.get(node.results[0].key)
    if part > 0:
        need = np.logical_or.reduce([np.asarray(n) for n in needs])
        if not _propagated(node, need, masks, reader):
            _need_all(node, masks)
            return
    if not node.stack:
        return
    key = node.stack[0], reader if part else None
    waste = found.setdefault(key, Waste(*key))
    waste.seconds += node.seconds
    waste.unread += node.seconds * (1 - part)
    waste.calls += 1
    if node.seconds > waste.longest:
        waste.longest, waste.part = node.seconds, part
        waste.op, waste.shape = _name(node), node.results[0].sizes


def _need_all(node: Node, masks: _Masks) -> None:
    if node.index is not None and not writes(node.op):
        _index(node, masks)
        return
    for view in node.reads:
        masks.need(view)


def _name(node: Node) -> str:
    name: str = node.op._schema.name
    return name.rpartition("::")[2]


def _propagated(node: Node, need: Array, masks: _Masks, by: Place | None) -> bool:
    """Marks what a part of a node's result needs; False if that is not known, or does
    not take less time.
    """
    name, views = _name(node), node.reads
    if node.index is not None:
        _index(node, masks)
        return True
    if torch.Tag.pointwise in node.op.tags:
        for view in views:
            masks.need(view, _reduced(need, view.sizes), by)
        return True
    if name in _PRODUCTS:
        *others, left, right = views
        rows, columns = _any(need, -1), _any(need, -2)
        masks.need(left, rows, by)
        masks.need(right, columns, by)
        for view in others:
            masks.need(view, _reduced(need, view.sizes), by)
        return True
    dims = _dims(node, views[0].sizes) if len(views) == 1 else None
    if dims is None:
        return False
    source = views[0].sizes
    if need.ndim == len(source):
        part = _any(need, dims)
    else:
        part = np.expand_dims(need, dims)
    if any(
        n != wanted and k not in dims and n != 1
        for k, (n, wanted) in enumerate(zip(part.shape, source, strict=False))
    ):
        return False
    masks.need(views[0], part, by)
    return True


def _dims(node: Node, sizes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The dims along which an op's result depends on all elements of its only operand,
    None if that is not known: those that an argument "dim" names, if the other sizes
    are the result's.
    """
    values = dict(zip(_arguments(node.op), node.arguments, strict=False))
    values |= {a[0]: a[1] for a in node.arguments if _is_named(a)}
    given = values.get("dim")
    if given is None or given == ():
        return None
    dims = tuple(
        sorted(
            d % len(sizes) for d in (given if isinstance(given, tuple) else (given,))
        )
    )
    own = [n for k, n in enumerate(sizes) if k not in dims]
    made = node.results[0].sizes
    if len(made) == len(sizes):
        made = tuple(n for k, n in enumerate(made) if k not in dims)
    return dims if list(made) == own else None


@cache
def _arguments(op: Any) -> tuple[str, ...]:
    return tuple(argument.name for argument in op._schema.arguments)


def _is_named(argument: Any) -> bool:
    is_pair = isinstance(argument, tuple) and len(argument) == 2
    return is_pair and isinstance(argument[0], str)


def _reduced(need: Array, sizes: tuple[int, ...]) -> Array:
    """What is needed of an operand that is broadcast."""
    lead = need.ndim - len(sizes)
    if lead < 0:
        return np.asarray(need.any())
    if lead:
        need = np.asarray(need.any(tuple(range(lead))))
    dims = tuple(k for k, n in enumerate(sizes) if n == 1 and need.shape[k] > 1)
    return _any(need, dims) if dims else need


def _any(need: Array, dims: int | tuple[int, ...]) -> Array:
    """Whether any element along dims is needed; the dims stay, of length 1."""
    return np.asarray(need.any(dims, keepdims=True))


def _index(node: Node, masks: _Masks) -> None:
    """An op that picks elements needs those at its indices: of a tensor of their own
    places it gives these.
    """
    source, *others = node.reads
    for view in others:
        masks.need(view)
    if size_of(source) < _SMALL:
        masks.need(source)
        return
    rest, named = node.index
    length = prod(source.sizes)
    places = torch.arange(length).reshape(source.sizes)
    try:
        picked = node.op(places, *rest, **named).numpy().reshape(-1)
    except (RuntimeError, TypeError, ValueError):
        masks.need(source)
        return
    part = np.zeros(length, bool)
    part[picked] = True
    masks.need(
        source, part.reshape(source.sizes), node.stack[0] if node.stack else None
    )


@dataclass
class Again:
    """Of a line, or a chain of lines, the seconds of ops, and of those that repeat
    earlier ones.
    """

    seconds: float = 0.0
    again: float = 0.0
    calls: int = 0
    calls_again: int = 0

    def __iadd__(self, other: Again) -> Again:
        self.seconds += other.seconds
        self.again += other.again
        self.calls += other.calls
        self.calls_again += other.calls_again
        return self


def repeated(nodes: Iterable[Node]) -> dict[tuple[Place, ...], Again]:
    """Of each chain of lines what its ops repeat."""
    found: dict[tuple[Place, ...], Again] = defaultdict(Again)
    for node in nodes:
        own = found[node.stack]
        own.seconds += node.seconds
        own.calls += bool(node.results)
        if node.is_again and node.results:
            own.again += node.seconds
            own.calls_again += 1
    return dict(found)


def _without_first_calls(nodes: Iterable[Node]) -> float:
    """Lets a call take no longer than is usual for its op, line and shapes: first calls
    are traced. The seconds that this takes away.
    """
    groups: dict[Any, list[Node]] = defaultdict(list)
    for node in nodes:
        sizes = tuple(view.sizes for view in node.reads)
        groups[node.op, node.stack[:1], sizes].append(node)
    removed = 0.0
    for group in groups.values():
        usual = _LONGER * median(node.seconds for node in group)
        for node in group:
            removed += max(node.seconds - usual, 0.0)
            node.seconds = min(node.seconds, usual)
    return removed


def answered(flow: Flow) -> dict[str, Any]:
    """What the parent process reads."""
    seconds = flow.seconds - _without_first_calls(flow.nodes)
    gc.collect()  # graphs of what is held no more
    by_chain = repeated(flow.nodes)
    lines: dict[Place, Again] = defaultdict(Again)
    for chain, own in by_chain.items():
        for place in set(chain):
            lines[place] += own
    chains = [chain for chain, own in by_chain.items() if own.again > 0]
    return {
        "seconds": seconds,
        "again": chains,
        "lines": [[*place, vars(own)] for place, own in lines.items()],
        "unread": [vars(waste) for waste in wasted(flow)],
    }
