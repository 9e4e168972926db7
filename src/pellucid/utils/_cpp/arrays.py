"""NumPy arrays for C++: over foreign memory, and converted to a dtype and an order.

Called by ``include/pellucid/torch/array.h``.
"""

from __future__ import annotations

import ctypes
from importlib import import_module
from typing import Any


def make(
    dtype: Any, shape: list[int], strides: list[int], address: int, base: Any
) -> Any:
    """An array whose first element is at ``address``, in memory that ``base`` owns; a
    copy without a base, uninitialised without an address. An array over a read-only
    array is read-only."""
    numpy = import_module("numpy")
    reach = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    nbytes = dtype.itemsize + sum(map(abs, reach)) if all(shape) else 0
    first = -sum(step for step in reach if step < 0) if nbytes else 0
    if not address:
        return numpy.ndarray(shape, dtype, bytearray(nbytes), first, strides)
    memory: Any = (ctypes.c_char * nbytes).from_address(address - first)
    memory.owner = base
    array = numpy.ndarray(shape, dtype, memory, first, strides)
    if base is None:
        return array.copy(order="K")
    if isinstance(base, numpy.ndarray) and not base.flags.writeable:
        array.flags.writeable = False
    return array


def convert(given: Any, dtype: str, order: str, casts: bool) -> Any:
    """``given`` as an array; TypeError if its elements would change and ``casts`` is
    false."""
    numpy = import_module("numpy")
    array = numpy.asarray(given)
    if not casts and not numpy.can_cast(array.dtype, dtype, "safe"):
        raise TypeError(f"an array of {array.dtype} does not convert to {dtype} safely")
    return numpy.asarray(array, dtype, order)
