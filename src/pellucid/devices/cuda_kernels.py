"""Kernels in CUDA C++: ``torch.cuda._compile_kernel``, and launches from C++.

NVRTC compiles a kernel for GPUs (``nvrtc.py``), a C++ compiler for the emulator
(``utils/_cpp/cuda.py``); both say what the kernel's parameters are. docs/gpu-kernels.md
has a LayerNorm.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pellucid as torch
from pellucid import _C
from pellucid.devices import nvrtc
from pellucid.devices.cuda_arguments import Parameter, packed, parameters_of, reach
from pellucid.utils._cpp.cuda import kernel_library

_MOST_THREADS = 1024
_SHARED_BYTES = 48 << 10
CODES = 64
_Dims = tuple[int, int, int]


class Grid(NamedTuple):
    """Blocks, threads of a block, bytes of dynamic shared memory."""

    blocks: _Dims
    threads: _Dims
    shared_bytes: int

    @classmethod
    def of(cls, grid: Any, block: Any, shared_bytes: int) -> Grid:
        """A grid as a launch has it. RuntimeError for one that no GPU takes."""
        made = cls(_dims(grid), _dims(block), shared_bytes)
        if min(*made.blocks, *made.threads) < 1 or made.num_threads > _MOST_THREADS:
            raise RuntimeError(
                f"CUDA error: invalid argument\ngrid={made.blocks}, "
                f"block={made.threads}: dims are positive, and a block has "
                f"{_MOST_THREADS} threads at most"
            )
        return made

    @property
    def num_blocks(self) -> int:
        return self.blocks[0] * self.blocks[1] * self.blocks[2]

    @property
    def num_threads(self) -> int:
        return self.threads[0] * self.threads[1] * self.threads[2]

    @property
    def words(self) -> tuple[int, ...]:
        return (*self.blocks, *self.threads, self.shared_bytes)


def _dims(given: Any) -> _Dims:
    dims = (given,) if isinstance(given, int) else tuple(given)
    x, y, z = (*dims, 1, 1, 1)[:3]
    return x, y, z


class EmulatedLibrary:
    """A library whose kernels run on the emulator."""

    def __init__(self, path: Path | str) -> None:
        self.library = ctypes.CDLL(str(path))

    def run(
        self, name: str, entry: int, grid: Grid, addresses: Sequence[int], ranges: bytes
    ) -> None:
        """Runs a kernel whose arguments are at ``addresses``; RuntimeError for a fault
        that the emulator finds."""
        variables = (ctypes.c_uint64 * 2)()
        self.library.pellucid_cuda_places(variables)
        words = struct.pack(f"<{7 + len(addresses)}Q", *grid.words, *addresses)
        order = emulated().order if emulated() else 0
        sizes = (grid.num_blocks, grid.num_threads, grid.shared_bytes, order)
        try:
            _C._run_grid(entry, words, ranges, *sizes, tuple(variables), True)
        except RuntimeError as error:
            raise RuntimeError(f"{name} on a grid: {error}") from None
        finally:
            self.library.pellucid_cuda_places(variables)


def emulated() -> Any:
    """The emulated device of the process, or None."""
    from pellucid.devices.emulated import registered

    return registered[0] if registered else None


def architecture_of_current() -> str:
    """``sm_90`` where the current GPU has compute capability 9.0."""
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"


class GpuKernel:
    """A kernel that NVRTC compiled, loaded on each GPU that runs it."""

    def __init__(
        self, source: str, name: str, architecture: str, options: Sequence[str]
    ) -> None:
        self._name = name
        self._code = nvrtc.compile_source(source, name, architecture, options)
        self.parameters = parameters_of(self._code.signature)
        self._functions: dict[int, int] = {}
        self._shared_bytes = 0

    def function(self, gpu: int) -> int:
        """The ``CUfunction`` on a GPU."""
        if gpu not in self._functions:
            text = f"// cuda {self._name}\n{self._code.ptx}"
            image = _C._cuda_link(gpu, text)
            self._functions[gpu] = _C._cuda_load(gpu, image, self._code.symbol)
            self._allow_shared(gpu)
        return self._functions[gpu]

    def allow_shared(self, num_bytes: int) -> None:
        """Allows so much dynamic shared memory on every GPU, above the default."""
        self._shared_bytes = num_bytes
        for gpu in self._functions:
            self._allow_shared(gpu)

    def _allow_shared(self, gpu: int) -> None:
        if self._shared_bytes:
            _C._cuda_allow_shared(gpu, self._functions[gpu], self._shared_bytes)

    def launch(self, gpu: int, grid: Grid, words: bytes) -> None:
        """Queues the kernel on the GPU's current stream."""
        _C._cuda_launch(gpu, self.function(gpu), grid.words, words)


class EmulatedKernel:
    """A kernel that the C++ compiler compiled."""

    def __init__(self, source: str, name: str, options: Sequence[str]) -> None:
        self._name = name
        self._code = EmulatedLibrary(kernel_library(source, name, options))
        library = self._code.library
        library.pellucid_kernel_entry.restype = ctypes.c_void_p
        codes = (ctypes.c_uint32 * CODES)()
        library.pellucid_kernel_signature(codes)
        self.parameters = parameters_of(bytes(codes))

    def launch(self, tensors: Sequence[torch.Tensor], grid: Grid, words: bytes) -> None:
        """Runs the kernel, which may access these tensors alone."""
        held = ctypes.create_string_buffer(words, len(words) + 1)
        first = ctypes.addressof(held)
        addresses = range(first, first + len(words), 8)
        ranges = b"".join(struct.pack("<2Q", *reach(t)) for t in tensors)
        entry = self._code.library.pellucid_kernel_entry()
        self._code.run(self._name, entry, grid, addresses, ranges)


