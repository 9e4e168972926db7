"""``pellucid.compile``: a callable whose ops are recorded and run in groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pellucid._package.calls import offered

if TYPE_CHECKING:
    from pellucid._compile.settings import Settings


class _DefaultBackend:
    """What ``torch.compile`` runs where it is given no backend."""

    def __init__(self) -> None:
        self._chosen: str | Callable[..., Any] = "inductor"

    def get(self) -> str | Callable[..., Any]:
        return self._chosen

    def set(self, backend: str | Callable[..., Any] | None) -> None:
        self._chosen = "inductor" if backend is None else backend


default_backend = _DefaultBackend()


@offered.value
def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
) -> Any:
    """Compiles ``model``: the same results, computed in fewer passes over memory.

    For a module it returns an ``OptimizedModule``, for a function one of the same name
    and signature; without ``model`` it is a decorator. Elementwise ops on large tensors
    are recorded and fused, with the same bits as single ops; calls that repeat an
    earlier one run without Python if nothing that it read has changed.
    ``pellucid.explain(compiled)`` reports both.

    ``backend``: "inductor" is this engine, "eager" runs the program eagerly. A
    function, or the name of a registered one, receives a GraphModule and example inputs
    at the first call, and returns a callable of these inputs, which runs in later
    calls. If the program reads a value, there is a graph break. ``fullgraph=True``
    raises if Python reads a tensor's value, with the source line. ``dynamic``: whether
    graphs for a backend have dynamic sizes, by default from the second size on; this
    engine never recompiles for sizes. ``mode`` and ``options`` are passed to backends.
    RuntimeError for unknown modes, InvalidBackend for unknown names,
    BackendCompilerFailed for an error in a backend.

    Example::

        >>> import pellucid as torch
        >>> @torch.compile
        ... def scaled(x):
        ...     return (x * 2 + 1).relu()
        >>> scaled(torch.tensor([1.0, -2.0]))
        tensor([3., 0.])
    """
    from pellucid._compile.settings import check_settings

    if model is None:
        return lambda function: compile(
            function,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            options=options,
            name=name,
            disable=disable,
            recompile_limit=recompile_limit,
        )
    if not callable(model):
        raise AssertionError(
            f"compile takes a function or module, not {type(model).__name__}"
        )
    chosen = default_backend.get() if backend is None else backend
    settings = check_settings(chosen, fullgraph, dynamic, mode, options)
    return model if disable else _compiled(model, settings)


def _compiled(model: Any, settings: Settings) -> Any:
    """Compiles a function, method, module, class or callable object."""
    from pellucid._compile.callables import compile_function
    from pellucid._dynamo.eval_frame import OptimizedModule
    from pellucid.nn import Module

    if isinstance(model, OptimizedModule):
        model = model._orig_mod
    if isinstance(model, Module):
        return OptimizedModule(model, settings)
    if not isinstance(model, type):
        return compile_function(model, settings)
    call: Any = vars(model).get("__call__")
    if call is not None:  # calls of its instances are compiled
        model.__call__ = compile_function(call, settings)  # type: ignore[method-assign]
    return model
