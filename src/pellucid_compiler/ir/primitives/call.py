"""``call``: a Graph as one node, with a hand-written VJP.

``vjp`` takes the inputs, the outputs and the cotangents of the differentiable outputs,
and returns the cotangents of the inputs at the positions ``wrt``. The tangent of a call
is this Graph transposed with respect to the cotangents. The last ``num_saved`` outputs
are saved for the VJP: the caller of the op does not see them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from pellucid_compiler.ir.graph import Graph, Node, OutputType, Primitive, Value


class CallAttrs(NamedTuple):
    label: str
    body: Graph
    vjp: Graph
    wrt: tuple[int, ...]
    num_saved: int = 0


class Call(Primitive):
    name = "call"

    def infer(self, inputs: Sequence[Value], attrs: CallAttrs) -> list[OutputType]:
        return [(o.shape, o.dtype) for o in attrs.body.outputs]

    def bodies(self, attrs: CallAttrs) -> list[Graph]:
        return [attrs.body]

    def evaluate(self, node: Node, args: list[Any], env: dict[str, Any]) -> list[Any]:
        from pellucid_compiler.ir.interpret import run_checked

        return run_checked(node.attrs.body, args, env)

    def show(self, node: Node, names: dict[Value, str]) -> str:
        return f"{node.attrs.label}({', '.join(names[v] for v in node.inputs)})"


CALL: Final = Call()
