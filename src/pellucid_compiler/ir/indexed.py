"""Which inputs of a Graph hold indices, and what they index.

A loop that loads or stores at an element of another operand says so in its index. The
runtime learns it with the plan, so that the error for an index out of bounds names the
index, the dim and its size, whatever the op calls its arguments. Called by lowering.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pellucid_compiler.ir.expr import Expr, is_const, load_index
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.moving import moves
from pellucid_compiler.ir.primitives import CALL, LOOP, RESHAPE
from pellucid_compiler.ir.traversal import loads


@dataclass(frozen=True)
class Indexed:
    """``index``: the input whose elements are indices along ``dim``, whose size is that
    of dim ``size_dim`` of input ``size_of``; None: of all its elements in row-major
    order. ``wraps``: negative ones count from the end.
    """

    index: int
    dim: int
    size_of: int
    size_dim: int | None
    wraps: bool


def indexed_dims(graph: Graph) -> tuple[Indexed, ...]:
    """What the inputs index, in the order of the loops; without inputs of which
    different elements index different dims.
    """
    inputs = {value: number for number, value in enumerate(graph.inputs)}
    sizes: dict[Expr, tuple[int, int]] = {}
    for value, number in inputs.items():
        for dim, size in enumerate(value.shape):
            sizes.setdefault(size, (number, dim))
    found = list(_indexed(graph, inputs, sizes))
    read: dict[int, set[_Fixed]] = {}
    for row, fixed in found:
        read.setdefault(row.index, set()).add(fixed)
    return tuple(dict.fromkeys(row for row, _ in found if len(read[row.index]) == 1))


def unwrapped(index: Expr, size: Expr) -> Expr:
    """``i`` of ``i + size if i < 0 else i``; any other index itself."""
    if index.op != "select" or index.args[0].op != "lt":
        return index
    condition, wrapped, own = index.args
    is_wrap = (
        condition.args[0] is own
        and is_const(condition.args[1], 0)
        and wrapped.op == "add"
        and wrapped.args[0] is own
        and wrapped.args[1] is size
    )
    return own if is_wrap else index


_Fixed = tuple[Expr | None, ...]  # of a load, the indices that are constants


def _indexed(
    graph: Graph, inputs: Mapping[Value, int], sizes: Mapping[Expr, tuple[int, int]]
) -> Iterator[tuple[Indexed, _Fixed]]:
    for node in graph.nodes:
        if node.primitive is CALL:
            body = node.attrs.body
            pairs = zip(body.inputs, node.inputs, strict=True)
            inner = {mine: inputs[given] for mine, given in pairs if given in inputs}
            yield from _indexed(body, inner, sizes)
        elif node.primitive is LOOP:
            for value, shape, index in _accesses(node):
                for dim, (e, size) in enumerate(zip(index, shape, strict=True)):
                    of = _size_source(value, size, inputs, sizes)
                    chosen = _index_input(node, e, inputs)
                    if of is not None and chosen is not None:
                        wraps = unwrapped(e, size) is not e
                        yield Indexed(chosen[0], dim, *of, wraps), chosen[1]


def _accesses(
    node: Node,
) -> Iterator[tuple[Value | None, tuple[Expr, ...], tuple[Expr, ...]]]:
    """What a loop loads and stores where an index out of bounds is an error: the value,
    None for the loop's own, its shape and the index.
    """
    for store in node.attrs.stores:
        if not store.drop:
            yield None, node.attrs.shape, store.place
        for e in loads(store.body):
            if e.op == "load":
                value = node.inputs[e.attr]
                yield value, value.shape, load_index(e)


def _size_source(
    value: Value | None,
    size: Expr,
    inputs: Mapping[Value, int],
    sizes: Mapping[Expr, tuple[int, int]],
) -> tuple[int, int | None] | None:
    if size in sizes:
        return sizes[size]
    node = value.node if value is not None else None
    if node is None or node.primitive is not RESHAPE or len(node.attrs.shape) != 1:
        return None
    number = inputs.get(node.inputs[0])
    return None if number is None else (number, None)


def _index_input(
    node: Node, index: Expr, inputs: Mapping[Value, int]
) -> tuple[int, _Fixed] | None:
    """The input of which ``index`` is one element."""
    found = {e for e in loads(index) if e.op == "load"}
    if len(found) != 1:
        return None
    (e,) = found
    value = node.inputs[e.attr]
    while value not in inputs:  # reordered, converted or repeated before
        if value.node is None or not moves(value.node) or len(value.node.inputs) != 1:
            return None
        (value,) = value.node.inputs
    fixed = tuple(i if i.op == "const" else None for i in load_index(e))
    return inputs[value], fixed
