"""NCCL by dlopen: its functions, with errors as exceptions.

The library is that of the wheels nvidia-nccl-cu12 and -cu13, or the system's. It loads
and answers without a GPU; a communicator needs one.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

import pellucid as torch
from pellucid.distributed._stores.errors import DistBackendError

NAME = "libnccl.so.2"
ID_BYTES = 128
IN_PROGRESS = 7
_HOST_SCALAR = 1  # ncclScalarHostImmediate

# ncclDataType_t; bools travel as bytes, complex numbers as pairs.
DTYPES: dict[Any, int] = {
    torch.int8: 0,
    torch.uint8: 1,
    torch.bool: 1,
    torch.int32: 2,
    torch.uint32: 3,
    torch.int64: 4,
    torch.uint64: 5,
    torch.float16: 6,
    torch.float32: 7,
    torch.float64: 8,
    torch.bfloat16: 9,
    torch.float8_e4m3fn: 10,
    torch.float8_e5m2: 11,
}
# ncclRedOp_t, by the numbers of reductions: sum, avg, product, min, max.
REDUCTIONS = {0: 0, 1: 4, 2: 1, 3: 3, 4: 2}

# Parameters of the functions, after which all but two return an ncclResult_t.
_POINTERS = (c_void_p, c_void_p)
_END = (c_void_p, c_void_p)  # communicator and stream
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "GetVersion": (c_void_p,),
    "GetUniqueId": (c_void_p,),
    "CommDestroy": (c_void_p,),
    "CommAbort": (c_void_p,),
    "CommGetAsyncError": (c_void_p, c_void_p),
    "RedOpCreatePreMulSum": (c_void_p, c_void_p, c_int, c_int, c_void_p),
    "RedOpDestroy": (c_int, c_void_p),
    "GroupStart": (),
    "GroupEnd": (),
    "AllReduce": (*_POINTERS, c_size_t, c_int, c_int, *_END),
    "Reduce": (*_POINTERS, c_size_t, c_int, c_int, c_int, *_END),
    "Broadcast": (*_POINTERS, c_size_t, c_int, c_int, *_END),
    "AllGather": (*_POINTERS, c_size_t, c_int, *_END),
    "ReduceScatter": (*_POINTERS, c_size_t, c_int, c_int, *_END),
    "Send": (c_void_p, c_size_t, c_int, c_int, *_END),
    "Recv": (c_void_p, c_size_t, c_int, c_int, *_END),
}


class UniqueId(ctypes.Structure):
    """What rank 0 tells the others, by a store."""

    _fields_ = (("internal", ctypes.c_char * ID_BYTES),)


def found_library() -> str | None:
    """Where NCCL is: in an installed wheel, else with the system's libraries."""
    for folder in sys.path:
        path = Path(folder or ".") / "nvidia" / "nccl" / "lib" / NAME
        if path.exists():
            return str(path)
    try:
        ctypes.CDLL(NAME)
    except OSError:
        return None
    return NAME


class Nccl:
    """The functions of a library. ``call("AllReduce", ...)`` raises DistBackendError
    for any result but success.
    """

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        for name, parameters in _FUNCTIONS.items():
            self._function(name).argtypes = parameters
        self._library.ncclCommInitRank.argtypes = (c_void_p, c_int, UniqueId, c_int)
        self._library.ncclGetErrorString.restype = c_char_p
        self._library.ncclGetLastError.restype = c_char_p
        self._library.ncclGetLastError.argtypes = (c_void_p,)

    def _function(self, name: str) -> Any:
        return getattr(self._library, f"nccl{name}")

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function."""
        self.check(name, self._function(name)(*arguments))

    def check(self, name: str, result: int) -> None:
        """Raises DistBackendError for an ncclResult_t that is a failure."""
        if result in (0, IN_PROGRESS):
            return
        meaning = self._library.ncclGetErrorString(result).decode()
        detail = (self._library.ncclGetLastError(None) or b"").decode().strip()
        raise DistBackendError(
            f"nccl{name}: {meaning}{f' ({detail})' if detail else ''}; NCCL "
            f"{'.'.join(map(str, self.version()))}, NCCL_DEBUG=INFO says more"
        )

    def version(self) -> tuple[int, int, int]:
        """Such as (2, 32, 3)."""
        number = c_int()
        self._function("GetVersion")(byref(number))
        return number.value // 10000, number.value // 100 % 100, number.value % 100

    def unique_id(self) -> bytes:
        """An id of a new communicator, for all of its ranks."""
        made = UniqueId()
        self.call("GetUniqueId", byref(made))
        return bytes(made)

    def communicator(self, size: int, unique_id: bytes, rank: int) -> c_void_p:
        """This rank's communicator; all ranks call it."""
        made = c_void_p()
        shared = UniqueId.from_buffer_copy(unique_id)
        self.call("CommInitRank", byref(made), size, shared, rank)
        return made

    def premultiplied_sum(self, factor: float, dtype: Any, communicator: Any) -> int:
        """A reduction that multiplies each rank's elements by its factor."""
        made = c_int()
        kinds: dict[Any, Any] = {7: ctypes.c_float, 8: ctypes.c_double}
        code = DTYPES[dtype]
        if code in kinds:
            scalar = kinds[code](factor)
        else:  # the bits of the dtype
            tensor = torch.tensor(factor, dtype=dtype)
            size = tensor.element_size()
            scalar = (ctypes.c_char * size).from_buffer_copy(
                ctypes.string_at(tensor.data_ptr(), size)
            )
        call = byref(made), byref(scalar), code, _HOST_SCALAR, communicator
        self.call("RedOpCreatePreMulSum", *call)
        return made.value

    def failure(self, communicator: Any) -> int:
        """The ncclResult_t of work that has failed on the device; 0 if none has."""
        result = c_int()
        self.call("CommGetAsyncError", communicator, byref(result))
        return 0 if result.value == IN_PROGRESS else result.value


@cache
def nccl() -> Nccl:
    """The library; RuntimeError without it."""
    path = found_library()
    if path is None:
        raise RuntimeError(
            'the backend "nccl" needs NCCL, which is not installed: pip install '
            "nvidia-nccl-cu12 (or -cu13, as the driver needs)"
        )
    return Nccl(path)
