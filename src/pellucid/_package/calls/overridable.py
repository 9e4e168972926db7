"""Makes Python functions overridable by ``__torch_function__``, like ops.

A module says at its end which of its functions are; the callable that takes their place
asks modes and arguments (``runtime/python/overridable.cpp``). Used by the package, by
``nn.functional`` and the like. Read next: ``overrides.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType

from pellucid import _C

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

_made: dict[Any, Any] = {}


def overridable(value: Any, home: str) -> Any:
    """The callable that replaces a function of the module ``home``; other
    values unchanged.

    ``_seen_as`` of a function, if there is one, gives the positional arguments that
    ``__torch_function__`` sees.
    """
    if type(value) is not FunctionType:
        return value
    if value not in _made:
        made: Any = _C.overridable(value, getattr(value, "_seen_as", None))
        made.__module__ = home  # where it is found again
        _made[value] = made
    return _made[value]


def make_overridable(
    namespace: dict[str, Any],
    names: Iterable[str] | None = None,
    parts: str | None = None,
) -> None:
    """Puts such callables in a module's namespace: for these names, or for all public
    functions that the module and its parts define; ``parts``: the folder of these,
    where it is another.
    """
    if names is None:
        home = namespace["__name__"]
        names = [
            name
            for name, value in namespace.items()
            if type(value) is FunctionType
            and value.__module__.startswith(parts or home)
            and not name.startswith("_")
        ]
    for name in names:
        namespace[name] = overridable(namespace[name], namespace["__name__"])
