"""The user's own backend: its name, and methods for tensors and modules.

PyTorch reserves the dispatch key PrivateUse1 for one such backend. Its module is
registered by ``torch._register_device_module``. Public through `utils`.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import _C


def rename_privateuse1_backend(backend_name: str) -> None:
    """Names the user's backend, so that ``torch.device(backend_name)`` refers to it.

    RuntimeError for a second name or the name of another type of device.

    Example::

        torch.utils.rename_privateuse1_backend("npu")
        torch.device("npu:1")
    """
    _C._rename_privateuse1_backend(backend_name)


def _add(kind: type, name: str, value: Any) -> None:
    if hasattr(kind, name):
        raise RuntimeError(
            f"The custom device module of {kind} has already been registered with "
            f"{name}"
        )
    setattr(kind, name, value)


def _moved(backend: str, device: Any) -> Any:
    index = device
    if device is None:
        index = vars(pellucid)[backend].current_device()
    if isinstance(index, int):
        return pellucid.device(backend, index)
    chosen = pellucid.device(index)
    if chosen.type != backend:
        raise RuntimeError(
            f"Invalid device, must be {backend} device, but got {chosen.type}"
        )
    return chosen


def generate_methods_for_privateuse1_backend(
    for_tensor: bool = True,
    for_module: bool = True,
    for_packed_sequence: bool = True,
    for_storage: bool = False,
    unsupported_dtype: list[Any] | None = None,
) -> None:
    """Adds ``.npu()`` and ``.is_npu`` (for a backend named "npu") to tensors, modules,
    packed sequences and storages.

    RuntimeError if a name is taken.
    """
    name = _C._get_privateuse1_backend_name()
    if for_tensor:
        _add_to_tensors(name)
    if for_storage:
        _add_to_storages(name, unsupported_dtype or [])
    if for_module:
        _add_to_modules(name)
    if for_packed_sequence:
        _add_to_packed_sequences(name)


def add_device_methods(name: str) -> None:
    """``.name()`` and ``.is_name`` for tensors, modules and packed sequences."""
    _add_to_tensors(name)
    _add_to_modules(name)
    _add_to_packed_sequences(name)


def taken_method(name: str) -> str | None:
    """The first attribute that ``add_device_methods`` would add and that exists."""
    tensor, module = pellucid.Tensor, pellucid.nn.Module
    packed = pellucid.nn.utils.rnn.PackedSequence
    for kind, names in (
        (tensor, (f"is_{name}", name)),
        (module, (name,)),
        (packed, (f"is_{name}", name)),
    ):
        for each in names:
            if hasattr(kind, each):
                return f"{kind.__name__}.{each}"
    return None


def _mark(name: str) -> property:
    return property(lambda self: self.device.type == name)


def _mover(name: str) -> Any:
    def move(
        self: Any, device: Any = None, non_blocking: bool = False, **kw: Any
    ) -> Any:
        """Moves to the device of the user's backend."""
        return self.to(_moved(name, device), non_blocking=non_blocking, **kw)

    return move


def _add_to_tensors(name: str) -> None:
    _add(pellucid.Tensor, f"is_{name}", _mark(name))
    _add(pellucid.Tensor, name, _mover(name))


def _add_to_storages(name: str, unsupported: list[Any]) -> None:
    def move_storage(self: Any, device: Any = None, **kw: Any) -> Any:
        """A copy in the memory of the user's backend."""
        if getattr(self, "dtype", None) in unsupported:
            raise RuntimeError(
                f"Cannot create {self.dtype} storage on {name}: the backend does "
                "not take the dtype"
            )
        moved = pellucid.empty(0, device=_moved(name, device))
        return type(self)(wrap_storage=moved.untyped_storage())

    storage = pellucid.storage.UntypedStorage
    _add(storage, f"is_{name}", _mark(name))
    _add(storage, name, move_storage)


def _add_to_modules(name: str) -> None:
    move = _mover(name)

    def move_module(self: Any, device: Any = None) -> Any:
        """Moves all parameters and buffers to the user's backend."""
        return self._apply(lambda t: move(t, device))

    _add(pellucid.nn.Module, name, move_module)


def _add_to_packed_sequences(name: str) -> None:
    packed = pellucid.nn.utils.rnn.PackedSequence
    _add(packed, f"is_{name}", property(lambda self: self.data.device.type == name))
    _add(packed, name, _mover(name))
