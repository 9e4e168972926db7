"""``torch.overrides``: support for __torch_function__ in Python functions.

A function whose calls subclasses and modes can override begins with

    if has_torch_function((x, y)):
        return handle_torch_function(function, (x, y), x, y)

or is decorated with ``wrap_torch_function``. Ops do the same in C++
(runtime/python/function_protocol.cpp). The overridable functions follow from the op
table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Any, TypeVar

from pellucid import _C
from pellucid._package.calls import offered
from pellucid._package.calls.mode import Mode
from pellucid._tensor.subclasses import getters_left_plain

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]

_F = TypeVar("_F", bound=Callable[..., Any])


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode or an argument overrides the call."""
    return _C._has_torch_function(*relevant_args)


def has_torch_function_unary(obj: Any) -> bool:
    """`has_torch_function` of one argument."""
    return _C._has_torch_function(obj)


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of several arguments."""
    return _C._has_torch_function(*args)


def handle_torch_function(
    public_api: Callable[..., Any],
    relevant_args: Iterable[Any],
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Passes the call to the active modes and the overriding arguments.

    Raises TypeError if all of them return NotImplemented.
    """
    return _C._call_torch_function(public_api, args, kwargs)


def wrap_torch_function(
    dispatcher: Callable[..., Iterable[Any]],
) -> Callable[[_F], _F]:
    """Makes a function overridable; `dispatcher` returns its relevant arguments."""

    def decorate(function: _F) -> _F:
        @wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a Tensor or has a ``__torch_function__``.

    Example::

        class Wrapped:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None): ...

        torch.overrides.is_tensor_like(Wrapped())  # True
    """
    return isinstance(inp, _C.TensorBase) or hasattr(inp, "__torch_function__")


# Modes


class TorchFunctionMode(Mode):
    """A scope in which every call goes through ``__torch_function__`` of the mode.

    The mode is not active inside that method: calls go to the enclosing modes.

    Example::

        class Log(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                print(resolve_name(func))
                return func(*args, **(kwargs or {}))

        with Log():
            torch.ones(3) + 1
    """

    _push = staticmethod(_C._push_torch_function_mode)
    _pop = staticmethod(_C._pop_torch_function_mode)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} must define __torch_function__ to be a mode"
        )


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    """The active modes, the innermost last."""
    return _C._torch_function_modes()


def _get_current_function_mode() -> TorchFunctionMode | None:
    """The innermost active mode."""
    stack = _C._torch_function_modes()
    return stack[-1] if stack else None


@offered.runtime_value
def _is_torch_function_mode_enabled() -> bool:
    """Whether a mode is active in this thread."""
    return bool(_C._torch_function_modes())


@offered.value
@offered.runtime_value
class DisableTorchFunctionSubclass:
    """A scope in which ops treat subclasses as plain tensors; modes stay active."""

    def __enter__(self) -> None:
        _C._change_torch_function_depth(1)

    def __exit__(self, *_: Any) -> None:
        _C._change_torch_function_depth(-1)


@offered.value
@offered.runtime_value
class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A scope that disables every ``__torch_function__``, of subclasses and of
    modes.
    """

    def __enter__(self) -> None:
        super().__enter__()
        self._modes = _C._take_torch_function_modes()

    def __exit__(self, *_: Any) -> None:
        for mode in self._modes:
            _C._push_torch_function_mode(mode)
        super().__exit__()


# What can be overridden


@lru_cache(None)
def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The overridable functions, by the namespace that contains them."""
    import pellucid

    found: dict[Any, list[Callable[..., Any]]] = {}
    for place, _, function in _overridable():
        functions = found.setdefault(place, [])
        if function not in functions:
            functions.append(function)
    assert pellucid in found
    return found


def _overridable() -> Iterable[tuple[Any, str, Callable[..., Any]]]:
    """(namespace, name, function) of every op callable, overridable Python function and
    method.
    """
    import pellucid
    from pellucid._package.offers import FUNCTIONS
    from pellucid.nn import functional

    for name in FUNCTIONS:
        isinstance(getattr(pellucid, name), type)  # imports its module
    builtin: Any = type(len)
    places = [pellucid, functional, _C._nn, *_op_modules()]
    for place in places:
        shown = functional if place is _C._nn else place
        for name, value in sorted(vars(place).items()):
            is_op = type(value) is builtin and hasattr(value.__self__, "schemas")
            if is_op or type(value) is _C.overridable:
                yield shown, name, value
    methods = {**vars(_C.TensorBase), **vars(pellucid.Tensor)}
    for name, value in sorted(methods.items()):
        if type(value) in _METHOD_TYPES:
            yield pellucid.Tensor, name, value


_METHOD_TYPES = (
    type(_C.TensorBase.dim),
    type(_C.TensorBase.__getitem__),
    type(has_torch_function),
)


def _op_modules() -> list[Any]:
    import pellucid

    return [pellucid.special, pellucid.linalg, pellucid.fft]


@lru_cache(None)
def _names() -> dict[Any, str]:
    names: dict[Any, str] = {}
    aliases: dict[Any, str] = {}
    for place, name, function in _overridable():
        where = place.__name__.replace("pellucid", "torch", 1)
        full_name = f"{_PLACES.get(where, where)}.{name}"
        if name == getattr(function, "__name__", name):  # not an alias
            names.setdefault(function, full_name)
        else:
            aliases.setdefault(function, full_name)
    return {**aliases, **names}


_PLACES = {"Tensor": "torch.Tensor"}


def resolve_name(f: Any) -> str | None:
    """The public name of an overridable function: ``"torch.Tensor.add"``."""
    import pellucid

    if isinstance(f, _C._OpOverloadBase):
        return str(f)
    if getattr(f, "__name__", None) in ("__get__", "__set__", "__delete__"):
        return f"torch.Tensor.{f.__self__.__name__}.{f.__name__}"
    if f in _names():
        return _names()[f]
    module = getattr(f, "__module__", None)
    name = getattr(f, "__qualname__", None)
    own_name = getattr(f, "__name__", "")
    if own_name and f is vars(pellucid.Tensor).get(own_name):
        return f"torch.Tensor.{own_name}"
    if module is None or name is None or not str(module).startswith("pellucid"):
        return None
    where = str(module).replace("pellucid._C", "pellucid").replace("pellucid", "torch")
    return f"{where}.{name}"


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether it is a method or property of Tensor, not a module's function."""
    import pellucid

    if getattr(func, "__name__", None) == "__get__":
        return True
    return func in get_overridable_functions().get(pellucid.Tensor, [])


@lru_cache(None)
def get_ignored_functions() -> set[Callable[..., Any]]:
    """Public functions that cannot be overridden: they take no tensors."""
    import pellucid

    overridable = {f for fs in get_overridable_functions().values() for f in fs}
    return {
        value
        for name, value in list(vars(pellucid).items())  # changes with lazy values
        if not name.startswith("_")
        and callable(value)
        and not isinstance(value, type)
        and value not in overridable
    }


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions whose results the default ``__torch_function__`` does not wrap."""
    return getters_left_plain()


@lru_cache(None)
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """A dummy with the same parameters for each overridable function."""
    schemas: dict[str, str] = {}
    for full_name, *_ in _C._list_ops():
        name = full_name.partition("::")[2].partition(".")[0]
        schemas.setdefault(name, full_name)
    overrides: dict[Callable[..., Any], Callable[..., Any]] = {}
    for functions in get_overridable_functions().values():
        for function in functions:
            name = getattr(function, "__name__", "")
            overrides[function] = _stand_in(schemas.get(name))
    return overrides


def _stand_in(full_name: str | None) -> Callable[..., Any]:
    """A function with an op's parameters that returns -1."""
    if full_name is None:
        return lambda *args, **kwargs: -1
    arguments = _C._op_schema(full_name)[3]
    texts: list[str] = []
    starred = False
    for name, *_, has_default, keyword_only in arguments:
        if keyword_only and not starred:
            starred = True
            texts.append("*")
        called = {"self": "input", "from": "from_"}.get(name, name)
        texts.append(f"{called}=None" if has_default else called)
    made: Callable[..., Any] = eval(f"lambda {', '.join(texts)}: -1")
    return made


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Lets ops called in a ``__torch_dispatch__`` handler record gradients.

    Handlers run below autograd: their ops record nothing, even for tensors that require
    gradients. Inside this context they record as outside of handlers.

    Example::

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            with enable_reentrant_dispatch():
                local = args[0].local * 2  # has a grad_fn where args[0].local needs it
    """
    with _C._RestorePythonTLSSnapshot():
        yield
