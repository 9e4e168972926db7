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
    """Returns ``model`` unchanged, with a warning: every call runs eagerly.

    Without ``model`` it is a decorator. ``fullgraph=True`` asks for a guarantee that
    cannot be given, and raises.
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
    if fullgraph:
        raise NotImplementedError(
            "pellucid.compile cannot capture a graph yet; leave fullgraph out to run "
            "eagerly"
        )
    if backend != "eager":
        warnings.warn(
            "pellucid.compile does not compile yet: the function runs eagerly",
            stacklevel=2,
        )
    return model
