"""Graphs of modules by symbolic tracing: not offered.

Libraries mark functions with ``torch.fx.wrap`` and ask whether a value is a ``Proxy``
on import. Nothing is traced here, so no value is one, and what would trace says so.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]

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


class Graph(_NotOffered):
    """What a trace records."""


class Node(_NotOffered):
    """One call of a recorded graph."""


class Interpreter(_NotOffered):
    """What runs a recorded graph call by call."""


class Transformer(Interpreter):
    """What makes another graph of a recorded one."""


def has_side_effect(fn: F) -> F:
    """The function: no graph is recorded from which its calls could be removed."""
    return fn


def wrap(fn_or_name: F) -> F:
    """The function, or its name: a trace would not look into it."""
    return fn_or_name


def symbolic_trace(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses."""
    raise NotImplementedError(
        "torch.fx.symbolic_trace is not offered: Pellucid traces no modules. "
        "pellucid.explain shows the ops that a call runs"
    )


def replace_pattern(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses."""
    raise NotImplementedError(
        "torch.fx.replace_pattern is not offered: there are no recorded graphs"
    )
