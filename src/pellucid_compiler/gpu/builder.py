"""A builder with the words of one thread of a grid, and its printers.

``NvptxFunction`` writes LLVM text for NVIDIA's GPUs, ``EmulatedFunction`` the same code
for the CPU, where the words are those of ``abi/grid.py``; ``amdgpu.py`` has AMD's.
Read next: ``grid.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from pellucid_compiler.abi.codes import GRID_ACCESS
from pellucid_compiler.abi.grid import OFFSETS
from pellucid_compiler.codegen.builder import (
    I32,
    I64,
    PTR,
    Function,
    Module,
    Type,
    Value,
)

THREADS = 256
"""Of a block, whatever the GPU: trees of reductions depend on it."""

# Special registers of PTX, by what they are in the emulated machine.
_NUMBERS = {"tid": "thread", "ctaid": "block", "nctaid": "blocks"}


Arguments: TypeAlias = list[tuple[str, Type]]
Opened: TypeAlias = "tuple[GpuFunction, dict[str, Value]]"


class GpuFunction(Function):
    """The code of one thread. ``convention`` and ``attributes`` are the kernel's in
    LLVM's text."""

    convention = ""
    attributes = 'nounwind "no-builtins"'
    module: GpuModule
    status: Value
    """Where the kernel's status is: ``Grid`` sets it."""

    @classmethod
    def open_kernel(cls, module: GpuModule, named: Arguments) -> Opened:
        """The kernel, and its arguments by their names."""
        f = module.function("kernel", named)
        assert isinstance(f, GpuFunction)
        return f, {value.text[1:]: value for value in f.args}

    def special(self, name: str) -> Value:
        """``tid`` (of the block), ``ctaid`` (the block), ``nctaid`` (of blocks)."""
        raise NotImplementedError

    def thread(self) -> Value:
        return self.special("tid")

    def block(self) -> Value:
        return self.special("ctaid")

    def blocks(self) -> Value:
        return self.special("nctaid")

    def barrier(self) -> None:
        """All threads of the block arrive before one goes on."""
        raise NotImplementedError

    def shuffle_xor(self, value: Value, mask: int) -> Value:
        """The ``value`` of the lane of the warp whose number differs in ``mask``."""
        raise NotImplementedError

    def shared(self, num_bytes: int) -> Value:
        """The address of memory that the block's threads share."""
        raise NotImplementedError

    def read_shared(self, pointer: Value, type_: Type) -> Value:
        self.touch(pointer, type_.element_bytes, "read_shared")
        return self.load(pointer, type_)

    def write_shared(self, value: Value, pointer: Value) -> None:
        self.touch(pointer, value.type.element_bytes, "write_shared")
        self.store(value, pointer)

    def atomic_add(self, pointer: Value, value: Value) -> None:
        """Adds to memory that other threads add to, in any order."""
        self.touch(pointer, value.type.element_bytes, "write_global")
        verb = "fadd" if value.type.is_float else "add"
        self._emit(
            value.type,
            f"atomicrmw {verb} ptr {pointer.text}, {value.type} {value.text} monotonic",
        )

    def note_failure(self, bad: Value, status: int) -> None:
        """Leaves ``status`` in the kernel's status, if this thread's element is ``bad``
        and no element failed before."""
        self.branch(bad, lambda: self._note(self.integer(status)))

    def return_if(self, condition: Value, result: Value | Callable[[], Value]) -> None:
        """Ends this thread with a status. Kernels with barriers must not use it."""
        label = self._fresh()
        self._line(f"br i1 {condition.text}, label %leave{label}, label %go{label}")
        self._open(f"leave{label}")
        self._note(result if isinstance(result, Value) else result())
        self.ret()
        self._open(f"go{label}")

    def _note(self, status: Value) -> None:
        self.touch(self.status, 8, "write_global")
        places = f"ptr {self.status.text}, i64 0, i64 {status.text}"
        self._emit(Type("{ i64, i1 }"), f"cmpxchg {places} monotonic monotonic")


def require_word(type_: Type) -> None:
    """Shuffles take 64 bits at most."""
    if type_.element_bits > 64:
        raise NotImplementedError(f"shuffles of {type_}")


class HardwareFunction(GpuFunction):
    """What LLVM's targets for GPUs have in common."""

    def _shuffle(self, word: Value, mask: int) -> Value:
        """The i32 of another lane."""
        raise NotImplementedError

    def shared(self, num_bytes: int) -> Value:
        name = self.module.add_shared(num_bytes)
        return self._emit(PTR, f"addrspacecast ptr addrspace(3) {name} to ptr")

    def shuffle_xor(self, value: Value, mask: int) -> Value:
        """32 bits at a time."""
        bits = value.type.as_integer()
        require_word(bits)
        word = self.bitcast(value, bits)
        if bits.element_bits == 64:
            parts = [
                self.convert("trunc", self.binary("lshr", word, shift), "i32")
                for shift in (0, 32)
            ]
            low, high = (
                self.convert("zext", self._shuffle(part, mask), "i64") for part in parts
            )
            return self.bitcast(low | high << 32, value.type)
        if bits.element_bits == 32:
            return self.bitcast(self._shuffle(word, mask), value.type)
        wide = self._shuffle(self.convert("zext", word, "i32"), mask)
        return self.bitcast(self.convert("trunc", wide, bits.element), value.type)


