"""``torch.overrides``: how functions written in Python take part in __torch_function__.

A function that wants subclasses and modes to see its calls begins with

    if has_torch_function((x, y)):
        return handle_torch_function(function, (x, y), x, y)

Ops do the same in C++ (runtime/python/function_protocol.cpp).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pellucid import _C


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode or one of the arguments wants to see the call."""
    seen: bool = _C._has_torch_function(*relevant_args)
    return seen


def has_torch_function_unary(obj: Any) -> bool:
    """`has_torch_function` of one argument."""
    return has_torch_function((obj,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of several arguments."""
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any],
    relevant_args: Iterable[Any],
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Gives the call to the modes and the overriding arguments."""
    return _C._call_torch_function(public_api, args, kwargs)


class TorchFunctionMode:
    """A scope in which every call goes through ``__torch_function__`` of the mode."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        raise NotImplementedError("a TorchFunctionMode defines __torch_function__")

    def __enter__(self) -> TorchFunctionMode:
        _C._push_torch_function_mode(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _C._pop_torch_function_mode()


class DisableTorchFunctionSubclass:
    """A scope in which ops read subclasses as plain tensors."""

    def __enter__(self) -> None:
        _C._change_torch_function_depth(1)

    def __exit__(self, *_: Any) -> None:
        _C._change_torch_function_depth(-1)
