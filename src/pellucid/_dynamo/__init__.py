"""``torch._dynamo``: the interface of graph capture for programs and libraries.

There is no bytecode capture: Python runs in every call of a compiled callable, and its
ops are recorded (docs/compile.md). These functions behave accordingly.
"""

from __future__ import annotations

from typing import Any

from pellucid._compile import state
from pellucid._compile.decorators import (
    allow_in_graph,
    assume_constant_result,
    disable,
    graph_break,
    mark_dynamic,
    mark_static,
    mark_static_address,
    maybe_mark_dynamic,
    reset,
    set_stance,
)
from pellucid._dynamo import config, decorators, exc, utils
from pellucid._dynamo.backends.registry import (
    list_backends,
    lookup_backend,
    register_backend,
)
from pellucid._dynamo.explanation import explain
from pellucid._dynamo.graph_export import export

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "decorators",
    "disable",
    "exc",
    "explain",
    "export",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "is_inductor_supported",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "optimize",
    "optimize_assert",
    "register_backend",
    "reset",
    "run",
    "set_stance",
    "utils",
]


def is_compiling() -> bool:
    """Whether ops are being recorded for a user's backend or a program is exported.

    False with the default backend, which runs the Python code unchanged and whose
    recorded ops give the eager results.
    """
    return state.capture() is not None or state.is_exporting()


def is_dynamo_supported() -> bool:
    """True: callables are compiled on every platform that Pellucid runs on."""
    return True


def is_inductor_supported() -> bool:
    """True: the engine needs no compiler on the machine."""
    return True


def optimize(
    backend: Any = "inductor",
    *,
    nopython: bool = False,
    disable: bool = False,
    dynamic: bool | None = None,
    **options: Any,
) -> Any:
    """A decorator: ``torch.compile`` with this backend, ``nopython`` its fullgraph."""
    from pellucid._dynamo.compile import compile

    return lambda model: compile(
        model, backend=backend, fullgraph=nopython, disable=disable, dynamic=dynamic
    )


def optimize_assert(backend: Any = "inductor", **options: Any) -> Any:
    """``optimize(backend, nopython=True)``."""
    return optimize(backend, nopython=True)


def run(fn: Any = None) -> Any:
    """``fn`` with only what was compiled so far; without ``fn`` a decorator."""
    return fn if fn is not None else lambda function: function


def __getattr__(name: str) -> Any:
    if name not in ("OptimizedModule", "eval_frame"):
        raise AttributeError(f"module 'pellucid._dynamo' has no attribute {name!r}")
    from importlib import import_module

    eval_frame = import_module("pellucid._dynamo.eval_frame")
    return eval_frame if name == "eval_frame" else eval_frame.OptimizedModule