class CudaKernel:
    """A kernel in CUDA C++: ``kernel(grid=(4,), block=(256,), args=[x, y, n])``.

    Runs on a GPU, or on the emulator for tensors of ``emu``; on a machine without a
    GPU for tensors of the CPU, too.
    """

    def __init__(
        self,
        source: str,
        name: str,
        compute_capability: str | None,
        options: Sequence[str],
    ) -> None:
        self.__name__ = name
        self._source, self._capability, self._options = (
            source,
            compute_capability,
            options,
        )
        self._shared_bytes = 0

    @cached_property
    def _on_gpu(self) -> GpuKernel:
        number = self._capability
        name = architecture_of_current() if number is None else f"sm_{number}"
        return GpuKernel(self._source, self.__name__, name, self._options)

    @cached_property
    def _on_emulator(self) -> EmulatedKernel:
        return EmulatedKernel(self._source, self.__name__, self._options)

    def compile(self) -> None:
        """Compiles for the GPU, or for the emulator where there is none."""
        _ = self._on_gpu if _C._find_cuda()[0] else self._on_emulator

    def __call__(
        self,
        grid: Any = (1, 1, 1),
        block: Any = (1, 1, 1),
        args: Sequence[Any] | None = None,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Launches the kernel on ``stream``, by default the current one.

        ``grid`` and ``block`` have up to three dims; ``args`` are tensors, ints and
        floats; a kernel gets the address of a tensor's first element. ``shared_mem`` is
        the size of the ``extern __shared__`` array. ValueError for tensors
        elsewhere, TypeError for arguments that the parameters are not, RuntimeError for
        a grid that no GPU takes.
        """
        arguments = list(args or ())
        tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
        if shared_mem >= _SHARED_BYTES and shared_mem > self._shared_bytes:
            allowed = max(self._shared_bytes, _SHARED_BYTES - 1)
            raise RuntimeError(
                f"{self.__name__}: shared_mem={shared_mem}, and {allowed} bytes are "
                f"allowed.\nCall set_shared_memory_config({shared_mem}) once, first"
            )
        size = Grid.of(grid, block, shared_mem)
        is_on_gpu = _is_on_gpu(tensors)
        code = self._on_gpu if is_on_gpu else self._on_emulator
        words = b"".join(packed(self.__name__, code.parameters, arguments))
        if not is_on_gpu:
            self._on_emulator.launch(tensors, size, words)
            return
        gpu = next((t.device.index for t in tensors if t.is_cuda), None)
        if gpu is None:
            gpu = torch.cuda.current_device()
        with torch.cuda.stream(stream):
            self._on_gpu.launch(gpu, size, words)

    def set_shared_memory_config(self, shared_mem_bytes: int) -> None:
        """Allows launches with so many bytes of shared memory, where 48 KiB are the
        default. RuntimeError above the GPU's limit."""
        if shared_mem_bytes >= _SHARED_BYTES and _C._find_cuda()[0]:
            facts = torch.cuda.get_device_properties()
            most = facts.shared_memory_per_block_optin
            if shared_mem_bytes > most:
                raise RuntimeError(
                    f"{self.__name__}: a block of this GPU has {most} bytes of shared "
                    f"memory at most, not {shared_mem_bytes}"
                )
            self._on_gpu.allow_shared(shared_mem_bytes)
        self._shared_bytes = shared_mem_bytes


def _is_on_gpu(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether a launch with these tensors goes to a GPU. ValueError where nothing can
    run it."""
    has_gpu = bool(_C._find_cuda()[0])
    device = emulated()
    name = "" if device is None else device.name
    if tensors and all(t.device.type == name for t in tensors):
        return False
    if not has_gpu and all(t.is_cpu for t in tensors):
        return False
    for tensor in tensors:
        is_pinned = has_gpu and tensor.is_cpu and tensor.is_pinned()
        if not tensor.is_cuda and not is_pinned:
            raise ValueError(
                "a kernel takes tensors of a GPU and pinned ones of the CPU, or of the "
                f"emulator alone, not one of {tensor.device}"
            )
    return True


def compile_kernel(
    kernel_source: str,
    kernel_name: str,
    compute_capability: str | None = None,
    cuda_include_dirs: list[str] | None = None,
    nvcc_options: list[str] | None = None,
) -> CudaKernel:
    """A kernel of a CUDA C++ source, compiled.

    ``kernel_name`` may have template arguments (``"scale<float>"``),
    ``compute_capability`` is ``"90"`` for sm_90, by default the current GPU's.
    RuntimeError with the compiler's errors; OSError where there is a GPU and no NVRTC.

    Example::

        kernel = torch.cuda._compile_kernel(source, "scale")
        kernel(grid=(4, 1, 1), block=(256, 1, 1), args=[x, out, 2.0, x.numel()])
    """
    options = [f"-I{folder}" for folder in cuda_include_dirs or ()]
    options += list(nvcc_options or ())
    made = CudaKernel(kernel_source, kernel_name, compute_capability, options)
    made.compile()
    return made


__all__ = ["CudaKernel", "Parameter", "compile_kernel"]
