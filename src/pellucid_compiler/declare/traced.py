"""The Graph of an op at one key, and the Graphs of derivatives of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pellucid_compiler import passes, transforms
from pellucid_compiler.ir.expr import Expr
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.ir.sizes import size_value
from pellucid_compiler.ir.verify import verify


class Traced(NamedTuple):
    """The Graph of a key, and the guards under which it is valid.

    ``nominal`` names half dtypes as the body does; ``graph`` is what runs: the same
    with half precision made explicit. Derivatives are taken of ``nominal``.
    """

    nominal: Graph
    guards: dict[Expr, bool]

    @property
    def graph(self) -> Graph:
        return passes.widen_halves(self.nominal)

    def backward(self, needs_grad: Sequence[bool]) -> Traced:
        """(inputs, outputs, grads of the float outputs) -> grads of those that
        need one.
        """
        wrt = [k for k, needed in enumerate(needs_grad) if needed]
        return Traced(verify(transforms.backward(self.nominal, wrt)), self.guards)

    def jvp(self, moving: Sequence[bool]) -> Traced:
        """(inputs, tangents of those that move) -> tangents of the float outputs."""
        wrt = [k for k, moves in enumerate(moving) if moves]
        return Traced(verify(transforms.jvp(self.nominal, wrt)), self.guards)

    def serves(self, hints: Mapping[str, Any]) -> bool:
        return all(bool(size_value(c, hints)) == a for c, a in self.guards.items())
