"""``reshape``: the same elements in row-major order under another shape.

A view if the strides allow it; the runtime decides. Not an affine index map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from pellucid_compiler.ir.expr import Expr
from pellucid_compiler.ir.graph import Node, OutputType, Primitive, Shape, Value
from pellucid_compiler.ir.sizes import shape_value


class ReshapeAttrs(NamedTuple):
    shape: Shape


class Reshape(Primitive):
    name = "reshape"

    def infer(self, inputs: Sequence[Value], attrs: ReshapeAttrs) -> list[OutputType]:
        return [(attrs.shape, inputs[0].dtype)]

    def exprs(self, attrs: ReshapeAttrs) -> list[Expr]:
        return list(attrs.shape)

    def evaluate(self, node: Node, args: list[Any], env: dict[str, Any]) -> list[Any]:
        return [args[0].reshape(shape_value(node.attrs.shape, env))]

    def show(self, node: Node, names: dict[Value, str]) -> str:
        return f"reshape({names[node.inputs[0]]})"


RESHAPE: Final = Reshape()
