"""Build matrix-product kernels and call them on NumPy arrays, for tests."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from pellucid_compiler.codegen.kernel import Gemm, Kernel
from pellucid_compiler.codegen.schedules.gemm import WORKSPACE_BYTES
from pellucid_compiler.codegen.targets.x86 import target_named
from pellucid_compiler.pack.generate import compile_kernel
from pellucid_compiler.pack.jit import Executable

_buffer = np.empty(WORKSPACE_BYTES + 64, np.uint8)
_workspace = _buffer[-_buffer.ctypes.data % 64 :][:WORKSPACE_BYTES]


def workspace() -> int:
    """The aligned address of a workspace into which a kernel packs blocks."""
    return int(_workspace.ctypes.data)


@functools.cache
def gemm_kernel(level: str, dtype: str) -> Any:
    kernel = Kernel(Gemm(), (dtype, dtype, dtype), (dtype,), ("int64", "int64"))
    blob = compile_kernel(kernel, target_named(level))
    return Executable(blob).function(ctypes.c_int64, *[ctypes.c_void_p] * 4)


def call_gemm(
    level: str,
    c: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    bias: np.ndarray | None = None,
    dtype: str | None = None,
    accumulate: bool = False,
) -> None:
    """``c[...] = a @ b (+ bias)``, or ``+=``, by the kernel; ``bias`` broadcasts to
    ``c``. NumPy has no bfloat16: its bits are given as uint16 and ``dtype`` says what
    they are."""
    operands = [c, a, b, c if bias is None else np.broadcast_to(bias, c.shape)]
    _workspace.fill(0xFF)
    data = np.array([x.ctypes.data for x in operands], np.uint64)
    if bias is None:
        data[3] = 0
    sizes = np.array([*c.shape, a.shape[1]], np.int64)
    strides = np.array([s for x in operands for s in x.strides], np.int64)
    params = np.array([_workspace.ctypes.data, accumulate, 0], np.uint64)
    kernel = gemm_kernel(level, dtype or str(c.dtype))
    arrays = (data, sizes, strides, params)
    assert kernel(*(x.ctypes.data for x in arrays)) == 0
