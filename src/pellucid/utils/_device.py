"""``with torch.device("meta"):`` sets the default device of factories.

Called by the bindings of ``torch.device``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Self

import pellucid
from pellucid import _C
from pellucid._package.calls import offered
from pellucid.overrides import TorchFunctionMode

# Factories that are not ops; and two ops that make tensors and stay on the CPU, as
# PyTorch's do.
_FUNCTIONS = ("as_tensor", "asarray", "tensor")
_OF_THE_CPU = ("from_file", "normal")
_on_thread = threading.local()


@lru_cache(None)
def _is_factory(name: str) -> bool:
    """Whether a function is a factory: makes tensors without tensor arguments."""
    if name in _FUNCTIONS or name in _OF_THE_CPU:
        return name in _FUNCTIONS
    for overload in _C._overloads(f"aten::{name}").values():
        arguments = overload._schema.arguments
        has_device = any(a.name == "device" for a in arguments)
        if has_device and not any("Tensor" in a.type for a in arguments):
            return True
    return False


class DeviceContext(TorchFunctionMode):
    """The scope of one device.

    It is entered below all other modes, so that it may end inside a mode that began
    before it, as with ``set_default_device``.
    """

    def __init__(self, device: Any) -> None:
        self.device = device

    def __enter__(self) -> Self:
        above = [self._pop() for _ in _C._torch_function_modes()]
        for mode in (self, *reversed(above)):
            self._push(mode)
        return self

    def __exit__(self, *error: object) -> None:
        above = []
        while (mode := self._pop()) is not self:
            above.append(mode)
        for mode in reversed(above):
            self._push(mode)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if kwargs.get("device") is None and _is_factory(getattr(func, "__name__", "")):
            kwargs["device"] = self.device
        return func(*args, **kwargs)


@offered.value
def get_default_device() -> Any:
    """The default device of factories."""
    for mode in reversed(_C._torch_function_modes()):
        if isinstance(mode, DeviceContext):
            return mode.device
    return pellucid.device("cpu")


@offered.value
def set_default_device(device: Any) -> None:
    """Sets the default device of factories; None: the CPU.

    Only for the calling thread.

    Example::

        torch.set_default_device("meta")
        torch.zeros(2).is_meta  # True
    """
    present: DeviceContext | None = _on_thread.__dict__.pop("default", None)
    if present is not None:
        present.__exit__(None, None, None)
    if device is not None:
        _on_thread.default = context = DeviceContext(pellucid.device(device))
        context.__enter__()


def enter(device: Any) -> Any:
    """Enters the scope of a ``with`` statement, inside all others."""
    DeviceContext._push(DeviceContext(device))
    return device


def leave() -> None:
    """Leaves the innermost scope."""
    DeviceContext._pop()
