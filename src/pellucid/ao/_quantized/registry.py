"""The ops of ``torch.ops.quantized`` by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar

_OPS: dict[str, QuantizedOp] = {}


class QuantizedOp:
    """An op of ``torch.ops.quantized``; its one overload is itself."""

    def __init__(self, name: str, call: Callable[..., Any]) -> None:
        self.__name__, self._call, self.__doc__ = name, call, call.__doc__
        self._qualified_op_name = f"quantized::{name}"
        self.__module__ = "pellucid.ops.quantized"  # the module in generated code

    @property
    def default(self) -> QuantizedOp:
        """The op itself."""
        return self

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._call)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if args and getattr(args[0], "is_nested", False):
            return _on_rows(self._call, *args, **kwargs)
        return self._call(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='quantized.{self.__name__}')>"

    def __reduce__(self) -> Any:
        return by_name, (self.__name__,)


def _on_rows(call: Callable[..., Any], nested: Any, *args: Any, **kwargs: Any) -> Any:
    """The op of the values of a jagged tensor: its rows pass through layers alike."""
    from pellucid.nested._ops.parts import split

    parts = split(nested)
    found = call(parts.values, *args, **kwargs)
    if found.dim() != parts.values.dim() or found.shape[:-1] != parts.values.shape[:-1]:
        raise NotImplementedError(
            f"quantized.{call.__name__} of a nested tensor changes more than the last "
            "dim: call it for each example, tensor.unbind()"
        )
    return parts.with_values(found)


def by_name(name: str) -> QuantizedOp | None:
    """The op of a name, or None."""
    if not _OPS:
        for module in ("ops", "layer_ops", "row_tables"):
            import_module(f"pellucid.ao._quantized.{module}")
    return _OPS.get(name)


def called(name: str, *args: Any, **kwargs: Any) -> Any:
    """The result of the op of a name."""
    found = by_name(name)
    assert found is not None, name
    return found(*args, **kwargs)


_Function = TypeVar("_Function", bound=Callable[..., Any])


def op(*names: str, with_relu: Iterable[str] = ()) -> Callable[[_Function], _Function]:
    """Registers a function as the ops ``names``, and ``relu`` of it as others."""

    def add(function: _Function) -> _Function:
        @wraps(function)
        def relu(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs).relu()

        relu.__doc__ = f"``relu`` of ``{names[0]}``."
        _OPS.update((name, QuantizedOp(name, function)) for name in names)
        _OPS.update((name, QuantizedOp(name, relu)) for name in with_relu)
        return function

    return add