class NvptxFunction(HardwareFunction):
    """For LLVM's NVPTX target."""

    convention = "ptx_kernel "

    def special(self, name: str) -> Value:
        number = self.intrinsic(f"llvm.nvvm.read.ptx.sreg.{name}.x", I32)
        return self.convert("zext", number, "i64")

    def barrier(self) -> None:
        name = "llvm.nvvm.barrier.cta.sync.aligned.all"
        self.intrinsic(name, None, self.constant(0, I32))

    def _shuffle(self, word: Value, mask: int) -> Value:
        all_lanes, lane_mask, clamp = (self.constant(k, I32) for k in (-1, mask, 31))
        name = "llvm.nvvm.shfl.sync.bfly.i32"
        return self.intrinsic(name, I32, all_lanes, word, lane_mask, clamp)


class EmulatedFunction(GpuFunction):
    """For the CPU: the words are entries of the table of ``abi/grid.py``."""

    attributes = 'nounwind "no-trapping-math"="true" "no-builtins"'
    machine: Value

    @classmethod
    def open_kernel(cls, module: GpuModule, named: Arguments) -> Opened:
        f = module.function("kernel", [("machine", PTR), ("words", PTR)])
        assert isinstance(f, EmulatedFunction)
        f.machine, given = f.args
        return f, {
            name: f.load(f.offset(given, 8 * number), type_)
            for number, (name, type_) in enumerate(named)
        }

    def special(self, name: str) -> Value:
        return self.load(self._word(_NUMBERS[name]), I64)

    def barrier(self) -> None:
        if not self.module.leaves_barrier_out():
            barrier = self._entry("barrier")
            self._line(f"call void {barrier}({self._arguments()})")

    def shuffle_xor(self, value: Value, mask: int) -> Value:
        bits = value.type.as_integer()
        require_word(bits)
        word = self.convert("zext", self.bitcast(value, bits), "i64")
        arguments = self._arguments(word, self.integer(mask))
        shuffle = self._entry("shuffle")
        found = self._emit(I64, f"call i64 {shuffle}({arguments})")
        return self.bitcast(self.convert("trunc", found, bits.element), value.type)

    def touch(
        self, pointer: Value, num_bytes: int, access: str, where: Value | None = None
    ) -> None:
        if where is not None:
            self.branch(where, lambda: self.touch(pointer, num_bytes, access))
            return
        code = self.integer(GRID_ACCESS[access])
        arguments = self._arguments(pointer, self.integer(num_bytes), code)
        touch = self._entry("touch")
        self._line(f"call void {touch}({arguments})")

    def shared(self, num_bytes: int) -> Value:
        start = self.load(self._word("shared"), PTR)
        return self.offset(start, self.module.take_shared(num_bytes))

    def _word(self, name: str) -> Value:
        return self.offset(self.machine, OFFSETS[name])

    def _entry(self, name: str) -> str:
        return self.load(self._word(name), PTR).text

    def _arguments(self, *values: Value) -> str:
        given = (self.machine, *values)
        return ", ".join(f"{value.type} {value.text}" for value in given)


class GpuModule(Module):
    """The text of one kernel, by a printer. ``without_barrier``: the number of one that
    the emulated code lacks, so that tests see that it is missed."""

    def __init__(self, printer: type[GpuFunction], without_barrier: int = -1) -> None:
        super().__init__()
        self.printer, self.without_barrier = printer, without_barrier
        self.function_class = printer
        self.shared_bytes = self.num_barriers = 0

    def entry(
        self, pointers: Sequence[str], words: Sequence[str]
    ) -> tuple[GpuFunction, dict[str, Value]]:
        """The kernel, and its arguments by their names: each fills 64 bits."""
        named = [*((name, PTR) for name in pointers), *((name, I64) for name in words)]
        return self.printer.open_kernel(self, named)

    def take_shared(self, num_bytes: int) -> int:
        """The place of shared memory that nothing else has."""
        place = self.shared_bytes
        self.shared_bytes += -(-num_bytes // 16) * 16
        return place

    def add_shared(self, num_bytes: int) -> str:
        name = f"@shared{self.take_shared(num_bytes)}"
        self._tables.append(
            f"{name} = internal addrspace(3) global [{num_bytes} x i8] undef, align 16"
        )
        return name

    def leaves_barrier_out(self) -> bool:
        self.num_barriers += 1
        return self.num_barriers - 1 == self.without_barrier

    def printed(self) -> str:
        """The module as LLVM text."""
        text = self.text(self.printer.attributes)
        head = f"define {self.printer.convention}void @kernel"
        return text.replace("define void @kernel", head)
