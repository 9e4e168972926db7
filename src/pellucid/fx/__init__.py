"""Graphs of modules by symbolic tracing: not offered.

Libraries mark functions with ``torch.fx.wrap`` and ask whether a value is a ``Proxy``
on import. Nothing is traced here, so no value is one, and what would trace says so.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

__all__ = ["GraphModule", "Proxy", "Tracer", "symbolic_trace", "wrap"]

F = TypeVar("F")


class _NotOffered:
    """A class that has no instances."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"torch.fx.{type(self).__name__} is not offered: Pellucid traces no "
            "modules. pellucid.explain shows the ops that a call runs"
        )


class Proxy(_NotOffered):
    """A value that a trace stands for."""


class Tracer(_NotOffered):
    """What records the calls of a module."""


class GraphModule(_NotOffered):
    """A module made of a recorded graph."""


def wrap(fn_or_name: F) -> F:
    """The function, or its name: a trace would not look into it."""
    return fn_or_name


def symbolic_trace(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses."""
    raise NotImplementedError(
        "torch.fx.symbolic_trace is not offered: Pellucid traces no modules. "
        "pellucid.explain shows the ops that a call runs"
    )
