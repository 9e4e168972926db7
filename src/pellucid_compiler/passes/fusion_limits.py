"""Limits of fusion, so that loop bodies do not grow with the Graph.

Without limits the last of a thousand elementwise ops would compute all of them, and the
sum at the end of a residual network would load every layer's result. A body that would
become deeper than ``MAX_DEPTH`` or load more than ``MAX_LOADS`` elements loads its
largest operands from memory instead. No op of the catalogue reaches a limit on its own;
a map kernel has at most 24 operands. Called only by fuse.py.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final, NamedTuple

from pellucid_compiler.ir.expr import Expr, load_index
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.primitives import LOOP, LoopAttrs
from pellucid_compiler.ir.traversal import loads

MAX_DEPTH: Final = 64
MAX_LOADS: Final = 20


class _Reach(NamedTuple):
    """The depth and the loads of a loop's bodies when everything is inlined."""

    depth: int
    loads: frozenset[object]

    @property
    def size(self) -> int:
        return self.depth + len(self.loads)

    @property
    def is_large(self) -> bool:
        return self.depth > MAX_DEPTH or len(self.loads) > MAX_LOADS


def values_to_store(graph: Graph, inlined: Container[Value]) -> set[Value]:
    """The ``inlined`` values that readers must load instead, for their bodies to stay
    within the limits.
    """
    reached: dict[Value, _Reach] = {}
    stored: set[Value] = set()
    for node in graph.nodes:
        if node.primitive is not LOOP:
            continue
        reach = _reach(node, reached)
        while reach.is_large:
            operands = [value for value in node.inputs if value in reached]
            if not operands:
                break
            largest = max(
                operands, key=lambda v: len(reached[v].loads) + reached[v].depth
            )
            stored.add(largest)
            del reached[largest]
            reach = _reach(node, reached)
        if node.outputs[0] in inlined:
            reached[node.outputs[0]] = reach
    return stored


def _reach(node: Node, reached: dict[Value, _Reach]) -> _Reach:
    """The reach of the loop with the bodies of ``reached`` in place of their loads."""
    attrs: LoopAttrs = node.attrs
    bodies = [store.body for store in attrs.stores]
    own = depth = max(body.depth for body in bodies)
    found: set[object] = set()
    for e in loads(*bodies):
        value, index = node.inputs[e.attr], load_index(e)
        inner = reached.get(value)
        if inner is None:
            found.add((value, index))
            continue
        depth = max(depth, own + inner.depth)
        if _is_own_place(index):
            found |= inner.loads
        else:
            found.update((index, part) for part in inner.loads)
    return _Reach(depth, frozenset(found))


def _is_own_place(index: tuple[Expr, ...]) -> bool:
    """Whether the load is that of an elementwise op: one axis per dim, in order."""
    axes = [i.attr for i in index if i.op == "axis"]
    plain = all(i.op in ("axis", "const") for i in index)
    return plain and axes == list(range(len(axes)))
