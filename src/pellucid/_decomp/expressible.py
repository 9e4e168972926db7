"""Which Graphs ops on whole tensors express, and how: which routine an op calls, what a
contraction multiplies. Used by graphs.py and products.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pellucid._decomp.emitted import meaning

if TYPE_CHECKING:
    from pellucid_compiler.ir.expr import Expr
    from pellucid_compiler.ir.graph import Graph, Node
    from pellucid_compiler.ir.primitives import LibraryAttrs, LoopAttrs, ScanAttrs

_MOST_STEPS = 256
SCATTERED = {"prod": "prod", "max": "amax", "min": "amin", "and": "amin", "or": "amax"}
"""What ``scatter_reduce`` calls how a loop combines."""


def is_expressible(
    graph: Graph, *, with_calls: bool = False, with_layers: bool = False
) -> bool:
    """Whether every node is a reshape or a loop that ops on whole tensors compute;
    ``with_calls``: or a scan, or a routine that an op calls; ``with_layers``: or a scan
    with a product in every step.
    """
    from pellucid_compiler.ir.kinds import has_plain_store, kind_of
    from pellucid_compiler.ir.primitives import CALL, LIBRARY, LOOP, RESHAPE, SCAN
    from pellucid_compiler.ir.traversal import walk

    count = 0
    for node in graph.nodes:
        attrs = node.attrs
        if node.primitive is CALL:
            if not is_expressible(
                attrs.body, with_calls=with_calls, with_layers=with_layers
            ):
                return False
        elif node.primitive is LOOP:
            if attrs.payload is not None:
                return False
            is_plain = has_plain_store(attrs)
            if not is_plain and not _can_put(attrs):
                return False
            stores = attrs.stores
            steps = walk(*(e for s in stores for e in (s.body, *s.place)))
            count += len(steps)
            if not all(map(_is_known, steps)) or count > _MOST_STEPS:
                return False
            if is_plain and kind_of(node) == "contraction" and factors_of(node) is None:
                return False
        elif node.primitive is SCAN:
            if not with_calls and not (with_layers and _is_layer(attrs)):
                return False
            if not is_expressible(attrs.step, with_calls=with_calls):
                return False
        elif node.primitive is LIBRARY:
            name = op_of_routine(attrs)
            if not with_calls or name is None or not _gives(name, len(node.outputs)):
                return False
        elif node.primitive is not RESHAPE:
            return False
    return True


def _is_layer(attrs: ScanAttrs) -> bool:
    """Whether a scan has a product of matrices in every step."""
    from pellucid_compiler.ir.kinds import kind_of
    from pellucid_compiler.ir.primitives import LOOP

    return any(
        node.primitive is LOOP and kind_of(node) == "contraction"
        for node in attrs.step.nodes
    )


def _gives(name: str, count: int) -> bool:
    from pellucid_compiler.declare import REGISTRY

    return len(REGISTRY[name].schema.returns) == count


def _can_put(attrs: LoopAttrs) -> bool:
    """Whether ``index_put`` or ``scatter_reduce`` stores as the loop does."""
    if attrs.combine in SCATTERED:
        return len(attrs.stores) == 1 and not attrs.stores[0].drop
    drops = any(s.drop for s in attrs.stores)
    return attrs.combine in ("sum", "assign") and (
        not drops or (attrs.combine == "sum" and _places_all(attrs))
    )


def _places_all(attrs: LoopAttrs) -> bool:
    """Whether no axis is summed over: each one is in the places."""
    from pellucid_compiler.ir.traversal import axes_of

    count = len(attrs.extents)
    return all(len(set(axes_of(*s.place))) == count for s in attrs.stores)


def _is_known(e: Expr) -> bool:
    from pellucid_compiler.ir.expr import LEAVES

    is_leaf = e.op in (*LEAVES, "const", "cast", "with_partials", "select")
    return is_leaf or meaning(e.op) is not None


def numbers_are_allowed(graph: Graph, env: dict[str, Any]) -> bool:
    """Whether what the Graph requires of numbers holds; sizes were checked by the call
    that is taken apart.
    """
    from pellucid_compiler.ir.sizes import size_value
    from pellucid_compiler.ir.traversal import symbols

    conditions = [r.condition for r in graph.requirements]
    of_numbers = [
        c for c in conditions if all("." not in str(s.attr) for s in symbols(c))
    ]
    return all(size_value(c, env) for c in of_numbers)


def op_of_routine(attrs: LibraryAttrs) -> str | None:
    """The op that is one call of a library routine with the same options, by its name:
    ``_linalg_svd`` calls ``svd``; None if there is none.
    """
    from pellucid_compiler.declare import REGISTRY

    options = {name for name, _ in attrs.options}
    of_library = f"_linalg_{attrs.routine}"
    for name in (of_library, f"pellucid::{of_library}", attrs.routine):
        op = REGISTRY.get(name)
        if op is not None and options <= {a.name for a in op.schema.arguments}:
            return name
    return None


def factors_of(node: Node) -> tuple[Expr, Expr] | None:
    """The operands of a contraction that is one product of matrices: each axis that is
    summed is one of both.
    """
    from pellucid_compiler.ir.traversal import uses_axis

    attrs = node.attrs
    body = attrs.store.body
    if body.op != "mul":
        return None
    first, second = body.args
    stored = [i.attr for i in attrs.store.place if i.op == "axis"]
    summed = [a for a in range(len(attrs.extents)) if a not in stored]
    in_both = all(uses_axis(first, {a}) and uses_axis(second, {a}) for a in summed)
    return (first, second) if in_both and first.dtype == second.dtype else None
