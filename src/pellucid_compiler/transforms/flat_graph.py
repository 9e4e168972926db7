"""A Graph as steps: its nodes with called Graphs copied in, and numbers for the values.

Sharding chooses a strategy per step (``shard.py``) and divides the steps into stages
(``stages.py``).
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from pellucid_compiler.ir.expr import LOADS
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.primitives import CALL, LOOP
from pellucid_compiler.ir.traversal import walk
from pellucid_compiler.transforms.shard_rules import loop_bodies


class Step(NamedTuple):
    """A node, and the numbers of its values."""

    node: Node
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class FlatGraph:
    """A Graph's nodes with called Graphs copied in; values are numbered."""

    def __init__(self, graph: Graph) -> None:
        self.steps: list[Step] = []
        self._count = itertools.count()
        names = {value: next(self._count) for value in graph.inputs}
        self.inputs = [names[value] for value in graph.inputs]
        self._add(graph, names)
        self.outputs = [names[value] for value in graph.outputs]
        self.read = {number for step in self.steps for number in step.inputs}
        self.values = dict(zip(self.inputs, graph.inputs, strict=True))
        for step in self.steps:
            self.values.update(zip(step.outputs, step.node.outputs, strict=True))
        self._varying = self._differentiated()

    def is_detached(self, number: int) -> bool:
        """Whether no gradient reaches the value, or none goes on to an input."""
        if number not in self._varying:
            return True
        readers = [step for step in self.steps if number in step.inputs]
        return number not in self.outputs and all(
            _is_detached(step.node, k)
            for step in readers
            for k, other in enumerate(step.inputs)
            if other == number
        )

    def _differentiated(self) -> set[int]:
        """The values from which gradients go on to an input."""
        found = {n for n in self.inputs if self.values[n].differentiable}
        for step in self.steps:
            if any(
                number in found and not _is_detached(step.node, operand)
                for operand, number in enumerate(step.inputs)
            ):
                found |= {n for n in step.outputs if self.values[n].differentiable}
        return found

    def _add(self, graph: Graph, names: dict[Value, int]) -> None:
        for node in graph.nodes:
            given = tuple(names[value] for value in node.inputs)
            if node.primitive is CALL:
                body: Graph = node.attrs.body
                inner = dict(zip(body.inputs, given, strict=True))
                self._add(body, inner)
                made = tuple(inner[value] for value in body.outputs)
            else:
                made = tuple(next(self._count) for _ in node.outputs)
                self.steps.append(Step(node, given, made))
            names.update(zip(node.outputs, made, strict=True))


def _is_detached(node: Node, operand: int) -> bool:
    """Whether a loop reads the operand without a gradient to it."""
    if node.primitive is not LOOP:
        return False
    if not node.outputs[0].differentiable:
        return True
    return all(
        body.op == "with_partials" and len(body.args) == 1
        for body in loop_bodies(node.attrs)
        if any(e.op in LOADS and e.attr == operand for e in walk(body))
    )
