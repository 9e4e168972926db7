"""Tangents of library routines, written in the op language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pellucid.ir.graph import Graph, Value
from pellucid.ir.primitives.library import JvpRule
from pellucid.lang.tensor import Tensor
from pellucid.lang.tracing import Questions, tracing


def graph_rule(function: Callable[..., tuple[Tensor | None, ...]]) -> JvpRule:
    """A routine's JVP: ``function(*inputs, *outputs, *tangents)`` -> output
    tangents. An input or output that does not move has the tangent None.
    """

    def rule(
        graph: Graph,
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        tangents: Sequence[Value | None],
        **options: Any,
    ) -> list[Value | None]:
        given = [*inputs, *outputs, *tangents]
        with tracing(graph, Questions({})):
            found = function(*(None if v is None else Tensor(v) for v in given))
        return [None if t is None else t.value for t in found]

    return rule
