"""Scans other than running combines: a step per element, run as a plan of its own.

If only the last value of a carry is read, only that one is stored; other results of the
step that nothing reads are omitted. Called by nodes.py. Read next: scans.py, lanes.py.
"""

from __future__ import annotations

import operator

from pellucid_compiler.abi.plan import (
    Plan,
    RecurrenceStep,
)
from pellucid_compiler.ir.expr import Expr, const
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.kinds import view_map
from pellucid_compiler.ir.primitives import LOOP, ScanAttrs
from pellucid_compiler.lower.builder import PlanBuilder
from pellucid_compiler.lower.contraction import memory_order
from pellucid_compiler.lower.lanes import find_lanes
from pellucid_compiler.lower.pipelines import STEP_PASSES
from pellucid_compiler.lower.registers import size_sources
from pellucid_compiler.lower.scope import Scope
from pellucid_compiler.passes.manager import run_passes
from pellucid_compiler.passes.shifted import Shifted, shifted


def lower_recurrence(node: Node, scope: Scope) -> None:
    """Emit the scan as a recurrence step."""
    builder, attrs = scope.builder, node.attrs
    count, end = attrs.num_carries, len(node.inputs) - attrs.num_constants
    made = [k for k, v in enumerate(node.outputs) if k < count or scope.is_wanted(v)]
    step = _step_graph(attrs.step, made)
    body, bound = _step_plan(step, scope)
    shifts = [_shifted(value, scope) for value in node.inputs[count:end]]
    stacks = [
        value if found is None else found.stack
        for value, found in zip(node.inputs[count:end], shifts, strict=True)
    ]
    outputs = [
        _define_carry(node, k, scope)
        if k < count
        else (builder.define(node.outputs[k]), True)
        for k in made
    ]
    uses = step.uses()
    builder.steps.append(
        RecurrenceStep(
            body=body,
            bound=tuple(
                (register, builder.registers.of(symbol))
                for symbol, register in bound.items()
            ),
            length=builder.registers.of(attrs.length),
            reverse=attrs.reverse,
            carries=tuple(map(builder.number, node.inputs[:count])),
            sequences=tuple(map(builder.number, stacks)),
            shifts=tuple(0 if s is None else s.shift for s in shifts),
            edges=tuple(builder.number(s.edge) for s in shifts if s is not None),
            constants=tuple(map(builder.number, node.inputs[end:])),
            orders=tuple(memory_order(v, uses) for v in step.inputs[end:]),
            outputs=tuple(number for number, _ in outputs),
            stacked=tuple(is_stacked for _, is_stacked in outputs),
            lanes=find_lanes(body, count, bound.values()),
        )
    )


def _step_graph(step: Graph, made: list[int]) -> Graph:
    """The step in its lowered form, with the outputs ``made``."""
    part = Graph(step.name)
    part.inputs, part.nodes = step.inputs, step.nodes
    part.outputs = [step.outputs[k] for k in made]
    return run_passes(part.prune(), STEP_PASSES)


def _step_plan(step: Graph, scope: Scope) -> tuple[Plan, dict[Expr, int]]:
    """The step's plan, and the registers that it takes from the enclosing plan."""
    inner = PlanBuilder(scope.builder.name, size_sources(step), is_open=True)
    for value in step.inputs:
        inner.input(value)
    scope.lower_body(step, inner)
    body = inner.finish(step.outputs)
    scope.builder.kernels.update(inner.kernels)
    return body, inner.registers.free


def _shifted(value: Value, scope: Scope) -> Shifted | None:
    """``value`` as a shifted stack, if it is not materialised."""
    return shifted(value) if value in scope.in_pieces else None


def _define_carry(node: Node, carry: int, scope: Scope) -> tuple[int, bool]:
    """The number of a scan's carry, and whether all of its elements are stored."""
    builder, uses = scope.builder, scope.uses
    attrs: ScanAttrs = node.attrs
    stack = node.outputs[carry]
    if not uses.is_read(stack):
        return builder.temporary(stack.dtype, stack.shape[1:]), False
    reader = uses.only_reader(stack)
    last = const(0, "int64") if attrs.reverse else attrs.length - 1
    if reader is None or not _is_element(reader, last):
        return builder.define(stack), True
    scope.done.add(reader)
    return builder.define(reader.outputs[0]), False


def _is_element(node: Node, number: Expr) -> bool:
    """Whether a node selects one element of its operand along the leading dim."""
    if node.primitive is not LOOP or view_map(node) is None:
        return False
    (first, *index), place = node.attrs.store.body.args, node.attrs.store.place
    same = len(index) == len(place)
    return first is number and same and all(map(operator.is_, index, place))
