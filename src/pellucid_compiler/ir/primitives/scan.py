"""``scan``: a recurrence whose step is a Graph.

    carry[t], extra[t] = step(carry[t-1], x[t], c)    for t = 0 .. length-1

or backwards. Inputs are the initial carries, the sequences (stacked along their first
axis) and the constants, which every step reads whole. Outputs are, stacked, the carries
after each step and the step's other results. Carries keep their types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from pellucid_compiler.ir.expr import Expr
from pellucid_compiler.ir.graph import (
    Graph,
    Node,
    OutputType,
    Primitive,
    Value,
    VerificationError,
)
from pellucid_compiler.ir.sizes import shape_value, size_value


class ScanAttrs(NamedTuple):
    """``num_carries`` inputs and outputs come first; ``num_constants`` inputs last."""

    step: Graph
    length: Expr
    reverse: bool
    num_carries: int
    num_constants: int = 0


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
        num_carries = node.attrs.num_carries
        carries = node.inputs[:num_carries]
        if num_carries > len(node.outputs):
            raise VerificationError(
                f"scan: {num_carries} carries and {len(node.outputs)} outputs"
            )
        for carry, out in zip(carries, node.outputs, strict=False):
            if carry.dtype != out.dtype or carry.rank != out.rank - 1:
                raise VerificationError(
                    f"scan: a carry {carry.dtype} of rank {carry.rank} becomes "
                    f"{out.dtype} of rank {out.rank - 1} in its step"
                )

    def evaluate(self, node: Node, args: list[Any], env: dict[str, Any]) -> list[Any]:
        import numpy as np

        from pellucid_compiler.ir.evaluate import storage_dtype
        from pellucid_compiler.ir.interpret import run_nodes

        attrs: ScanAttrs = node.attrs
        num_carries = attrs.num_carries
        length = int(size_value(attrs.length, env))
        end = len(args) - attrs.num_constants
        carry, sequences = args[:num_carries], args[num_carries:end]
        stacks = [
            np.empty((length, *shape_value(o.shape, env)), storage_dtype(o.dtype))
            for o in attrs.step.outputs
        ]
        order = range(length)
        for t in reversed(order) if attrs.reverse else order:
            given = [*carry, *(x[t] for x in sequences), *args[end:]]
            made = run_nodes(attrs.step, given, env)
            carry = made[:num_carries]
            for stack, value in zip(stacks, made, strict=True):
                stack[t] = value
        return stacks

    def show(self, node: Node, names: dict[Value, str]) -> str:
        attrs: ScanAttrs = node.attrs
        end = len(node.inputs) - attrs.num_constants
        groups = (
            node.inputs[: attrs.num_carries],
            node.inputs[attrs.num_carries : end],
            node.inputs[end:],
        )
        given = "; ".join(", ".join(names[v] for v in group) for group in groups)
        back = ", backwards" if attrs.reverse else ""
        return f"scan({given}; {attrs.length} steps{back})"


SCAN: Final = Scan()
