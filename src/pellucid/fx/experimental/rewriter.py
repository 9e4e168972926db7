"""``RewritingTracer``: ``assert`` statements become calls of ``torch._assert``."""

from __future__ import annotations

from pellucid.fx._symbolic_trace import Tracer

__all__ = ["RewritingTracer"]


class RewritingTracer(Tracer):
    """A Tracer that records the program's ``assert`` statements on Proxies.

    PyTorch's rewrites the source of ``forward``; here the jump of the statement is
    recognised, so that functions which ``forward`` calls may assert as well.
    """

    trace_asserts = True
