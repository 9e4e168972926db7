"""The check that a declaration's kind fits its loops.

A kind determines which handler and which kernel form runs an op, so a wrong one would
be slow or refused late. ``check_kind`` runs once per traced key. ``ir/kinds.py`` infers
what a loop needs; this is the table of what each declared kind may consist of.
"""

from __future__ import annotations

from typing import Final

from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.ir.kinds import kind_of

_ELEMENTS: Final = frozenset({"map", "view", "factory"})
_ROWS: Final = _ELEMENTS | {"reduce", "gather", "reshape"}
_LOOPS: Final = _ROWS | {"contraction", "scatter", "store", "nonzero"}

_MAY_CONTAIN: Final = {
    "pointwise": _ELEMENTS,
    "random": _ELEMENTS,
    "factory": _ELEMENTS - {"view"},
    "view": frozenset({"view", "reshape"}),
    "reduction": _ROWS,
    "fused": _ROWS,
    "contraction": _ROWS | {"contraction", "store"},
    "loop": _LOOPS,
    "join": _LOOPS,
    "data_dependent": _LOOPS | {"scan", "library"},
    "scan": _LOOPS | {"scan"},
    "library": _LOOPS | {"library"},
}


def check_kind(name: str, kind: str, graph: Graph) -> None:
    """Raise ``TypeError`` if ``graph`` has a node that ops of ``kind`` do not run."""
    allowed = _MAY_CONTAIN.get(kind)
    if allowed is None:
        return
    for found in _node_kinds(graph):
        if found not in allowed:
            raise TypeError(
                f"{name} is declared {kind} but contains a {found}; a {kind} op "
                f"consists of {', '.join(sorted(allowed))}.\nDeclare the kind that "
                "fits, or change the body; tools/show_op.py prints its Graph."
            )


def _node_kinds(graph: Graph) -> set[str]:
    found: set[str] = set()
    for node in graph.nodes:
        bodies = node.primitive.bodies(node.attrs)
        if node.primitive.name != "call":
            found.add(kind_of(node))
        for body in bodies:
            found |= _node_kinds(body)
    return found
