"""Lists of tensors as one tensor and back, for libraries that send them together;
exceptions that travel, and the functions that pickles of PyTorch call.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Sequence
from typing import Any

import pellucid
from pellucid import Tensor


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements in a row: a 1-d tensor. The tensors have one dtype."""
    return pellucid.cat([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(
    flat: Tensor, tensors: Iterable[Tensor]
) -> tuple[Tensor, ...]:
    """Views of ``flat`` of the shapes of ``tensors``, one behind the other."""
    shapes = [t.shape for t in tensors]
    parts = flat.split([shape.numel() for shape in shapes])
    return tuple(p.view(shape) for p, shape in zip(parts, shapes, strict=True))


def _get_available_device_type() -> str | None:
    """The type of the accelerator: of the user's backend; None without one."""
    from pellucid._package.settings import user_backend

    if user_backend() is None:
        return None
    return str(pellucid._C._get_privateuse1_backend_name())


def _get_device_module(device_type: str) -> Any:
    """``torch.<device_type>``; RuntimeError if there is none."""
    module = getattr(pellucid, device_type, None)
    if module is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered "
            f"as 'torch.{device_type}'."
        )
    return module


class ExceptionWrapper:
    """An exception that travels to another thread or process with its traceback's text:
    made in an ``except`` block, raised there by ``reraise``.
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, *_ = given = exc_info or sys.exc_info()
        self.exc_type: Any = kind
        self.exc_msg = "".join(traceback.format_exception(*given))
        self.where = where

    def reraise(self) -> None:
        """Raises an exception of the same type, with the text of the first one."""
        message = (
            f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        )
        if issubclass(self.exc_type, KeyError):  # it prints a text with escapes
            message = _Verbatim(message)
        try:
            if getattr(self.exc_type, "message", None):  # a class that asks for it
                exception = self.exc_type(message=message)
            else:
                exception = self.exc_type(message)
        except Exception:  # it takes other arguments
            raise RuntimeError(message) from None
        raise exception


class _Verbatim(str):
    def __repr__(self) -> str:
        return self


def __getattr__(name: str) -> Any:
    """What PyTorch's pickles name, imported lazily."""
    if not name.startswith("_rebuild_"):
        raise AttributeError(f"module 'pellucid._utils' has no attribute {name!r}")
    from pellucid.serialization._format.archive import constructors

    found = constructors().get(f"torch._utils {name}")
    if found is None:
        raise AttributeError(f"module 'pellucid._utils' has no attribute {name!r}")
    return found


def _element_size(dtype: Any) -> int:
    """The bytes of an element."""
    return int(dtype.itemsize)


def _get_device_index(
    device: Any, optional: bool = False, allow_cpu: bool = False
) -> int:
    """The index of a device, given as one, by its name or as the index itself.

    ``optional``: that of the device in use where none is named, -1 of the CPU.
    ValueError for the CPU without ``allow_cpu``, and for a device without an index.
    """
    if isinstance(device, str):
        device = pellucid.device(device)
    if isinstance(device, pellucid.device):
        if not allow_cpu and device.type == "cpu":
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        found = -1 if device.type == "cpu" else device.index
    else:
        found = device if isinstance(device, int) else None
    if found is not None:
        return int(found)
    if optional:
        return int(pellucid.accelerator.current_device_index())
    raise ValueError(f"Expected a device with an index, or an index, but got: {device}")
