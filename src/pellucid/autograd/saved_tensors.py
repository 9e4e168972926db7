"""Scopes with hooks on tensors saved for backward.

The stack of hooks is C++ (``runtime/python/autograd/saved.cpp``); ``autograd.graph``
exports these scopes. ``utils/checkpoint.py`` and ``mutation.py`` are built on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pellucid import _C
from pellucid._tensor import Tensor

__all__ = ["disable_saved_tensors_hooks", "save_on_cpu", "saved_tensors_hooks"]


class saved_tensors_hooks:
    """A scope in which tensors saved for backward pass through two functions.

    ``pack(tensor)`` is called for every saved tensor and may return anything; when
    backward needs the tensor, ``unpack`` gets that object and returns a tensor with the
    same content. `pack` must not change its argument. Of nested scopes only
    the innermost is active.

    >>> with saved_tensors_hooks(lambda t: t.half(), lambda t: t.float()):
    ...     y = (x * x).sum()  # saves x in half precision
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        _C._push_saved_tensors_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exception: object) -> None:
        _C._pop_saved_tensors_hooks()


class save_on_cpu(saved_tensors_hooks):
    """A scope in which saved tensors are stored in the CPU's memory.

    Tensors of other devices are copied to the CPU and back; CPU tensors are saved
    unchanged. `pin_memory` is for copies to CUDA devices: there are none.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        if pin_memory:
            raise RuntimeError(
                "pin_memory=True needs a CUDA device to pin memory for; "
                "use save_on_cpu(pin_memory=False)"
            )

        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            return tensor.device, tensor.cpu()

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """A scope in which ``saved_tensors_hooks`` raises RuntimeError(error_message)."""
    previous = _C._disable_saved_tensors_hooks(error_message)
    try:
        yield
    finally:
        _C._disable_saved_tensors_hooks(previous)
