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
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from pellucid import _C
from pellucid.devices import Backend
from pellucid_compiler.codegen.kernel import Gemm, Kernel, Nest, RowAdd, Rows
from pellucid_compiler.codegen.targets.x86 import host_target
from pellucid_compiler.devices.reference import KernelFailed, Launch
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
    extents: list[int]
    strides: list[list[int]]  # in bytes, per operand and axis
    groups: int
    group_strides: list[int]
    sizes: list[int]  # a nest's: of its operands' dims

    @classmethod
    def of(cls, launch: Launch) -> Placed:
        """Axes of size 1 go, and neighbours that are one run in all operands merge."""
        outputs = len(launch.kernel.outputs)
        memory = tuple(operand.dtype for operand in launch.operands)
        if isinstance(launch.kernel.form, Nest):
            return cls(
                Shape(len(launch.extents), 0, memory),
                list(launch.extents),
                [list(operand.strides) for operand in launch.operands],
                *(1, [0] * outputs),
                [size for operand in launch.operands for size in operand.sizes],
            )
        sums, groups, group_strides = _sums(launch), 1, [0] * outputs
        strides = []
        for number, operand in enumerate(launch.operands):
            steps = list(operand.strides)
            if number in sums:
                groups, group_strides[number] = operand.sizes[0], steps[0]
                steps = [0] * launch.stored + steps[1:]
            strides.append(steps)
        first = _merged(launch.extents, strides, range(launch.stored))
        if isinstance(launch.kernel.form, Gemm):
            first = _as_matrices(launch.extents, strides, launch.stored)
        reduced = range(launch.stored, len(launch.extents))
        second = _merged(launch.extents, strides, reduced)
        axes = first + second
        return cls(
            Shape(len(first), len(second), memory),
            [extent for extent, _ in axes],
            [[steps[k] for _, steps in axes] for k in range(len(strides))],
            groups,
            group_strides,
            [],
        )


def _sums(launch: Launch) -> set[int]:
    form = launch.kernel.form
    passes = form.passes if isinstance(form, Rows) else ()
    return {item.output for item in passes if isinstance(item, RowAdd)}


Axis = tuple[int, list[int]]
"""An extent, and each operand's stride."""


def _as_matrices(
    extents: tuple[int, ...], strides: list[list[int]], stored: int
) -> list[Axis]:
    """A product's axes: batches, then one that the first factor alone has, its rows,
    then one that the second alone has, the columns."""
    classes: dict[str, list[int]] = {"batch": [], "row": [], "column": []}
    for axis in range(stored):
        has_row, has_column = strides[1][axis] != 0, strides[2][axis] != 0
        name = "row" if has_row else "column"
        classes["batch" if has_row == has_column else name].append(axis)
    batch, rows, columns = (
        _merged(extents, strides, axes) for axes in classes.values()
    )
    one: list[Axis] = [(1, [0] * len(strides))]
    rows, columns = rows or one, columns or one
    return [*batch, *rows[:-1], *columns[:-1], rows[-1], columns[-1]]


def _merged(
    extents: tuple[int, ...], strides: list[list[int]], axes: Sequence[int]
) -> list[Axis]:
    """What is left of the axes."""
    found: list[Axis] = []
    for axis in axes:
        steps = [own[axis] for own in strides]
        if extents[axis] == 1:
            continue
        if found:
            extent, outer = found[-1]
            if outer == [step * extents[axis] for step in steps]:
                found[-1] = (extent * extents[axis], steps)
                continue
        found.append((extents[axis], steps))
    return found


class Emulated(Backend):
    """``torch.device("emu")``. ``order`` of threads and of blocks: 0 ascending, 1
    descending, else a seed of random ones."""

    name, count, forms = "emu", 2, FORMS

    def __init__(self, order: int = 0) -> None:
        self.order = order
        self._blocks: dict[int, Any] = {}
        registered[:] = [self]

    def allocate(self, device: int, nbytes: int) -> int:
        block = ctypes.create_string_buffer(nbytes + 64)
        address = -(-ctypes.addressof(block) // 64) * 64
        self._blocks[address] = block
        return address

    def release(self, device: int, address: int, nbytes: int) -> None:
        del self._blocks[address]

    def to_host(self, device: int, address: int, into: memoryview) -> None:
        into[:] = ctypes.string_at(address, len(into))

    def from_host(self, device: int, address: int, data: memoryview) -> None:
        ctypes.memmove(address, bytes(data), len(data))

    def launch(self, launch: Launch) -> Any:
        """Runs a kernel that has a schedule, on three blocks of 256 threads."""
        if _moves_bits(launch):
            return NotImplemented
        placed = Placed.of(launch)
        try:
            code = compiled(launch.kernel, placed.shape)
        except NotImplementedError:
            return NotImplemented
        status = run_grid(code, launch, placed, self.order)
        if status:
            raise KernelFailed(status)
        return None


def _moves_bits(launch: Launch) -> bool:
    """Whether complex32 is moved as integers of its size: a grid would convert it."""
    kernel = launch.kernel
    pairs = zip(launch.operands, (*kernel.outputs, *kernel.inputs), strict=False)
    return any(o.dtype == "complex32" and dtype != o.dtype for o, dtype in pairs)


def run_grid(code: Compiled, launch: Launch, placed: Placed, order: int) -> int:
    """The kernel's status; RuntimeError for what the emulator finds wrong with it."""
    status = ctypes.c_uint64(0)
    at = ctypes.addressof(status)
    numbers = [*placed.extents, *(s for own in placed.strides for s in own)]
    numbers += placed.sizes
    params = [bits - (bits >> 63 << 64) for bits in launch.params]
    params += [0] * (len(launch.kernel.params) - len(params))  # a first index
    numbers += [*params, placed.groups, *placed.group_strides]
    pointers = [operand.address for operand in launch.operands]
    words = struct.pack(f"<{len(pointers) + 1}Q", *pointers, at)
    words += struct.pack(f"<{len(numbers)}q", *numbers)
    ranges = struct.pack("<2Q", at, at + 8)
    for operand in launch.operands:
        ranges += struct.pack("<2Q", *_reach(operand))
    try:
        _C._run_grid(
            *(code.executable.address, words, ranges, BLOCKS, THREADS),
            *(code.shared_bytes, order),
        )
    except RuntimeError as error:
        raise RuntimeError(f"{launch.op}, {launch.form} on a grid: {error}") from None
    return status.value


def _reach(operand: Any) -> tuple[int, int]:
    """The first byte of an operand and the one behind its last."""
    low = high = operand.address
    for size, step in zip(operand.sizes, operand.strides, strict=True):
        reach = (size - 1) * step
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high + _item_bytes(operand.dtype) * bool(math.prod(operand.sizes))


def _item_bytes(dtype: str) -> int:
    from pellucid_compiler.codegen.formats import memory_type

    return memory_type(dtype).element_bytes
