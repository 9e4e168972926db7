"""Legacy tensor types: ``torch.LongTensor([1, 2])``.

A type is a constructor and works with ``isinstance``, ``Tensor.type`` and
``set_default_tensor_type``; it is not the Python type of any tensor. The names come
from the dtypes in ``dtype_names.py``. This module also implements
``torch.Tensor(...)``, for the runtime (``runtime/python/tensor_type.cpp``).
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import _C
from pellucid._package.calls import offered
from pellucid._package.calls.deprecation import deprecated
from pellucid._tensor.dtype_names import STORAGE_NAMES, dtype_of_type_name
from pellucid._tensor.tensor import Tensor


class tensortype(type):
    """The metaclass of ``FloatTensor`` and the other types."""

    dtype: _C.dtype
    layout: _C.layout = _C.strided

    def __call__(cls, *args: Any) -> Tensor:
        """An empty tensor, an uninitialised one of the given sizes, or the given
        data.
        """
        if all(isinstance(size, int) for size in args):
            return pellucid.empty(args or (0,), dtype=cls.dtype, device="cpu")
        if len(args) != 1:
            raise TypeError(
                f"{cls.__name__} takes sizes, or one sequence or tensor; "
                f"{len(args)} arguments were given"
            )
        (data,) = args
        if isinstance(data, _C.Size):
            return pellucid.empty(data, dtype=cls.dtype, device="cpu")
        if isinstance(data, Tensor):
            if data.dtype != cls.dtype:
                raise TypeError(
                    f"{cls.__name__} takes a tensor of {cls.dtype}, one of "
                    f"{data.dtype} was given; convert it: tensor.to({cls.dtype})"
                )
            return data.detach()
        if hasattr(data, "untyped"):  # a storage
            return pellucid.empty(0, dtype=cls.dtype, device="cpu").set_(data)
        return _C.tensor(data, device="cpu").to(cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        if not isinstance(instance, Tensor):
            return False
        return (instance.dtype, instance.layout) == (cls.dtype, cls.layout)


_TYPES = {
    f"{word}Tensor": tensortype(
        f"{word}Tensor",
        (),
        {"dtype": dtype, "__module__": "torch", "__doc__": f"Tensors of {dtype}."},
    )
    for dtype, word in STORAGE_NAMES.items()
    if not dtype.is_complex
}

offered.values(
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
)


def __getattr__(name: str) -> Any:
    try:
        return _TYPES[name]
    except KeyError:
        raise AttributeError(f"there is no tensor type {name}") from None


@offered.value
def set_default_tensor_type(t: tensortype | str) -> None:
    """Sets the default floating-point type, given as a type or by name.

    Raises TypeError for a type that is not of floats. Example::

        >>> import pellucid as torch
        >>> torch.set_default_tensor_type(torch.DoubleTensor)
        >>> torch.ones(1).dtype
        torch.float64
        >>> torch.set_default_tensor_type("torch.FloatTensor")
    """
    deprecated("set_default_tensor_type", "set_default_dtype and set_default_device")
    dtype = dtype_of_type_name(t) if isinstance(t, str) else t.dtype
    _C.set_default_dtype(dtype)


def legacy_constructor(*args: Any, device: Any = None) -> Tensor:
    """``torch.Tensor(...)`` of sizes, data or another tensor, in the default dtype. The
    result is on the CPU, independent of the default device.
    """
    device = "cpu" if device is None else device
    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0].detach()
    if len(args) == 1 and not isinstance(args[0], int | _C.Size):
        if args[0] is None or isinstance(args[0], float):
            raise TypeError(
                f"Tensor() takes sizes or a sequence, not {args[0]!r}; for a number "
                "use torch.tensor()"
            )
        return _C.tensor(args[0], dtype=_C.get_default_dtype(), device=device)
    size = args[0] if args and isinstance(args[0], _C.Size) else args
    return pellucid.empty(size or (0,), device=device)
