"""A launched kernel, as a device is asked to run it, and what it reports if it fails.

Made by pellucid's ``devices/launching.py``. Read next: ``reference.py`` (a launch in
NumPy), ``codegen/kernel.py`` (the forms).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.ir.dtypes import is_float


@dataclass(frozen=True)
class Operand:
    """A value in a device's memory: per axis of the launch, or of a nest per dim of the
    value, a size and a stride in bytes.

    Only a backend that takes ``guards`` is given any: (first, size, steps) for each dim
    in which a product reads the value beyond its ends. A point's index is ``first``
    plus its place along each axis times that axis' step, and the element counts as zero
    unless ``0 <= index < size``. The address is then that of the whole value, of
    ``num_bytes``, and the first point is ``offset`` bytes from it.
    """

    address: int
    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    num_bytes: int = 0
    guards: tuple[tuple[int, int, tuple[int, ...]], ...] = ()


@dataclass(frozen=True)
class Launch:
    """A kernel with its whole nest: what a device is asked to run.

    The first ``stored`` axes of ``extents`` number the results; a reduction, a row's
    passes, a scan or a product's sum runs over the others. ``operands``: the outputs,
    then the inputs. ``params`` fill 64 bits each. An output that rows add to (RowAdd)
    is given whole, a sum per column for each of its groups of neighbouring rows, and
    holds zeros.
    """

    op: str
    kernel: Kernel
    device: int
    extents: tuple[int, ...]
    stored: int
    operands: tuple[Operand, ...]
    params: tuple[int, ...]
    stream: int = 0

    @property
    def form(self) -> str:
        """ "map", "reduce", "rows", "scan", "nest", "gemm" or "block"."""
        return type(self.kernel.form).__name__.lower()

    @property
    def numbers(self) -> list[int | float]:
        """The parameters as numbers."""
        return [
            struct.unpack("<d", struct.pack("<Q", bits))[0]
            if is_float(dtype)
            else struct.unpack("<q", struct.pack("<Q", bits))[0]
            for bits, dtype in zip(self.params, self.kernel.params, strict=False)
        ]


def array_dtype(dtype: str) -> str:
    """The NumPy dtype of an array over memory of ``dtype``; NotImplementedError where
    NumPy has none.
    """
    import numpy

    if dtype == "bfloat16":
        return "uint16"
    try:
        numpy.dtype(dtype)
    except TypeError:
        raise NotImplementedError(f"NumPy has no arrays of {dtype}") from None
    return dtype


class KernelFailed(Exception):
    """A kernel's status that is not 0: the runtime turns it into the op's error."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the kernel failed with status {status:#x}")
        self.status = status
