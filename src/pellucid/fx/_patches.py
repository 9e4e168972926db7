"""Patches that are active during a trace: module calls, reads of parameters, functions
marked by ``wrap``.
"""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pellucid.fx.proxy import Proxy
from pellucid.nn import Module
from pellucid.utils import _pytree as pytree

if TYPE_CHECKING:
    from pellucid.fx._symbolic_trace import Tracer

# (id of the dict of globals, name) → that dict
_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
_wrapped_methods_to_patch: list[tuple[type, str]] = []
_MISSING = object()


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Records each call of a function as one node instead of tracing into it.

    At module level, with the function or its name; also as a decorator. Raises
    NotImplementedError elsewhere, since the name in the module is patched.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string "
            "name"
        )
    if callable(fn_or_name):
        if isinstance(fn_or_name, str):
            raise AssertionError(f"{fn_or_name!r} is a name and callable")
        name = fn_or_name.__name__
    else:
        name = fn_or_name
    current = inspect.currentframe()
    frame = current.f_back if current is not None else None
    if frame is None:
        raise AssertionError("wrap needs the frame of its caller")
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def find_proxy(*values: Any) -> Proxy | None:
    """The first Proxy in containers of arguments."""
    found = (x for x in pytree.tree_iter(values) if isinstance(x, Proxy))
    return next(found, None)


class Patcher:
    """A context that patches names and restores them at its end."""

    def __init__(self) -> None:
        self._patched: list[tuple[Any, str, Any, bool]] = []
        self._visited: set[int] = set()

    def patch(
        self, names: dict[str, Any], name: str, new: Any, deduplicate: bool = True
    ) -> None:
        """Patches a name of a module; ``deduplicate``: only once."""
        self._patched.append((names, name, names.get(name, _MISSING), True))
        names[name] = _mark(new) if deduplicate else new

    def patch_method(
        self, cls: type, name: str, new: Any, deduplicate: bool = True
    ) -> None:
        """Patches a method of a class."""
        self._patched.append((cls, name, vars(cls).get(name, _MISSING), False))
        setattr(cls, name, _mark(new) if deduplicate else new)

    def visit_once(self, thing: Any) -> bool:
        """Whether ``thing`` is visited for the first time."""
        is_new = id(thing) not in self._visited
        self._visited.add(id(thing))
        return is_new

    def __enter__(self) -> Patcher:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for owner, name, old, is_item in reversed(self._patched):
            if is_item and old is _MISSING:
                del owner[name]
            elif is_item:
                owner[name] = old
            elif old is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, old)
        self._patched.clear()


def _is_patched(value: Any) -> bool:
    return bool(getattr(value, "__fx_already_patched", False))


def _mark(function: Any) -> Any:
    setattr(function, "__fx_already_patched", True)
    return function


def patch_module_class(
    patcher: Patcher, tracer: Tracer, parameter_proxy_cache: dict[str, Any]
) -> None:
    """Redirects module calls to ``tracer.call_module`` and reads of registered values
    to ``tracer.getattr``.
    """
    call, read = Module.__call__, Module.__getattribute__

    @functools.wraps(call)
    def module_call(mod: Module, *args: Any, **kwargs: Any) -> Any:
        def forward(*args: Any, **kwargs: Any) -> Any:
            return call(mod, *args, **kwargs)

        autowrap_check(
            patcher,
            getattr(type(mod).forward, "__globals__", {}),
            tracer._autowrap_function_ids,
        )
        return tracer.call_module(mod, forward, args, kwargs)

    def module_getattribute(mod: Module, name: str) -> Any:
        value = read(mod, name)
        if (name[0] == "_" and name[1:2] == "_") or name in _REGISTRIES:
            return value
        own = read(mod, "__dict__")
        if name not in own and any(name in own.get(kind, ()) for kind in _REGISTRIES):
            return tracer.getattr(name, value, parameter_proxy_cache)
        return value

    patcher.patch_method(Module, "__call__", module_call, deduplicate=False)
    patcher.patch_method(
        Module, "__getattribute__", module_getattribute, deduplicate=False
    )


_REGISTRIES = ("_parameters", "_buffers", "_modules")


def _recorded(original: Any) -> Any:
    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", original, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return wrapped


def _recorded_method(cls: type, name: str) -> Any:
    original = getattr(cls, name)

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


def patch_wrapped_functions(patcher: Patcher) -> None:
    """Patches the functions and methods that ``wrap`` has marked."""
    for (_, name), names in list(_wrapped_fns_to_patch.items()):
        if name not in names and hasattr(builtins, name):
            original = getattr(builtins, name)
        elif name in names:
            original = names[name]
        else:
            raise NameError(f"torch.fx.wrap: the module has no function {name!r}")
        if not _is_patched(original):
            patcher.patch(names, name, _recorded(original))
    for cls, name in _wrapped_methods_to_patch:
        if not _is_patched(getattr(cls, name)):
            patcher.patch_method(cls, name, _recorded_method(cls, name))


def autowrap_check(
    patcher: Patcher, names: dict[str, Any], function_ids: set[int]
) -> None:
    """Patches the functions of a module that the tracer wraps automatically."""
    if not patcher.visit_once(names):
        return
    for name, value in list(names.items()):
        is_candidate = not name.startswith("_") and callable(value)
        if is_candidate and id(value) in function_ids and not _is_patched(value):
            patcher.patch(names, name, _recorded(value))
