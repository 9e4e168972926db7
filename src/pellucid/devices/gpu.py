"""Kernels for a grid of threads, written in Python: ``@pellucid.devices.gpu.kernel``.

A kernel is a function of one thread. The functions below are its words; numbers, arrays
that are indexed by one number, ``if`` and ``for ... in range`` are the language. It is
compiled from its source: to PTX for a GPU, or for the emulator on the CPU.

Example::

    @gpu.kernel
    def add(x, y, out, n):
        for i in range(gpu.block() * gpu.threads() + gpu.thread(), n,
                       gpu.blocks() * gpu.threads()):
            out[i] = x[i] + y[i]

    add[4, 128](x, y, out, x.numel())

docs/gpu-kernels.md has a LayerNorm. Read next: ``pellucid_compiler/gpu/user.py``.
"""

from __future__ import annotations

import inspect
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn

import pellucid as torch
from pellucid import _C

__all__ = [
    "Kernel",
    "abs",
    "atomic_add",
    "barrier",
    "block",
    "blocks",
    "cos",
    "exp",
    "kernel",
    "log",
    "maximum",
    "minimum",
    "rsqrt",
    "shared",
    "shuffle_xor",
    "sin",
    "sqrt",
    "tanh",
    "thread",
    "threads",
]

_MOST_THREADS = 1024


