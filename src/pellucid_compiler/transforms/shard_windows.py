"""Windows of a shared loop: the rows of an operand that each process reads when it
shares an axis with which an index moves, as in convolutions and pooling.

Called by ``shard_rules.py``. Rows are those of the whole; a process has its own and
gets the others from its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pellucid_compiler.ir.expr import Expr, load_index
from pellucid_compiler.ir.graph import Node
from pellucid_compiler.ir.sizes import shape_value, size_value

Range = tuple[int, int]  # the first row, and the one after the last


def part_ranges(size: int, ranks: int) -> list[Range]:
    """The rows of each process's part, which are equal but for the last ones."""
    step = -(-size // ranks)
    return [
        (min(place * step, size), min((place + 1) * step, size))
        for place in range(ranks)
    ]


def window_ranges(
    node: Node, load: Expr, dim: int, axis: int, env: Mapping[str, Any], ranks: int
) -> tuple[Range, ...] | None:
    """The rows along ``dim`` that each of ``ranks`` processes reads by a load; None if
    that is not known, or if there are no processes.
    """
    if not ranks:
        return None
    index = load_index(load)[dim]
    size = size_value(node.inputs[load.attr].shape[dim], env)
    extents = shape_value(node.attrs.extents, env)
    found = []
    for first, end in part_ranges(extents[axis], ranks):
        points = [(0, n - 1) for n in extents]
        points[axis] = first, end - 1
        if any(low > high for low, high in points):
            found.append((0, 0))
            continue
        read = _values(index, points, env)
        if read is None:
            return None
        low, high = max(read[0], 0), min(read[1] + 1, size)
        found.append((low, high) if low < high else (0, 0))
    return tuple(found)


def _values(
    e: Expr, points: Sequence[Range], env: Mapping[str, Any]
) -> tuple[int, int] | None:
    """The least and the greatest value of an index over the points, both among them."""
    if e.op == "axis":
        low, high = points[e.attr]
        return low, high
    if e.op in ("sym", "const"):
        value = int(size_value(e, env))
        return value, value
    if e.op not in ("add", "sub", "mul", "neg"):
        return None
    parts = [_values(argument, points, env) for argument in e.args]
    if any(part is None for part in parts):
        return None
    first, *rest = [part for part in parts if part is not None]
    if e.op == "neg":
        return -first[1], -first[0]
    (second,) = rest
    if e.op == "add":
        return first[0] + second[0], first[1] + second[1]
    if e.op == "sub":
        return first[0] - second[1], first[1] - second[0]
    products = [a * b for a in first for b in second]
    return min(products), max(products)
