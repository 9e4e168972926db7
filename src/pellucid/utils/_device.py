"""``with torch.device("meta"):`` factories without a device make tensors there.

Called by the bindings of ``torch.device``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid.overrides import TorchFunctionMode

_FACTORIES = frozenset(
    {
        *("arange", "as_tensor", "empty", "empty_strided", "eye", "full", "linspace"),
        *("logspace", "ones", "rand", "randint", "randn", "randperm", "tensor"),
        *("tril_indices", "triu_indices", "zeros"),
    }
)
_on_thread = threading.local()


class DeviceContext(TorchFunctionMode):
    """The scope of one device."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in _FACTORIES and kwargs.get("device") is None:
            kwargs["device"] = self.device
        return func(*args, **kwargs)


def _contexts() -> list[DeviceContext]:
    found: list[DeviceContext] = _on_thread.__dict__.setdefault("contexts", [])
    return found


def get_default_device() -> Any:
    """The device of factories that are not told one."""
    contexts = _contexts()
    return contexts[-1].device if contexts else pellucid.device("cpu")


def set_default_device(device: Any) -> None:
    """Factories without a device argument make tensors on ``device``; None: the CPU.

    In the calling thread.

    Example::

        torch.set_default_device("meta")
        torch.zeros(2).is_meta  # True
    """
    present: DeviceContext | None = _on_thread.__dict__.pop("default", None)
    if present is not None:
        present.__exit__(None, None, None)
        _contexts().remove(present)
    if device is not None:
        _on_thread.default = context = DeviceContext(pellucid.device(device))
        context.__enter__()
        _contexts().insert(0, context)


def enter(device: Any) -> Any:
    """The scope begins."""
    context = DeviceContext(device)
    context.__enter__()
    _contexts().append(context)
    return device


def leave() -> None:
    """The innermost scope of the thread ends."""
    _contexts().pop().__exit__(None, None, None)
