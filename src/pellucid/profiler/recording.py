"""Recording: a mode that times each op, and named ranges around them.

Used by ``profile``; ranges are recorded by the innermost recorder of the thread.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from pellucid._decomp.derivatives import shown_name
from pellucid._tensor import Tensor
from pellucid.profiler.events import FunctionEvent
from pellucid.utils._python_dispatch import TorchDispatchMode

_Function = TypeVar("_Function", bound=Callable[..., Any])
_on_thread = threading.local()


def _recorders() -> list[Recorder]:
    found: list[Recorder] = _on_thread.__dict__.setdefault("recorders", [])
    return found


class Recorder(TorchDispatchMode):
    """Every op between ``start`` and ``stop``, as events.

    Observes: what it times are the ops that run without it.
    """

    _observes = True

    def __init__(self, record_shapes: bool) -> None:
        self.record_shapes = record_shapes
        self.events: list[FunctionEvent] = []
        self._open: list[FunctionEvent] = []

    def start(self) -> None:
        """Record from now on."""
        _recorders().append(self)
        self.__enter__()

    def stop(self) -> list[FunctionEvent]:
        """Record no more; what was recorded."""
        self.__exit__(None, None, None)
        _recorders().remove(self)
        return self.events

    def begin(self, name: str, shapes: list[list[int]], is_range: bool) -> None:
        """A call or a range begins."""
        parent = self._open[-1] if self._open else None
        event = FunctionEvent(name, shapes, parent, is_range, threading.get_ident())
        self.events.append(event)
        self._open.append(event)
        event.start = time.perf_counter_ns()

    def end(self) -> None:
        """What began last ends."""
        end = time.perf_counter_ns()
        self._open.pop().end = end

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        shapes = [_shape(a) for a in args] if self.record_shapes else []
        self.begin(shown_name(func), shapes, is_range=False)
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self.end()


def _shape(argument: Any) -> list[int]:
    return list(argument.shape) if isinstance(argument, Tensor) else []


class record_function:
    """A range with a name, for ``with`` or as a decorator; costs next to nothing while
    no profiler is on.

    Example::

        with torch.profiler.record_function("loss"):
            loss = F.cross_entropy(model(x), y)
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._recorder: Recorder | None = None

    def __enter__(self) -> Self:
        recorders = _recorders()
        self._recorder = recorders[-1] if recorders else None
        if self._recorder is not None:
            self._recorder.begin(self.name, [], is_range=True)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        if self._recorder is not None:
            self._recorder.end()
            self._recorder = None

    def __call__(self, function: _Function) -> _Function:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return recorded  # type: ignore[return-value]
