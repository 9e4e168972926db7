"""Functions that call an op if a capture mode is active, else its body directly.

A function may run a composite's body directly, which is cheaper than calling the op. A
mode at PreDispatch must see the op. Such a function names its other form::

    def _normalized_by_op(x, eps):
        return pellucid.batch_norm(x, eps, True)

    @captured_as(_normalized_by_op)
    def normalized(x, eps):
        return bodies.by_batch(x, eps)

While a mode of capture is in force in any thread the function has the code of its other
form, so that calls ask nothing. Both compute the same. ``utils/_python_dispatch.py``
calls ``enter_capture`` and ``leave_capture``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from types import CodeType, FunctionType
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])

_others: dict[FunctionType, CodeType] = {}  # the inactive code of each function
_lock = Lock()
_captures = 0


def captured_as(form: Callable[..., Any]) -> Callable[[_F], _F]:
    """Decorates a function that is ``form`` where a mode of capture sees calls.

    Both take the same arguments under the same names and live in the same module.
    Raises TypeError for others.
    """

    def decorate(function: _F) -> _F:
        own: Any = function
        other: Any = form
        _require_alike(own, other)
        with _lock:
            _others[own] = other.__code__
            if _captures:
                _exchange([own])
        return function

    return decorate


def _require_alike(own: FunctionType, other: FunctionType) -> None:
    codes = own.__code__, other.__code__
    facts = [
        (
            c.co_varnames[: c.co_argcount + c.co_kwonlyargcount],
            c.co_argcount,
            c.co_flags,
        )
        for c in codes
    ]
    is_bound = own.__globals__ is not other.__globals__ or codes[0].co_freevars
    if facts[0] != facts[1] or is_bound or codes[1].co_freevars:
        raise TypeError(
            f"{own.__qualname__} and its form {other.__qualname__} need the same "
            "parameters and module, and no variables of an enclosing function"
        )


def _exchange(functions: Iterable[FunctionType]) -> None:
    for function in functions:
        other = _others[function]
        _others[function] = function.__code__
        function.__code__ = other


def enter_capture() -> None:
    """From now on functions have their other forms."""
    global _captures
    with _lock:
        _captures += 1
        if _captures == 1:
            _exchange(list(_others))


def leave_capture() -> None:
    """The opposite of ``enter_capture``; the last one counts."""
    global _captures
    with _lock:
        _captures -= 1
        if not _captures:
            _exchange(list(_others))
