"""Arguments of kernels in CUDA C++: checked against the parameters, as bytes.

A parameter is four bytes (``include/pellucid/cuda/signature.h``): class and size, and
those of what it points to.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pellucid as torch

POINTER, _SIGNED, _UNSIGNED, _FLOAT, _BOOL, _HALF, _BFLOAT16 = range(1, 8)
_NAMES = {
    (_SIGNED, 1): "char",
    (_SIGNED, 2): "short",
    (_SIGNED, 4): "int",
    (_SIGNED, 8): "long long",
    (_UNSIGNED, 1): "unsigned char",
    (_UNSIGNED, 2): "unsigned short",
    (_UNSIGNED, 4): "unsigned",
    (_UNSIGNED, 8): "unsigned long long",
    (_FLOAT, 4): "float",
    (_FLOAT, 8): "double",
    (_BOOL, 1): "bool",
    (_HALF, 2): "__half",
    (_BFLOAT16, 2): "__nv_bfloat16",
}
_LETTERS = {1: "b", 2: "h", 4: "i", 8: "q"}


class Parameter(NamedTuple):
    """What a kernel takes. The element's class is 0 for what may be anything."""

    kind: int
    nbytes: int
    element: int
    element_bytes: int

    def __str__(self) -> str:
        if self.kind != POINTER:
            return _NAMES.get((self.kind, self.nbytes), "a structure")
        pointed = (self.element, self.element_bytes)
        return f"{_NAMES.get(pointed, 'void')}*"


def parameters_of(signature: bytes) -> list[Parameter]:
    """The parameters, up to the first zero."""
    padded = signature + bytes(-len(signature) % 4)
    found = (Parameter(*padded[k : k + 4]) for k in range(0, len(padded), 4))
    return [p for p in found if p.nbytes]


def packed(
    name: str, parameters: Sequence[Parameter], arguments: Sequence[Any]
) -> Iterator[bytes]:
    """The arguments as eight bytes each.

    Of a tensor, a kernel gets the address of its first element. TypeError for another
    number of arguments, or one that the parameter is not; OverflowError for a number
    that it cannot hold; one beyond a float's range becomes infinite, as in C.
    """
    if len(arguments) != len(parameters):
        takes = ", ".join(map(str, parameters))
        raise TypeError(
            f"{name}({takes}) takes {len(parameters)} arguments, {len(arguments)} were "
            "given"
        )
    for place, (parameter, value) in enumerate(zip(parameters, arguments, strict=True)):
        where = f"{name}: argument {place}"
        if isinstance(value, torch.Tensor):
            made = struct.pack("<Q", _address(where, parameter, value))
        elif isinstance(value, (int, float)):
            made = _number(where, parameter, value)
        else:
            raise TypeError(f"Unsupported argument type: {type(value)}")
        yield made.ljust(8, b"\0")


def reach(tensor: torch.Tensor) -> tuple[int, int]:
    """Where the elements of a tensor of any strides start and end in memory."""
    first = tensor.data_ptr()
    if not tensor.numel():
        return first, first
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    far = [(size - 1) * stride for size, stride in steps]
    before, behind = sum(k for k in far if k < 0), sum(k for k in far if k > 0)
    item = tensor.element_size()
    return first + before * item, first + (behind + 1) * item


def _address(where: str, parameter: Parameter, tensor: torch.Tensor) -> int:
    if parameter.kind != POINTER:
        raise TypeError(f"{where} is a tensor, and the parameter is {parameter}")
    kind, dtype = _kind_of(tensor.dtype), parameter.element
    known = _of_either_sign(kind), tensor.element_size()
    wanted = _of_either_sign(dtype), parameter.element_bytes
    if dtype and kind and known != wanted:
        raise TypeError(f"{where} is a tensor of {tensor.dtype}, not of {parameter}")
    return tensor.data_ptr()


def _of_either_sign(kind: int) -> int:
    """The class of a pointer's integers: atomics have ``unsigned long long*`` alone,
    and tensors are int64."""
    return _SIGNED if kind == _UNSIGNED else kind


def _kind_of(dtype: Any) -> int:
    """The class of a dtype's elements; 0 for what CUDA C++ has no name for."""
    known = {torch.bool: _BOOL, torch.float16: _HALF, torch.bfloat16: _BFLOAT16}
    if dtype in known:
        return known[dtype]
    if dtype in (torch.float32, torch.float64):
        return _FLOAT
    if dtype.is_floating_point or dtype.is_complex or not _is_integer(dtype):
        return 0
    return _SIGNED if dtype.is_signed else _UNSIGNED


def _is_integer(dtype: Any) -> bool:
    return str(dtype).rpartition(".")[2].lstrip("u").startswith("int")


def _number(where: str, parameter: Parameter, value: float) -> bytes:
    kind, nbytes = parameter.kind, parameter.nbytes
    if kind not in (_FLOAT, _HALF, _BFLOAT16) and (
        not isinstance(value, int) or not kind
    ):
        given = type(value).__name__
        raise TypeError(f"{where} is a {given}, and the parameter is {parameter}")
    try:
        if kind == _FLOAT:
            return bytes((ctypes.c_float if nbytes == 4 else ctypes.c_double)(value))
        if kind == _BFLOAT16:
            held = torch.tensor(float(value), dtype=torch.bfloat16)
            return struct.pack("<h", held.view(torch.int16).item())
        if kind == _HALF:
            return struct.pack("<e", value)
        letter = _LETTERS[nbytes] if kind == _SIGNED else _LETTERS[nbytes].upper()
        return struct.pack(f"<{letter}", value)
    except (struct.error, OverflowError):
        raise OverflowError(f"{where}: {value} does not fit {parameter}") from None
