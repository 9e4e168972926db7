"""``ranged("name")``: a function whose calls are ranges of the timeline.

For work of the package that is Python's own and that reports name: formatting, files.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from pellucid import _C

_Function = TypeVar("_Function", bound=Callable[..., Any])


def ranged(name: str) -> Callable[[_Function], _Function]:
    """A decorator; without a recording a call costs one check more."""

    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            token = _C._timeline_begin(name)
            if token is None:
                return function(*args, **kwargs)
            try:
                return function(*args, **kwargs)
            finally:
                _C._timeline_end(token)

        return cast(_Function, recorded)

    return decorate
