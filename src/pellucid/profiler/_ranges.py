"""``record_function``: named ranges of a program."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from pellucid import _C

_Function = TypeVar("_Function", bound=Callable[..., Any])


class record_function:
    """A range with a name, for ``with`` or as a decorator; costs next to nothing while
    no profiler is on.

    Example::

        with torch.profiler.record_function("loss"):
            loss = F.cross_entropy(model(x), y)
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._token: Any = None

    def __enter__(self) -> Self:
        self._token = _C._timeline_begin(self.name)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        token, self._token = self._token, None
        _C._timeline_end(token)

    def __call__(self, function: _Function) -> _Function:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                with record_function(self.name, self.args):
                    return await function(*args, **kwargs)

            return awaited  # type: ignore[return-value]

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return recorded  # type: ignore[return-value]
