"""The registry of backends for ``torch.compile(backend=name)``.

"inductor" is Pellucid's own engine; "eager" and similar backends run the program
eagerly. A registered backend takes a GraphModule and example inputs and returns a
callable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from pellucid._compile.state import RUN_AS_WRITTEN
from pellucid._dynamo.exc import InvalidBackend

CompilerFn = Callable[..., Any]

_BACKENDS: Final[dict[str, tuple[CompilerFn, tuple[str, ...]]]] = {}


def register_backend(
    compiler_fn: CompilerFn | None = None,
    name: str | None = None,
    tags: Sequence[str] = (),
) -> Any:
    """Registers a backend; also a decorator, ``@register_backend(name="mine")``."""
    if compiler_fn is None:
        return lambda function: register_backend(function, name, tags)
    if not callable(compiler_fn):
        raise AssertionError(f"a backend is callable, not {type(compiler_fn).__name__}")
    given = name or compiler_fn.__name__
    if given in _BACKENDS and _BACKENDS[given][0] is not compiler_fn:
        raise AssertionError(f"duplicate name: {given}")
    _BACKENDS[given] = (compiler_fn, tuple(tags))
    return compiler_fn


def list_backends(
    exclude_tags: Sequence[str] | None = ("debug", "experimental"),
) -> list[str]:
    """The names, sorted, without those that have one of ``exclude_tags``."""
    left_out = set(exclude_tags or ())
    own = {"inductor": (), **dict.fromkeys(RUN_AS_WRITTEN, ("debug",))}
    tags_of = own | {name: tags for name, (_, tags) in _BACKENDS.items()}
    return sorted(name for name, tags in tags_of.items() if not left_out & set(tags))


def lookup_backend(compiler_fn: str | CompilerFn) -> CompilerFn:
    """The function registered under a name; a function is returned unchanged."""
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn in ("inductor", *RUN_AS_WRITTEN):
        from pellucid._dynamo.backends.debugging import BUILT_IN

        return BUILT_IN[compiler_fn]
    if compiler_fn not in _BACKENDS:
        raise InvalidBackend(compiler_fn)
    return _BACKENDS[compiler_fn][0]


def is_known(name: str) -> bool:
    return name == "inductor" or name in RUN_AS_WRITTEN or name in _BACKENDS
