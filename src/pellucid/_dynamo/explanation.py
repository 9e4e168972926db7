"""``torch._dynamo.explain``: the graphs of a callable, and its graph breaks.

``pellucid.explain`` reports what the default backend records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pellucid._compile.settings import Settings


class BreakReason(NamedTuple):
    """The reason of a graph break, and its source line."""

    reason: str
    user_stack: tuple[str, ...]


@dataclass
class ExplainOutput:
    """The graphs that one call of a callable passes to a backend."""

    graphs: list[Any]
    graph_count: int
    graph_break_count: int
    break_reasons: list[BreakReason]
    op_count: int
    ops_per_graph: list[list[Any]]
    out_guards: list[Any] = field(default_factory=list)  # there are none

    def __str__(self) -> str:
        lines = [
            f"Graph Count: {self.graph_count}",
            f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}",
            "Break Reasons:",
        ]
        for number, (reason, stack) in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {number}:", f"    Reason: {reason}"]
            lines += ["    User Stack:", *(f"      {line}" for line in stack)]
        lines.append("Ops per Graph:")
        for number, ops in enumerate(self.ops_per_graph, 1):
            lines += [f"  Ops {number}:", *(f"    {op}" for op in ops)]
        return "\n".join(lines)

    __repr__ = __str__


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """``explain(f)(*args)``: calls ``f`` once and returns its graphs.

    Example::

        >>> import pellucid as torch
        >>> x = torch.ones(4)
        >>> found = torch._dynamo.explain(lambda x: x * 3 - x.sum().item())(x)
        >>> found.graph_count, found.graph_break_count, found.op_count
        (2, 1, 3)
    """

    def call(*args: Any, **kwargs: Any) -> ExplainOutput:
        from pellucid._compile.callables import innermost
        from pellucid._compile.capture.backends import Backend

        graphs: list[Any] = []

        def collect(graph_module: Any, inputs: Any) -> Any:
            graphs.append(graph_module)
            return graph_module.forward

        function = innermost(f)
        name = getattr(function, "__qualname__", type(function).__name__)
        backend = Backend(name, Settings(collect))
        backend.run(function, args, kwargs)
        ops = [[n.target for n in g.graph.nodes if "call" in n.op] for g in graphs]
        last = max(len(graphs) - 1, 0)
        reasons = [BreakReason(why, (where,)) for why, where in backend.breaks[:last]]
        counts = len(graphs), last, reasons, sum(map(len, ops)), ops
        return ExplainOutput(graphs, *counts)

    return call(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else call
