"""Stacks shifted by one element: the states before every step of a scan.

Such a value has the elements of a stack and, at the end where the stack has none, a
value of its own. Its transpose's scan and the sums over all times read it in place
(``piecewise_sums.py``, ``lower/recurrences.py``): nothing is copied.
"""

from __future__ import annotations

from typing import NamedTuple

from pellucid_compiler.ir.boxes import clamped
from pellucid_compiler.ir.expr import Expr, const, is_const, load_index, same_exprs
from pellucid_compiler.ir.graph import Value
from pellucid_compiler.ir.primitives import LOOP
from pellucid_compiler.passes.ranges import Piece, pieces_of


class Shifted(NamedTuple):
    """Along the first dim ``stack[t + shift]``; ``edge`` out of bounds."""

    stack: Value
    shift: int
    edge: Value


def shifted(value: Value) -> Shifted | None:
    """``value`` as a stack shifted by one, or None."""
    node = value.node
    if node is None or node.primitive is not LOOP:
        return None
    pieces = pieces_of(node)
    if len(pieces) != 2 or any(piece.body.op != "load" for piece in pieces):
        return None
    place: tuple[Expr, ...] = node.attrs.store.place
    time = place[0]
    if time.op != "axis" or any(set(piece.box) != {time.attr} for piece in pieces):
        return None
    for edge, rest in (pieces, pieces[::-1]):
        stack = node.inputs[rest.body.attr]
        index = load_index(rest.body)
        shift = -1 if edge is pieces[0] else 1
        if (
            index[0] is time + shift
            and same_exprs(index[1:], place[1:])
            and same_exprs(stack.shape, value.shape)
            and _is_one_element(edge, time, value.shape[0], shift)
            and same_exprs(load_index(edge.body), place[1:])
        ):
            return Shifted(stack, shift, node.inputs[edge.body.attr])
    return None


def _is_one_element(edge: Piece, time: Expr, length: Expr, shift: int) -> bool:
    """Whether the piece is the first element (of a shift by -1), or the last one."""
    start, stop = edge.box[time.attr]
    zero = const(0, "int64")
    if shift < 0:
        return is_const(start, 0) and stop is clamped(const(1, "int64"), zero, length)
    return start is clamped(length - 1, zero, length) and stop is length
