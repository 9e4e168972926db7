"""``nonzero``: the indices of the true elements, one row each, in row-major order.

The only primitive whose output size depends on data: it binds the symbol ``count`` when
it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from pellucid_compiler.ir.expr import Expr, const
from pellucid_compiler.ir.graph import (
    Node,
    OutputType,
    Primitive,
    Value,
    VerificationError,
)


class NonzeroAttrs(NamedTuple):
    size: Expr


class Nonzero(Primitive):
    name = "nonzero"

    def infer(self, inputs: Sequence[Value], attrs: NonzeroAttrs) -> list[OutputType]:
        return [((attrs.size, const(inputs[0].rank, "int64")), "int64")]

    def verify(self, node: Node) -> None:
        if node.inputs[0].dtype != "bool":
            raise VerificationError(f"nonzero of {node.inputs[0].dtype}: it takes bool")

    def evaluate(self, node: Node, args: list[Any], env: dict[str, Any]) -> list[Any]:
        import numpy as np

        count = int(np.count_nonzero(args[0]))
        env[node.attrs.size.attr] = count
        found = np.argwhere(args[0]).astype("int64")
        return [found.reshape(count, args[0].ndim)]

    def show(self, node: Node, names: dict[Value, str]) -> str:
        return f"nonzero({names[node.inputs[0]]})"


NONZERO: Final = Nonzero()
