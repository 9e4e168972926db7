"""NVRTC, NVIDIA's compiler of CUDA C++ as a library: source to PTX.

It is found in its wheel when a kernel is first compiled; the driver makes machine code
of the PTX. Read next: ``cuda_kernels.py``.
"""

from __future__ import annotations

import ctypes
import re
import site
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pellucid._package.vendor_libraries import find_library
from pellucid.utils._cpp.build import first_errors
from pellucid.utils._cpp.cuda import chosen, include_folder

# The parameters of the kernel, as bytes of a table in the PTX (signature.h).
_SIGNATURE = """
struct __half;
struct __nv_bfloat16;
#include "pellucid/cuda/signature.h"
extern "C" __constant__ const ::pellucid::cuda::Codes pellucid_signature =
    ::pellucid::cuda::Signature<decltype(&{name})>::codes;
"""
# nvcc's options that NVRTC has, too, and that change what it compiles.
_OPTIONS = (
    *("-D", "-U", "-I", "-std=", "-use_fast_math", "-fmad=", "-ftz=", "-prec-div="),
    *("-prec-sqrt=", "-maxrregcount=", "-lineinfo", "-w", "-diag-suppress="),
    "-extra-device-vectorization",
)
_TABLE = re.compile(r"\.b8 pellucid_signature\[\d+\] = \{([\d, ]*)\}")


class Compiled(NamedTuple):
    """PTX, the kernel's name in it, and its parameters as ``signature.h`` numbers
    them."""

    ptx: str
    symbol: str
    signature: bytes


def options_of_nvcc(options: Sequence[str]) -> list[str]:
    """Those of nvcc's options that NVRTC has. Others are for the host's compiler, for
    nvcc's own steps (``-O3``, ``-gencode``, ``-Xptxas``) or allow what NVRTC allows."""
    short = [o[1:] if o.startswith("--") else o for o in options]
    return chosen(short, _OPTIONS)


@cache
def _library() -> Any:
    path = find_library("nvrtc")
    if not path:
        raise OSError(
            "Could not find any NVRTC library. CUDA C++ needs it for GPUs: "
            "pip install nvidia-cuda-nvrtc nvidia-cuda-runtime (the second for "
            "cuda_fp16.h), or name libnvrtc.so in PELLUCID_NVRTC"
        )
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise OSError(f"NVRTC cannot be loaded: {error}") from None
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return library


def _include_folders() -> list[str]:
    """The headers of CUDA's wheels, among them that of halves."""
    roots = [*site.getsitepackages(), *sys.path]
    roots.append(str(Path(find_library("nvrtc")).parents[3]))
    found = (p.parent for r in roots for p in Path(r).glob("nvidia/*/include/cuda*.h"))
    return sorted({str(folder) for folder in found})


class _Program:
    """An ``nvrtcProgram``, ended with its context."""

    def __init__(self, source: str, name: str) -> None:
        self._handle = ctypes.c_void_p()
        given = ctypes.byref(self._handle), source.encode(), f"{name}.cu".encode()
        self.call("nvrtcCreateProgram", *given, 0, None, None, program=False)

    def __enter__(self) -> _Program:
        return self

    def __exit__(self, *error: object) -> None:
        _library().nvrtcDestroyProgram(ctypes.byref(self._handle))

    def call(self, function: str, *arguments: Any, program: bool = True) -> None:
        """Calls NVRTC; RuntimeError with its reason."""
        library = _library()
        own = (self._handle,) if program else ()
        status = getattr(library, function)(*own, *arguments)
        if status:
            why = library.nvrtcGetErrorString(status).decode()
            raise RuntimeError(f"CUDA error: {function}: {why}")

    def text(self, what: str) -> str:
        """``Log`` or ``PTX``."""
        size = ctypes.c_size_t()
        name = "ProgramLog" if what == "Log" else what
        self.call(f"nvrtcGet{name}Size", ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self.call(f"nvrtcGet{name}", buffer)
        return buffer.value.decode()


def compile_source(
    source: str, name: str, architecture: str, options: Sequence[str]
) -> Compiled:
    """PTX of a kernel for an architecture such as ``sm_90``.

    ``name`` may have template arguments: ``scale<float>``. OSError without NVRTC,
    RuntimeError with the compiler's log.
    """
    _library()
    folders = [
        *options,
        f"-I{include_folder()}",
        *(f"-I{f}" for f in _include_folders()),
    ]
    words = [f"--gpu-architecture={architecture}", *folders]
    given = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
    with _Program(source + _SIGNATURE.format(name=name), name) as program:
        program.call("nvrtcAddNameExpression", name.encode())
        try:
            program.call("nvrtcCompileProgram", len(words), given)
        except RuntimeError as error:
            log = first_errors(program.text("Log")) or str(error)
            raise RuntimeError(f"NVRTC refuses the kernel:\n{log}") from None
        symbol = ctypes.c_char_p()
        program.call("nvrtcGetLoweredName", name.encode(), ctypes.byref(symbol))
        ptx = program.text("PTX")
        made = (symbol.value or b"").decode()
    found = _TABLE.search(ptx)
    if found is None:
        raise RuntimeError(f"{name}: NVRTC's PTX has no table of the parameters")
    return Compiled(ptx, made, bytes(int(n) for n in found[1].split(",")))
