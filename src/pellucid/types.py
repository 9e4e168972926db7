"""``torch.types``: names for annotations."""

from __future__ import annotations

import builtins
import os
from typing import IO, TypeAlias

from pellucid import Size, Tensor
from pellucid import device as _device
from pellucid import dtype as _dtype  # noqa: F401 - libraries take it from here
from pellucid import layout as _layout  # noqa: F401
from pellucid.storage import TypedStorage, UntypedStorage
from pellucid.utils._symbolic.numbers import SymBool as SymBool
from pellucid.utils._symbolic.numbers import SymFloat as SymFloat
from pellucid.utils._symbolic.numbers import SymInt as SymInt

__all__ = [
    "Device",
    "FileLike",
    "Number",
    "Storage",
    "SymBool",
    "SymFloat",
    "SymInt",
]

_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_bool: TypeAlias = builtins.bool
_complex: TypeAlias = builtins.complex
_bytes: TypeAlias = builtins.bytes
_str: TypeAlias = builtins.str
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_symsize: TypeAlias = _size
_TensorOrTensors: TypeAlias = Tensor | tuple[Tensor, ...] | list[Tensor]
Number: TypeAlias = int | float | bool
Device: TypeAlias = _device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
Storage: TypeAlias = TypedStorage | UntypedStorage
_dispatchkey: TypeAlias = str
