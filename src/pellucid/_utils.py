"""``torch._utils``: lists of tensors as one flat tensor and back, exceptions passed
between processes, and the functions that PyTorch's pickles call.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pellucid
from pellucid import Tensor


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements as one 1-d tensor. The tensors must have one dtype."""
    return pellucid.cat([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(
    flat: Tensor, tensors: Iterable[Tensor]
) -> tuple[Tensor, ...]:
    """Consecutive views of ``flat`` with the shapes of ``tensors``."""
    shapes = [t.shape for t in tensors]
    parts = flat.split([shape.numel() for shape in shapes])
    return tuple(p.view(shape) for p, shape in zip(parts, shapes, strict=True))


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Lists of tensors of one type that together have at most ``size_limit`` bytes, or
    one tensor."""
    lists: dict[str, tuple[list[Tensor], int]] = {}
    for tensor in tensors:
        kind = tensor.type()
        taken, size = lists.get(kind, ([], 0))
        if taken and size + tensor.nbytes > size_limit:
            yield taken
            taken, size = [], 0
        taken.append(tensor)
        lists[kind] = taken, size + tensor.nbytes
    yield from (taken for taken, _ in lists.values())


def _get_available_device_type() -> str | None:
    """The device type of the user's backend; None without one."""
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
    """An exception with the text of its traceback, to send to another thread or
    process: created in an ``except`` block, raised at the receiver by ``reraise``.
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, *_ = given = exc_info or sys.exc_info()
        self.exc_type: Any = kind
        self.exc_msg = "".join(traceback.format_exception(*given))
        self.where = where

    def reraise(self) -> None:
        """Raises an exception of the same type with the original's text."""
        message = (
            f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        )
        if issubclass(self.exc_type, KeyError):  # prints the repr of its text
            message = _Verbatim(message)
        try:
            if getattr(self.exc_type, "message", None):  # takes ``message``
                exception = self.exc_type(message=message)
            else:
                exception = self.exc_type(message)
        except Exception:  # the constructor takes other arguments
            raise RuntimeError(message) from None
        raise exception


class _Verbatim(str):
    def __repr__(self) -> str:
        return self


def __getattr__(name: str) -> Any:
    """Names in PyTorch's pickles, imported lazily."""
    if not name.startswith("_rebuild_"):
        raise AttributeError(f"module 'pellucid._utils' has no attribute {name!r}")
    from pellucid.serialization._format.archive import constructors

    found = constructors().get(f"torch._utils {name}")
    if found is None:
        raise AttributeError(f"module 'pellucid._utils' has no attribute {name!r}")
    return found


def _element_size(dtype: Any) -> int:
    """The size of an element in bytes."""
    return int(dtype.itemsize)


def _get_device_index(
    device: Any, optional: bool = False, allow_cpu: bool = False
) -> int:
    """The index of a device, given as a device, by name or as an index.

    ``optional``: a device without an index means the current one; the CPU has -1.
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
