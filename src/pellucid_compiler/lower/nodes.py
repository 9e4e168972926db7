"""Lowers one node of a Graph to steps, alone or with a reader that is fused.

A loop is tried, in this order, as a contraction, a view, an affine nest, stores, the
general nest. Called by graph.py. Read next: loops.py, nests.py, contraction.py,
recurrences.py.
"""

from __future__ import annotations

from pellucid_compiler.abi.plan import (
    LibraryStep,
    NonzeroStep,
    ReshapeStep,
)
from pellucid_compiler.ir.expr import Expr
from pellucid_compiler.ir.graph import Node
from pellucid_compiler.ir.kinds import view_map
from pellucid_compiler.ir.primitives import LIBRARY, LOOP, NONZERO, RESHAPE, SCAN
from pellucid_compiler.lower.contraction import (
    Contraction,
    Epilogue,
    emit_contraction,
    match_contraction,
    match_epilogue,
    moved,
    rounded_order,
)
from pellucid_compiler.lower.loops import lower_affine, lower_view
from pellucid_compiler.lower.nests import is_search_for, lower_general
from pellucid_compiler.lower.recurrences import lower_recurrence
from pellucid_compiler.lower.registers import LoweringError
from pellucid_compiler.lower.scans import lower_scan, permutation
from pellucid_compiler.lower.scope import Scope
from pellucid_compiler.lower.stores import lower_stores


def lower_node(node: Node, scope: Scope) -> None:
    """Emit the steps of ``node``."""
    contraction = match_contraction(node) if scope.contracts else None
    if contraction is not None and _lower_contraction(contraction, scope):
        return
    if node.primitive is LOOP:
        _lower_loop(node, scope)
    elif node.primitive is RESHAPE:
        source = scope.builder.number(node.inputs[0])
        output = scope.builder.define(node.outputs[0])
        scope.builder.steps.append(ReshapeStep(output, source))
    elif node.primitive is SCAN:
        _lower_scan(node, scope)
    elif node.primitive is NONZERO:
        _lower_nonzero(node, scope)
    elif node.primitive is LIBRARY:
        _lower_library(node, scope)
    else:
        raise LoweringError(f"no plan for the primitive {node.primitive.name}")


# ------------------------------------------------------------------ loops


def _lower_loop(node: Node, scope: Scope) -> None:
    if view_map(node) is not None and node.outputs[0] not in scope.copied:
        lower_view(node, scope.builder)
    elif not lower_affine(node, scope.builder):
        reuses = scope.may_reuse(node)
        if not lower_stores(node, scope.builder, reuses):
            _lower_nest(node, scope, reuses)


def _lower_nest(node: Node, scope: Scope, reuses: bool) -> None:
    """A general nest; searches for values and for their indices share one."""
    for other in scope.alike(node):
        for values, places in ((node, other), (other, node)):
            if is_search_for(values, places):
                scope.done.add(other)
                return lower_general(places, scope.builder, reuses, values)
    return lower_general(node, scope.builder, reuses)


# ------------------------------------------------------------------ contractions


def _lower_contraction(contraction: Contraction, scope: Scope) -> bool:
    """Emit the product with its epilogue, or in the layout of its only reader."""
    epilogue = _epilogue(contraction, scope)
    end = None if epilogue is None else epilogue.node
    reader = scope.uses.only_reader(contraction.node.outputs[0])
    if epilogue is None and reader is not None:
        order = permutation(reader) or rounded_order(contraction, reader)
        other = None if order is None else moved(contraction, reader, order)
        if other is not None:
            contraction, end = other, reader
    if not emit_contraction(contraction, epilogue, scope.builder):
        return False
    if end is not None:
        scope.done.add(end)
    return True


def _epilogue(contraction: Contraction, scope: Scope) -> Epilogue | None:
    """The only reader of the product, if it can be fused here."""
    reader = scope.uses.only_reader(contraction.node.outputs[0])
    epilogue = None if reader is None else match_epilogue(contraction, reader)
    if epilogue is None or epilogue.bias is None:
        return epilogue
    return epilogue if scope.builder.has(epilogue.bias.value) else None


# ------------------------------------------------------------------ other primitives


def _lower_scan(node: Node, scope: Scope) -> None:
    mover = scope.mover(node)
    may_view = not scope.uses.is_output(node.outputs[0])
    if not lower_scan(node, scope.builder, mover, may_view):
        lower_recurrence(node, scope)
    elif mover is not None:
        scope.done.add(mover)


def _lower_nonzero(node: Node, scope: Scope) -> None:
    count: Expr = node.attrs.size
    source = scope.builder.number(node.inputs[0])
    register = scope.builder.registers.deferred(count)
    output = scope.builder.define(node.outputs[0])
    scope.builder.steps.append(NonzeroStep(output, source, register))
    scope.builder.begin_part()


def _lower_library(node: Node, scope: Scope) -> None:
    builder = scope.builder
    inputs = tuple(builder.number(value) for value in node.inputs)
    outputs = tuple(builder.define(value) for value in node.outputs)
    numbers = tuple(
        (name, builder.registers.of(value))
        for name, value in node.attrs.options
        if isinstance(value, Expr)
    )
    static = tuple(
        (name, value)
        for name, value in node.attrs.options
        if not isinstance(value, Expr)
    )
    builder.steps.append(
        LibraryStep(
            name=node.attrs.routine,
            outputs=outputs,
            inputs=inputs,
            options=static,
            numbers=numbers,
        )
    )
