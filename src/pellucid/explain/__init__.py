"""What happens in a call, from its arguments to machine code.

``explain(fn, *args)`` runs the call, records what was dispatched, and shows for every
op: schema, dispatch keys, specialisation key, handler, Graph or scalar function, plan,
kernels and whether the pack has them; ``.llvm()`` and ``.assembly()`` go on to machine
code, which needs llvmlite. ``python -m pellucid.explain softsign`` shows an op by name.

    >>> print(pellucid.explain(torch.softmax, x, -1))
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from pellucid.explain.report import Explanation, explain_request

__all__ = ["Explanation", "explain"]


def explain(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Calls ``fn`` and explains every op that it ran; print the result."""
    import pellucid.ops  # noqa: F401 - fills the registry
    from pellucid import _C

    _C._start_call_log()
    try:
        fn(*args, **kwargs)
    finally:
        calls = _C._stop_call_log()
    return Explanation(list(_backend_calls(calls)))


def _backend_calls(calls: list[tuple[str, str, int, bytes]]) -> Any:
    """One section per op: the keys it passed, then what its last key ran."""
    passed: list[str] = []
    for position, (op, key, depth, request) in enumerate(calls):
        passed.append(key)
        following = calls[position + 1] if position + 1 < len(calls) else None
        if following is None or following[0] != op or following[2] <= depth:
            yield explain_request(op, passed, request)
            passed = []


class _Callable(ModuleType):
    """``pellucid.explain`` is this package and, called, its one function."""

    def __call__(
        self, fn: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Explanation:
        return explain(fn, *args, **kwargs)


sys.modules[__name__].__class__ = _Callable
