"""What dtypes support: which scalar ops compute in them, and which only move them.

Most dtypes support every scalar op. Storage formats support only the few that PyTorch
has for them (``offers`` of their rows in ``abi/dtypes.py``), opaque dtypes none. Bodies
that move elements, or compare them for equality, accept all dtypes, so a declaration
lists none: its body decides. ``declare/op.py`` checks each traced key.

Code that only moves elements need not know their dtype: ``moves_only`` detects it, and
``CARRIER`` names the integer of the same size whose kernels move them
(``lower/carriers.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from pellucid_compiler.abi.dtypes import BY_NAME, INTEGRAL, DType
from pellucid_compiler.ir.expr import LOADS, Expr
from pellucid_compiler.ir.graph import Graph, Node
from pellucid_compiler.ir.kinds import has_plain_store, stored_rank
from pellucid_compiler.ir.primitives import LIBRARY, LOOP, NONZERO, RESHAPE, LoopAttrs
from pellucid_compiler.ir.traversal import walk

_INTEGER_OF_SIZE: Final = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}
CARRIER: Final = {
    row.name: _INTEGER_OF_SIZE[row.size]
    for row in BY_NAME.values()
    if row.computed or row.offers is not None
}
_LIMITED: Final = {row.name: row for row in BY_NAME.values() if row.offers is not None}
_MOVES: Final = (*LOADS, "select")
_QUESTIONS: Final = ("const", "sym", "cast", "eq", "ne", "isnan", "isinf")


def moves_only(roots: Iterable[Expr]) -> bool:
    """Whether there are elements of dtypes with a carrier, and all are only moved."""
    found = False
    for e in walk(*roots):
        moved = e.dtype in CARRIER
        if moved and e.op not in (*_MOVES, "const"):
            return False
        if not moved and any(a.dtype in CARRIER for a in e.args):
            return False
        found |= moved
    return found


def graph_moves_only(graph: Graph) -> bool:
    """Whether the loops of a Graph move such elements and combine none."""
    found = False
    for node in graph.nodes:
        if node.primitive is RESHAPE:
            continue
        if node.primitive is not LOOP:
            return False
        attrs: LoopAttrs = node.attrs
        if any(s.body.dtype in CARRIER for s in attrs.stores) and _combines(node):
            return False
        roots = list(_roots(node))
        if moves_only(roots):
            found = True
        elif any(e.dtype in CARRIER for e in walk(*roots)):
            return False
    return found


def _roots(node: Node) -> Iterator[Expr]:
    attrs: LoopAttrs = node.attrs
    for store in attrs.stores:
        yield from store.place
        yield store.body
    if attrs.payload is not None:
        yield attrs.payload


def refusal(op: str, exprs: Iterable[Expr]) -> NotImplementedError | None:
    """The error if a dtype does not support what the expressions compute."""
    for e in walk(*exprs):
        if e.op in _MOVES or e.op in ("with_partials", "checked"):
            continue
        for dtype in (e.dtype, *(a.dtype for a in e.args)):
            row = _LIMITED.get(dtype)
            if row is not None and not _offers(row, e.op):
                return _refused(op, row)
    return None


def check_offered(op: str, graph: Graph) -> None:
    """Raise NotImplementedError if a Graph computes what a dtype does not support."""
    for node in graph.nodes:
        for body in node.primitive.bodies(node.attrs):
            check_offered(op, body)
        values = (*node.inputs, *node.outputs)
        limited = [_LIMITED[v.dtype] for v in values if v.dtype in _LIMITED]
        if not limited:
            continue
        error = None
        if node.primitive is LOOP:
            error = refusal(op, _roots(node)) or _combining(op, node)
        elif node.primitive is LIBRARY:
            apart = [row for row in limited if row.category != INTEGRAL or row.opaque]
            error = _refused(op, apart[0]) if apart else None
        elif node.primitive is NONZERO and any(row.opaque for row in limited):
            error = _refused(op, limited[0])
        if error is not None:
            raise error


def _combining(op: str, node: Node) -> NotImplementedError | None:
    """Only dtypes that support sums are reduced; none of them has an order."""
    attrs: LoopAttrs = node.attrs
    row = _LIMITED.get(attrs.store.body.dtype)
    if row is None or not _combines(node):
        return None
    is_summed = attrs.combine in ("sum", "prod") and _offers(row, "add")
    return None if is_summed else _refused(op, row)


def _combines(node: Node) -> bool:
    """Whether a loop stores more than one value to an element."""
    attrs: LoopAttrs = node.attrs
    alone = has_plain_store(attrs) and len(attrs.extents) == stored_rank(attrs)
    return attrs.combine != "assign" and not alone


def _offers(row: DType, op: str) -> bool:
    assert row.offers is not None
    return op in row.offers or (op in _QUESTIONS and not row.opaque)


def _refused(op: str, row: DType) -> NotImplementedError:
    word = row.word.rpartition(".")[2]
    if row.opaque:
        advice = "its elements have no value; view them as another dtype"
    else:
        advice = "it is a storage format; convert with .to() first"
    return NotImplementedError(f"\"{op}\" not implemented for '{word}': {advice}")