class Kernel:
    """A kernel: ``kernel[blocks, threads](*arguments)`` runs it on a GPU, or on the
    emulator.

    Arguments are contiguous tensors of one device, ``cuda``, the CPU or ``emu``, ints
    and floats.
    ValueError for a grid that is too large, TypeError for other arguments,
    RuntimeError where the emulator finds an access outside of a tensor or a missing
    barrier.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        self.function, self.__name__ = function, function.__name__
        self.__doc__ = function.__doc__
        self._parameters = list(inspect.signature(function).parameters)

    def __getitem__(self, grid: tuple[int, int]) -> Callable[..., None]:
        blocks, threads = grid
        if not 1 <= threads <= _MOST_THREADS or blocks < 1 or threads % 32:
            raise ValueError(
                f"{self.__name__}[{blocks}, {threads}]: a grid has at least one block, "
                f"and blocks have a multiple of 32 threads, {_MOST_THREADS} at most"
            )
        return lambda *arguments: self._run(blocks, threads, arguments)

    def ptx(self, *arguments: Any, threads: int = 256, target: str = "sm_80") -> str:
        """The PTX for arguments of these types."""
        from pellucid_compiler.gpu.nvptx import ptx
        from pellucid_compiler.gpu.user import compile_kernel

        dtypes = self._dtypes(arguments)
        module = compile_kernel(self.function, dtypes, threads)
        return ptx(module.printed(), target)

    def _dtypes(self, arguments: tuple[Any, ...]) -> dict[str, str | None]:
        if len(arguments) != len(self._parameters):
            raise TypeError(
                f"{self.__name__}() takes {len(self._parameters)} arguments, "
                f"{len(arguments)} were given"
            )
        pairs = zip(self._parameters, arguments, strict=True)
        return {name: _dtype_of(self.__name__, name, value) for name, value in pairs}

    def _run(self, blocks: int, threads: int, arguments: tuple[Any, ...]) -> None:
        dtypes = tuple(self._dtypes(arguments).items())
        tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
        devices = {t.device for t in tensors}
        words = b"".join(struct.pack("<Q", t.data_ptr()) for t in tensors)
        for value in arguments:
            if not isinstance(value, torch.Tensor):
                kind = "<d" if isinstance(value, float) else "<q"
                words += struct.pack(kind, value)
        if {device.type for device in devices} == {"cuda"} and len(devices) == 1:
            place: int = devices.pop().index  # type: ignore[assignment]
            code = _loaded(self.function, dtypes, threads, place)
            _C._cuda_launch(place, code, (blocks, 1, 1, threads, 1, 1, 0), words)
            return
        self._emulate(blocks, threads, dtypes, tensors, words)

    def _emulate(
        self, blocks: int, threads: int, dtypes: Any, tensors: Any, words: bytes
    ) -> None:
        order = _order_of({t.device for t in tensors})
        code = _emulated(self.function, dtypes, threads)
        ends = ((t.data_ptr(), t.data_ptr() + t.nbytes) for t in tensors)
        ranges = b"".join(struct.pack("<2Q", *pair) for pair in ends)
        grid = (blocks, threads, code.shared_bytes, order)
        try:
            _C._run_grid(code.executable.address, words, ranges, *grid)
        except RuntimeError as error:
            raise RuntimeError(f"{self.__name__} on a grid: {error}") from None


def kernel(function: Callable[..., None]) -> Kernel:
    """Makes a function of one thread a kernel. It is compiled when it first runs;
    KernelError names the line of what is not part of the language."""
    return Kernel(function)


def _dtype_of(kernel_name: str, name: str, value: Any) -> str:
    if isinstance(value, torch.Tensor):
        if not value.is_contiguous():
            raise TypeError(f"{kernel_name}(): {name} must be contiguous")
        return "*" + str(value.dtype).rpartition(".")[2]
    if isinstance(value, float):
        return "float64"
    if isinstance(value, int):
        return "int64"
    raise TypeError(
        f"{kernel_name}(): {name} must be a tensor, an int or a float, not "
        f"{type(value).__name__}"
    )


def _order_of(devices: set[Any]) -> int:
    """The order in which the emulator runs the threads; TypeError for other devices."""
    from pellucid.devices.emulated import Emulated, registered

    if len(devices) == 1:
        (device,) = devices
        if device.type == "cpu":
            return 0
        if device.type == Emulated.name and registered:
            return registered[0].order
    found = ", ".join(sorted(map(str, devices))) or "none"
    raise TypeError(
        f"a kernel's tensors are on one device, cuda, cpu or emu; found: {found}"
    )


@lru_cache(maxsize=256)
def _loaded(
    function: Callable[..., None],
    dtypes: tuple[tuple[str, str], ...],
    threads: int,
    place: int,
) -> int:
    """The kernel on a GPU, compiled by the driver."""
    from pellucid.devices.grids import architecture_of
    from pellucid_compiler.gpu.nvptx import ptx
    from pellucid_compiler.gpu.user import compile_kernel

    module = compile_kernel(function, dict(dtypes), threads)
    text = ptx(module.printed(), architecture_of(place))
    image = _C._cuda_link(place, f"// user {function.__name__}\n{text}")
    return int(_C._cuda_load(place, image, "kernel"))


@lru_cache(maxsize=256)
def _emulated(
    function: Callable[..., None], dtypes: tuple[tuple[str, str], ...], threads: int
) -> Any:
    from pellucid.devices.emulated import Compiled
    from pellucid_compiler.codegen.targets.x86 import host_target
    from pellucid_compiler.gpu.builder import EmulatedFunction
    from pellucid_compiler.gpu.user import compile_kernel
    from pellucid_compiler.pack.jit import Executable, compile_blob

    module = compile_kernel(function, dict(dtypes), threads, EmulatedFunction)
    blob = compile_blob(module.printed(), host_target())
    return Compiled(Executable(blob), module.shared_bytes)


def _word(name: str, doc: str) -> Callable[..., Any]:
    """A function that only kernels can call."""

    def word(*arguments: Any) -> NoReturn:
        raise RuntimeError(
            f"pellucid.devices.gpu.{name}() can be called in a kernel only"
        )

    word.__name__, word.__doc__ = name, doc
    word._gpu_word = name  # type: ignore[attr-defined]
    return word


thread = _word("thread", "The number of this thread in its block.")
threads = _word("threads", "How many threads a block has.")
block = _word("block", "The number of this thread's block.")
blocks = _word("blocks", "How many blocks the grid has.")
barrier = _word("barrier", "Waits until all threads of the block are here.")
shared = _word("shared", "``shared(torch.float32, 32)``: an array of the block.")
shuffle_xor = _word(
    "shuffle_xor",
    "``shuffle_xor(value, mask)``: the value of the lane whose number differs in mask.",
)
atomic_add = _word(
    "atomic_add",
    "``atomic_add(array, index, value)``: adds to an element, in any order of threads.",
)
exp = _word("exp", "The exponential function.")
log = _word("log", "The natural logarithm.")
sqrt = _word("sqrt", "The square root.")
rsqrt = _word("rsqrt", "One over the square root.")
sin = _word("sin", "The sine.")
cos = _word("cos", "The cosine.")
tanh = _word("tanh", "The hyperbolic tangent.")
abs = _word("abs", "The absolute value.")
maximum = _word("maximum", "The greater of two numbers; NaN if one is.")
minimum = _word("minimum", "The smaller of two numbers; NaN if one is.")
