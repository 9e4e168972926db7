"""``torch._dynamo.explain``: how often a callable's recording was interrupted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from pellucid._compile.compilation import Compilation
from pellucid._compile.report import CompilationReport
from pellucid._compile.settings import Settings


class BreakReason(NamedTuple):
    """Why recorded ops ran before the callable ended, and where."""

    reason: str
    user_stack: tuple[str, ...]


@dataclass
class ExplainOutput:
    """What one call recorded: a graph here is a segment of recorded ops."""

    graph_count: int
    graph_break_count: int
    op_count: int
    break_reasons: list[BreakReason]
    ops_per_graph: list[list[str]]
    report: CompilationReport

    def __repr__(self) -> str:
        return repr(self.report)


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """``explain(f)(*args)``: calls ``f`` once and says what was recorded.

    Example::

        >>> import pellucid as torch
        >>> x = torch.ones(4096)
        >>> torch._dynamo.explain(lambda x: x * 3 - x)(x).graph_count
        1
    """

    def call(*args: Any, **kwargs: Any) -> ExplainOutput:
        from pellucid._compile.callables import innermost

        function = innermost(f)
        name = getattr(function, "__qualname__", type(function).__name__)
        compilation = Compilation(name, Settings())
        compilation.run(function, args, kwargs)
        report = CompilationReport(compilation)
        graphs = [s for s in report.segments if s.recorded]
        last = len(graphs) - 1
        reasons = [BreakReason(s.end, (s.end,)) for s in graphs[: max(last, 0)]]
        return ExplainOutput(
            graph_count=len(graphs),
            graph_break_count=len(reasons),
            op_count=sum(len(s.recorded) for s in graphs),
            break_reasons=reasons,
            ops_per_graph=[[e.op or "" for e in s.recorded] for s in graphs],
            report=report,
        )

    return call(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else call
