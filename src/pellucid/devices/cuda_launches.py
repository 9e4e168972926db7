"""Launches from C++: ``kernel<<<grid, block>>>(...)`` of an extension.

The library calls ``_launch`` (``include/pellucid/cuda/launch.h``), which runs the
kernel on the emulator if its arguments are addresses of ``emu``, and else on the
current GPU, for which NVRTC compiles the device's part of the library's sources.
"""

from __future__ import annotations

import ctypes
import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pellucid as torch
from pellucid import _C
from pellucid.devices.cuda_arguments import POINTER, Parameter, parameters_of
from pellucid.devices.cuda_kernels import (
    CODES,
    EmulatedLibrary,
    GpuKernel,
    Grid,
    architecture_of_current,
    emulated,
)
from pellucid.devices.nvrtc import options_of_nvcc
from pellucid.utils._cpp.cuda import chosen, own_options
from pellucid.utils._cpp.cuda_sources import defining_file, device_part

_NAME = re.compile(r"Kernel = \(?&?\s*(.*?)\)?\]$")

_SPELLED = {
    "{anonymous}::": "",
    "(anonymous namespace)::": "",
    "c10::Reduced<c10::detail::HalfFormat>": "__half",
    "c10::Reduced<c10::detail::BFloat16Format>": "__nv_bfloat16",
    "c10::Half": "__half",
    "c10::BFloat16": "__nv_bfloat16",
}


class _Request(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("entry", ctypes.c_void_p),
        ("signature", ctypes.c_void_p),
        ("arguments", ctypes.POINTER(ctypes.c_void_p)),
        ("count", ctypes.c_int),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_size_t),
    )


_LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(_Request), ctypes.c_void_p, ctypes.c_size_t
)
_SYNCHRONIZE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)


class _Runtime(ctypes.Structure):
    _fields_ = (("launch", _LAUNCH), ("synchronize", _SYNCHRONIZE))


class _Launches:
    """The launches of a library."""

    def __init__(self, path: str, sources: Sequence[str], options: list[str]) -> None:
        self._library = EmulatedLibrary(path)
        self._sources, self._options = sources, options
        self._runtime = _Runtime(  # kept: the library calls it
            _LAUNCH(lambda request, *error: _guarded(self._launch, error, request[0])),
            _SYNCHRONIZE(lambda *error: _guarded(_synchronize, error)),
        )
        self._library.library.pellucid_cuda_use(ctypes.byref(self._runtime))
        self._on_gpu = cache(self._compiled)

    def _launch(self, request: Any) -> None:
        name = _name_of(request.name.decode())
        parameters = parameters_of(ctypes.string_at(request.signature, 4 * CODES))
        addresses = request.arguments[: request.count]
        grid = Grid.of(request.grid, request.block, request.shared_bytes)
        ranges = emulated().ranges() if emulated() else []
        if any(_is_inside(ranges, a) for a in _pointers(parameters, addresses)):
            packed = b"".join(struct.pack("<2Q", *pair) for pair in ranges)
            self._library.run(name, request.entry, grid, addresses, packed)
            return
        if not _C._find_cuda()[0]:
            raise RuntimeError(
                f"{name}: no argument is an address of a GPU or of the emulator, which "
                "run kernels.\nMove the tensors to 'cuda', or to 'emu' "
                "(pellucid.devices.emulated)"
            )
        values = list(zip(parameters, addresses, strict=True))
        if any(parameter.nbytes > 8 for parameter in parameters):
            raise NotImplementedError(
                f"{name}: GPUs are given parameters of 8 bytes at most; give pointers "
                "and numbers"
            )
        words = [ctypes.string_at(at, p.nbytes).ljust(8, b"\0") for p, at in values]
        gpu = torch.cuda.current_device()
        self._on_gpu(name, architecture_of_current()).launch(gpu, grid, b"".join(words))

    def _compiled(self, name: str, architecture: str) -> GpuKernel:
        """The kernel for a GPU, from the source that defines it."""
        source = source_of(name, self._sources, self._options)
        options = options_of_nvcc(own_options(source, self._options))
        text = device_part(Path(source).read_text(), Path(source).name)
        return GpuKernel(text, name, architecture, options)


def source_of(name: str, sources: Sequence[str], options: Sequence[str]) -> str:
    """The source that defines a kernel, or includes the header that does.

    RuntimeError unless one file defines it.
    """
    plain = name.partition("<")[0].rpartition("::")[2]
    folders = [Path(option[2:]) for option in chosen(options, ("-I",))]
    found: dict[Path, str] = {}
    for source in sources:
        file = defining_file(Path(source).resolve(), plain, folders)
        if file is not None:
            found.setdefault(file, source)
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        files = ", ".join(file.name for file in found)
        raise RuntimeError(
            f"{name}: several files define a kernel {plain} ({files}), and a GPU "
            "compiles one.\nGive the kernels different names"
        )
    files = ", ".join(Path(source).name for source in sources)
    raise RuntimeError(
        f"{name}: no source defines it ({files}), so it cannot be compiled for a GPU.\n"
        f"Write `__global__ void {plain}(...) {{...}}`, without a macro for it, in a "
        'source or in a header that one includes by #include "..."'
    )


def _name_of(text: str) -> str:
    """The kernel that a compiler names in the name of a template's function."""
    found = _NAME.search(text)
    name = found[1] if found else text
    for theirs, ours in _SPELLED.items():
        name = name.replace(theirs, ours)
    return name


def _guarded(call: Callable[..., None], error: tuple[int, int], *given: Any) -> int:
    """0, or 1 with the text of what a call raises: it cannot pass through C++."""
    try:
        call(*given)
    except Exception as raised:
        where, most = error
        text = (str(raised) or repr(raised)).encode()[: most - 1] + b"\0"
        ctypes.memmove(where, text, len(text))
        return 1
    return 0


def _synchronize() -> None:
    if _C._find_cuda()[0]:
        torch.cuda.synchronize()


def _pointers(parameters: Sequence[Parameter], addresses: Sequence[int]) -> list[int]:
    """The values of a launch's pointers."""
    pairs = zip(parameters, addresses, strict=True)
    held = (ctypes.c_uint64.from_address(a) for p, a in pairs if p.kind == POINTER)
    return [pointer.value for pointer in held]


def _is_inside(ranges: list[tuple[int, int]], address: int) -> bool:
    ordered = sorted(ranges)
    place = bisect_right(ordered, (address, 1 << 64)) - 1
    return place >= 0 and ordered[place][0] <= address < ordered[place][1]


_taken: dict[str, _Launches] = {}


def take_launches(path: str, sources: Sequence[str], options: list[str]) -> None:
    """Runs the launches of a library from now on."""
    if path not in _taken:
        _taken[path] = _Launches(path, sources, options)
