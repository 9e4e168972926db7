"""Tangents of library routines, written in the op language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pellucid.ir.graph import Graph, Value
from pellucid.ir.primitives.library import JvpRule
from pellucid.lang.tensor import Tensor
from pellucid.lang.tracing import Questions, tracing


def graph_rule(function: Callable[..., tuple[Tensor, ...]]) -> JvpRule:
    """A routine's JVP: ``function(*inputs, *outputs, *tangents)`` -> output
    tangents.
    """

    def rule(
        graph: Graph,
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        tangents: Sequence[Value],
        **options: Any,
    ) -> list[Value | None]:
        with tracing(graph, Questions({})):
            found = function(*map(Tensor, (*inputs, *outputs, *tangents)))
        return [t.value for t in found]

    return rule
