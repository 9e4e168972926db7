"""``scan``: a recurrence whose step is a Graph.

    carry[t] = step(carry[t-1], x[t])        for t = 0 .. length-1, or backwards

Inputs are the initial carries and the sequences (stacked along their first axis);
outputs are the stacked carries after each step. The step keeps its carries' types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from pellucid.ir.expr import Expr
from pellucid.ir.graph import (
    Graph,
    Node,
    OutputType,
    Primitive,
    Value,
    VerificationError,
)
from pellucid.ir.sizes import shape_value, size_value


class ScanAttrs(NamedTuple):
    step: Graph
    length: Expr
    reverse: bool


class Scan(Primitive):
    name = "scan"

    def infer(self, inputs: Sequence[Value], attrs: ScanAttrs) -> list[OutputType]:
        return [((attrs.length, *o.shape), o.dtype) for o in attrs.step.outputs]

    def exprs(self, attrs: ScanAttrs) -> list[Expr]:
        return [attrs.length]

    def bodies(self, attrs: ScanAttrs) -> list[Graph]:
        return [attrs.step]

    def verify(self, node: Node) -> None:
        if len(node.inputs) != len(node.attrs.step.inputs):
            raise VerificationError(
                f"scan: {len(node.inputs)} inputs for a step of "
                f"{len(node.attrs.step.inputs)}"
            )
        for carry, out in zip(node.inputs, node.outputs, strict=False):
            if carry.dtype != out.dtype or carry.rank != out.rank - 1:
                raise VerificationError(
                    f"scan: a carry {carry.dtype} of rank {carry.rank} becomes "
                    f"{out.dtype} of rank {out.rank - 1} in its step"
                )

    def evaluate(self, node: Node, args: list[Any], env: dict[str, Any]) -> list[Any]:
        import numpy as np

        from pellucid.ir.evaluate import storage_dtype
        from pellucid.ir.interpret import run_nodes

        attrs: ScanAttrs = node.attrs
        num_carries = len(node.outputs)
        length = int(size_value(attrs.length, env))
        carry, sequences = args[:num_carries], args[num_carries:]
        stacks = [
            np.empty((length, *shape_value(o.shape, env)), storage_dtype(o.dtype))
            for o in attrs.step.outputs
        ]
        order = range(length)
        for t in reversed(order) if attrs.reverse else order:
            carry = run_nodes(attrs.step, [*carry, *(x[t] for x in sequences)], env)
            for stack, value in zip(stacks, carry, strict=True):
                stack[t] = value
        return stacks

    def show(self, node: Node, names: dict[Value, str]) -> str:
        num_carries = len(node.outputs)
        carries = ", ".join(names[v] for v in node.inputs[:num_carries])
        sequences = ", ".join(names[v] for v in node.inputs[num_carries:])
        back = ", backwards" if node.attrs.reverse else ""
        return f"scan({carries}; {sequences}; {node.attrs.length} steps{back})"


SCAN: Final = Scan()
