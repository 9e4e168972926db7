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
    """``model`` with the same results, computed in fewer passes over memory.

    A module gives an ``OptimizedModule``, a function a function of the same name and
    signature; without ``model`` this is a decorator. Python runs in every call; ops of
    single elements on many elements are recorded and run together, with the bits that
    they have one by one. ``pellucid.explain(compiled)`` says what was recorded.

    ``backend``: "inductor" is this engine, "eager" runs the program as it is. A
    function, or the name of a registered one, gets a GraphModule and example inputs at
    the first call, and gives a callable of these inputs, which runs in later calls;
    where the program reads a value, the graph ends and another follows.
    ``fullgraph=True`` raises where Python reads a tensor's value, with the line.
    ``dynamic``: whether graphs of a backend have open sizes, by default from the second
    size on; this engine never compiles again for sizes. ``mode`` and ``options`` are
    passed to backends. RuntimeError for modes that do not exist, InvalidBackend for
    unknown names, BackendCompilerFailed for what a backend raises.

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
    """A function, method, module, class or callable object, compiled."""
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
