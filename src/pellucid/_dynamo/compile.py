"""``pellucid.compile``, which does not compile yet and says so."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """A module as an ``OptimizedModule``, a function unchanged: calls run eagerly.

    Without ``model`` it is a decorator. Warns that nothing is compiled unless
    ``backend`` is "eager"; for ``fullgraph=True``, which promises a graph, always.
    """
    if model is None:
        return lambda function: compile(
            function, fullgraph=fullgraph, backend=backend, disable=disable
        )
    if not callable(model):
        raise AssertionError(
            f"compile takes a function or module, not {type(model).__name__}"
        )
    if disable:
        return model
    if fullgraph or backend != "eager":
        warnings.warn(
            "pellucid.compile does not compile yet: the function runs eagerly"
            + ", and no graph of it is captured" * fullgraph,
            stacklevel=2,
        )
    from pellucid._dynamo.eval_frame import OptimizedModule
    from pellucid.nn import Module

    return OptimizedModule(model) if isinstance(model, Module) else model
