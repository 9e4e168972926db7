"""``disable``, ``set_stance`` and other annotations for ``torch.compile``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from pellucid import _C
from pellucid._compile import state
from pellucid._compile.callables import all_runners
from pellucid._compile.settings import check_settings

_F = TypeVar("_F", bound=Callable[..., Any])


def disable(
    fn: Any = None,
    recursive: bool = True,
    *,
    reason: str | None = None,
    wrapping: bool = True,
) -> Any:
    """``fn`` uncompiled, also inside compiled callables; without ``fn`` a decorator.

    In a region its ops run immediately; callables with ``fullgraph=True`` refuse it.
    """
    if fn is None:
        return lambda function: disable(function, recursive, reason=reason)
    from pellucid._compile.callables import innermost
    from pellucid.nn import Module

    fn = innermost(fn)
    if isinstance(fn, Module) or inspect.isclass(fn):
        return fn

    @functools.wraps(fn)
    def as_written(*args: Any, **kwargs: Any) -> Any:
        mode = state.capture()
        if mode is not None:
            name = getattr(fn, "__qualname__", repr(fn))
            with mode.paused(f"{name} is disabled{f' ({reason})' if reason else ''}"):
                return fn(*args, **kwargs)
        if not _C._region_depth():
            return fn(*args, **kwargs)
        _refuse_in_full_graph(fn, reason)
        before = _C._exclude_recording(True)
        try:
            return fn(*args, **kwargs)
        finally:
            _C._exclude_recording(before)

    marked: Any = as_written
    marked._torchdynamo_disable = True
    marked._torchdynamo_disable_msg = reason
    marked._torchdynamo_orig_callable = fn
    return as_written


def _refuse_in_full_graph(fn: Any, reason: str | None) -> None:
    from pellucid._dynamo.exc import Unsupported

    if _C._region_refuses_reads():
        name = getattr(fn, "__qualname__", repr(fn))
        raise Unsupported(
            f"fullgraph=True: {name} was given to torch.compiler.disable"
            + (f" ({reason})" if reason else "")
            + " and cannot be part of a graph.\n"
            "Call it outside of the compiled function, or leave fullgraph=False."
        )


def graph_break(msg: str = "") -> None:
    """Runs the recorded ops; refused in a callable with ``fullgraph=True``."""
    from pellucid._dynamo.exc import Unsupported

    mode = state.capture()
    if mode is not None:
        mode.run(f"the program requests a graph break: {msg}")
    elif _C._region_depth():
        if _C._region_refuses_reads():
            raise Unsupported(
                f"fullgraph=True: the program requests a graph break: {msg}"
            )
        _C._exclude_recording(_C._exclude_recording(True))


class set_stance:
    """Sets how compiled callables run; also a context manager and a decorator.

    "force_eager" runs them eagerly. The other stances equal "default", since nothing is
    ever recompiled. ``force_backend`` is used in the place of their own backends.
    RuntimeError for unknown names. Example::

        >>> import pellucid as torch
        >>> with torch.compiler.set_stance("force_eager"):
        ...     torch.compile(abs)(torch.tensor(-1))
        tensor(1)
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: Any = None,
    ) -> None:
        if stance not in state.STANCES:
            raise RuntimeError(
                f"invalid torch.compile stance {stance!r}; "
                f"give one of {', '.join(state.STANCES)}"
            )
        if force_backend is not None and stance != "default":
            raise RuntimeError("force_backend needs the stance 'default'")
        if force_backend is not None:
            check_settings(force_backend, False, None, None, None)
        self._before = state.stance(), state.forced_backend()
        self._own = stance, force_backend
        self._set(self._own)

    @staticmethod
    def _set(chosen: tuple[str, Any]) -> None:
        if chosen[1] is not state.forced_backend():
            for runner in all_runners():
                runner.reset()  # so that each call asks for its backend
        state.set_stance(*chosen)

    def __enter__(self) -> None:
        self._set(self._own)

    def __exit__(self, *error: Any) -> None:
        self._set(self._before)

    def __call__(self, fn: _F) -> _F:
        stance, forced = self._own
        self._set(self._before)

        @functools.wraps(fn)
        def with_stance(*args: Any, **kwargs: Any) -> Any:
            with set_stance(stance, force_backend=forced):
                return fn(*args, **kwargs)

        return with_stance  # type: ignore[return-value]


def allow_in_graph(fn: _F) -> _F:
    """Returns ``fn``: Python runs in every call, so this has no effect."""
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(each) for each in fn]
    if not callable(fn):
        raise AssertionError(
            f"allow_in_graph takes a callable, not {type(fn).__name__}"
        )
    return fn


def assume_constant_result(fn: _F) -> _F:
    """Returns ``fn``, which is called every time: its result need not be constant."""
    return fn


def mark_dynamic(
    t: Any,
    index: int | list[int] | tuple[int, ...],
    *,
    hint_override: int | None = None,
    min: int | None = None,
    max: int | None = None,
    specialize_on: Any = None,
) -> None:
    """Marks sizes as dynamic: graphs for backends are made for all sizes at once.

    The default backend does not specialise on sizes.
    """
    _mark(t, "_dynamo_dynamic_indices", index)


def maybe_mark_dynamic(t: Any, index: int | list[int] | tuple[int, ...]) -> None:
    """Marks sizes as dynamic, like ``mark_dynamic``."""
    _mark(t, "_dynamo_dynamic_indices", index)


def mark_static(t: Any, index: int | list[int] | tuple[int, ...] | None = None) -> None:
    """Marks sizes as static, for graphs with ``dynamic=True``; all sizes without
    ``index``.
    """
    if not inspect.isclass(t):
        all_dims = tuple(range(t.dim()))
        _mark(t, "_dynamo_static_indices", all_dims if index is None else index)


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Marks a tensor's address as static, which has no effect."""
    from pellucid import Tensor

    if not isinstance(t, Tensor):
        raise TypeError(f"mark_static_address expects a tensor but received {type(t)}")


def _mark(t: Any, name: str, index: int | list[int] | tuple[int, ...]) -> None:
    dims = index if isinstance(index, (list, tuple)) else (index,)
    for dim in dims:
        if not -t.dim() <= dim < t.dim():
            raise IndexError(
                f"the tensor has {t.dim()} dimensions, and {dim} is none of them"
            )
    marked = getattr(t, name, set()) | {dim % t.dim() for dim in dims}
    setattr(t, name, marked)


def reset() -> None:
    """Clears the counters and the state of compiled callables."""
    from pellucid._compile.callables import all_runners
    from pellucid._dynamo.utils import counters

    for runner in all_runners():
        runner.reset()
    counters.clear()
