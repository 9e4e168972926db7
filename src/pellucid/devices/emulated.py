"""A GPU that the CPU emulates: its kernels are those for a grid of threads.

``pellucid_compiler/gpu`` writes each kernel for one thread, and
``runtime/device/emulated_grid.h`` runs the threads of a block as fibers. Accesses
outside of operands and missing barriers are errors. Made for tests: an element takes
microseconds.
"""

from __future__ import annotations

import ctypes
import math
import struct
from functools import cache
from typing import Any, NamedTuple

from pellucid import _C
from pellucid.devices import Backend
from pellucid.devices.grids import grid_facts
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.codegen.targets.x86 import host_target
from pellucid_compiler.devices.launch import KernelFailed, Launch
from pellucid_compiler.gpu.builder import THREADS, EmulatedFunction
from pellucid_compiler.gpu.generate import FORMS, grid_module
from pellucid_compiler.gpu.grid import Shape
from pellucid_compiler.pack.jit import Executable, compile_blob

registered: list[Emulated] = []
"""The emulated devices of the process: none or one."""

BLOCKS = 3  # of every grid: results do not depend on it


class Compiled(NamedTuple):
    """A kernel for the emulator, and the shared memory that its blocks need."""

    executable: Executable
    shared_bytes: int


@cache
def compiled(kernel: Kernel, shape: Shape, without_barrier: int = -1) -> Compiled:
    """The machine code of a kernel whose threads are fibers."""
    printer, number = EmulatedFunction, without_barrier
    module = grid_module(kernel, shape, printer, without_barrier=number)
    blob = compile_blob(module.printed(), host_target())
    return Compiled(Executable(blob), module.shared_bytes)


class Placed(NamedTuple):
    """A launch as a grid's arguments: axes merged where memory allows it."""

    shape: Shape
    words: bytearray  # the kernel's arguments, with a status behind the addresses

    @classmethod
    def of(cls, launch: Launch) -> Placed:
        """As the runtime places launches on a GPU."""
        operands = tuple(
            (o.address, o.sizes, o.strides, o.offset, o.guards) for o in launch.operands
        )
        outputs = len(launch.kernel.outputs)
        axes, words = _C._place_on_grid(
            *(grid_facts(launch.kernel), outputs, launch.stored, launch.extents),
            *(operands, launch.params, 0),
        )
        memory = tuple(operand.dtype for operand in launch.operands)
        return cls(Shape.of(axes, memory), bytearray(words))


class Emulated(Backend):
    """``torch.device("emu")``. ``order`` of threads and of blocks: 0 ascending, 1
    descending, else a seed of random ones."""

    name, count, forms = "emu", 2, FORMS
    generators = guards = True

    def __init__(self, order: int = 0) -> None:
        self.order = order
        self._blocks: dict[int, Any] = {}
        registered[:] = [self]

    def allocate(self, device: int, nbytes: int) -> int:
        block = ctypes.create_string_buffer(nbytes + 64)
        address = -(-ctypes.addressof(block) // 64) * 64
        self._blocks[address] = block, nbytes
        return address

    def ranges(self) -> list[tuple[int, int]]:
        """The first byte of each block in use, and the one behind its last."""
        sizes = ((at, nbytes) for at, (_, nbytes) in self._blocks.items())
        return [(at, at + nbytes) for at, nbytes in sizes]

    def release(self, device: int, address: int, nbytes: int) -> None:
        del self._blocks[address]

    def to_host(self, device: int, address: int, into: memoryview) -> None:
        into[:] = ctypes.string_at(address, len(into))

    def from_host(self, device: int, address: int, data: memoryview) -> None:
        ctypes.memmove(address, bytes(data), len(data))

    def launch(self, launch: Launch) -> Any:
        """Runs a kernel that has a schedule, on three blocks of 256 threads."""
        placed = Placed.of(launch)
        try:
            code = compiled(launch.kernel, placed.shape)
        except NotImplementedError:
            return NotImplemented
        status = run_grid(code, launch, placed, self.order)
        if status:
            raise KernelFailed(status)
        return None


def run_grid(
    code: Compiled, launch: Launch, placed: Placed, order: int, before: int = 0
) -> int:
    """The kernel's status, which is ``before`` at first; RuntimeError for what the
    emulator finds wrong with it."""
    status = ctypes.c_uint64(before)
    at = ctypes.addressof(status)
    struct.pack_into("<Q", placed.words, 8 * len(launch.operands), at)
    ranges = struct.pack("<2Q", at, at + 8)
    for operand in launch.operands:
        ranges += struct.pack("<2Q", *_reach(operand))
    try:
        _C._run_grid(
            *(code.executable.address, bytes(placed.words), ranges, BLOCKS, THREADS),
            *(code.shared_bytes, order),
        )
    except RuntimeError as error:
        raise RuntimeError(f"{launch.op}, {launch.form} on a grid: {error}") from None
    return status.value


def _reach(operand: Any) -> tuple[int, int]:
    """The first byte of an operand and the one behind its last."""
    if operand.guards:
        return operand.address, operand.address + operand.num_bytes
    low = high = operand.address
    for size, step in zip(operand.sizes, operand.strides, strict=True):
        reach = (size - 1) * step
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high + _item_bytes(operand.dtype) * bool(math.prod(operand.sizes))


def _item_bytes(dtype: str) -> int:
    from pellucid_compiler.codegen.formats import memory_type

    return memory_type(dtype).element_bytes
