"""``RewritingTracer``: ``assert`` statements become calls of ``torch._assert``."""

from __future__ import annotations

from pellucid.fx._symbolic_trace import Tracer

__all__ = ["RewritingTracer"]


class RewritingTracer(Tracer):
    """A Tracer that records the program's ``assert`` statements on Proxies.

    PyTorch rewrites the source of ``forward``; here the statement's jump is recognised
    in the bytecode, so asserts in functions called by ``forward`` are recorded too.
    """

    trace_asserts = True
