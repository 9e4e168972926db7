"""A builder with the words of one thread of a grid, and its printers.

``NvptxFunction`` writes LLVM text for NVIDIA's GPUs, ``EmulatedFunction`` the same code
for the CPU, where the words are those of ``abi/grid.py``; ``amdgpu.py`` has AMD's.
Read next: ``grid.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from pellucid_compiler.abi.codes import GRID_ACCESS, GRID_MATRIX
from pellucid_compiler.abi.grid import OFFSETS
from pellucid_compiler.codegen.builder import (
    FLOAT,
    HALF,
    I8,
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
    room = ""
    """The attribute that leaves room for several blocks, by threads and blocks."""
    has_matrices = False
    """Whether the words ``load_matrices`` and ``multiply_matrices`` are there."""
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
        """A vector's address is a multiple of 16, or of its size."""
        num_bytes = type_.element_bytes * type_.lanes
        self.touch(pointer, num_bytes, "read_shared")
        return self.load(pointer, type_, min(num_bytes, 16))

    def write_shared(self, value: Value, pointer: Value) -> None:
        self.touch(pointer, value.type.element_bytes, "write_shared")
        self.store(value, pointer)

    def copy_async(self, to: Value, source: Value, num_bytes: int, used: Value) -> None:
        """Starts to copy 4, 8 or 16 bytes into shared memory, both addresses aligned to
        as many; only the first ``used`` are read, the others become zeros."""
        raise NotImplementedError

    def wait_copies(self) -> None:
        """Waits until this thread's copies have ended. Other threads see what they
        wrote after a barrier."""
        raise NotImplementedError

    def load_matrices(self, row: Value, *, transposed: bool) -> list[Value]:
        """Four matrices of 8 rows of 16 bytes from shared memory, a word (i32) of each.

        Lane ``8 j + r`` gives the address of row ``r`` of matrix ``j``. Lane ``l``
        receives word ``l % 4`` of row ``l / 4``, or ``transposed`` the same of the
        matrix of 16-bit elements with rows and columns exchanged. All lanes take part.
        """
        raise NotImplementedError

    def multiply_matrices(
        self, kind: str, a: list[Value], b: list[Value], sums: list[Value]
    ) -> list[Value]:
        """``sums + A B`` for A of 16 rows of 32 bytes and B of 8 columns of 32 bytes,
        whose elements are of ``kind`` (``MATRIX_SUMS``), by a warp together.

        Of lane ``l``, with ``g = l / 4``: ``a`` are words ``l % 4`` of rows ``g`` and
        ``g + 8``, then words ``l % 4 + 4``; ``b`` are words ``l % 4`` and ``l % 4 + 4``
        of column ``g``; ``sums`` are columns ``2 (l % 4)`` and the next of row ``g``,
        then of row ``g + 8``.
        """
        raise NotImplementedError

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


MATRIX_SUMS = {"float16": FLOAT, "bfloat16": FLOAT, "int8": I32, "uint8": I32}
"""The elements that ``multiply_matrices`` takes, and the types of their sums."""

_MATRIX_NAMES = {
    "float16": "m16n8k16.row.col.f32.f32",
    "bfloat16": "m16n8k16.row.col.bf16",
    "int8": "m16n8k32.row.col.s8",
    "uint8": "m16n8k32.row.col.u8",
}


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

    def copy_async(self, to: Value, source: Value, num_bytes: int, used: Value) -> None:
        """At once, where there are no asynchronous copies."""
        words = I32.with_lanes(num_bytes // 4)

        def part() -> None:
            def byte(place: Value, _: list[Value]) -> None:
                def read() -> list[Value]:
                    return [self.load(self.offset(source, place), I8)]

                none = self.constant(0, I8)
                (found,) = self.branch(place < used, read, lambda: [none])
                self.store(found, self.offset(to, place))

            self.loop(0, num_bytes, 1, [], byte)

        def whole() -> None:
            self.store(self.load(source, words, num_bytes), to, num_bytes)

        self.branch(used.equals(num_bytes), whole, part)

    def wait_copies(self) -> None:
        """Nothing is on its way."""


class NvptxFunction(HardwareFunction):
    """For LLVM's NVPTX target."""

    convention = "ptx_kernel "
    room = ' "nvvm.maxntid"="{}" "nvvm.minctasm"="{}"'
    has_matrices = True

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

    def copy_async(self, to: Value, source: Value, num_bytes: int, used: Value) -> None:
        way = "cg" if num_bytes == 16 else "ca"  # around the first cache, or through it
        name = f"llvm.nvvm.cp.async.{way}.shared.global.{num_bytes}.s"
        places = self._in_space(to, 3), self._in_space(source, 1)
        self.intrinsic(name, None, *places, self.convert("trunc", used, "i32"))

    def wait_copies(self) -> None:
        self.intrinsic("llvm.nvvm.cp.async.wait.all", None)

    def load_matrices(self, row: Value, *, transposed: bool) -> list[Value]:
        turned = ".trans" if transposed else ""
        name = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4{turned}.b16.p3"
        return self._several(name, I32, 4, self._in_space(row, 3))

    def multiply_matrices(
        self, kind: str, a: list[Value], b: list[Value], sums: list[Value]
    ) -> list[Value]:
        words = [*a, *b]
        if kind == "float16":
            words = [self.bitcast(word, HALF.with_lanes(2)) for word in words]
        name = f"llvm.nvvm.mma.{_MATRIX_NAMES[kind]}"
        return self._several(name, MATRIX_SUMS[kind], 4, *words, *sums)

    def _in_space(self, pointer: Value, space: int) -> Value:
        type_ = Type(f"ptr addrspace({space})")
        return self._emit(type_, f"addrspacecast ptr {pointer.text} to {type_}")

    def _several(self, name: str, type_: Type, count: int, *args: Value) -> list[Value]:
        """The results of an intrinsic that has several."""
        together = Type("{ " + ", ".join([str(type_)] * count) + " }")
        found = self.intrinsic(name, together, *args)
        return [
            self._emit(type_, f"extractvalue {together} {found.text}, {k}")
            for k in range(count)
        ]


class EmulatedFunction(GpuFunction):
    """For the CPU: the words are entries of the table of ``abi/grid.py``."""

    attributes = 'nounwind "no-trapping-math"="true" "no-builtins"'
    has_matrices = True
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
            self._tell("barrier")

    def copy_async(self, to: Value, source: Value, num_bytes: int, used: Value) -> None:
        self._tell("copy", to, source, self.integer(num_bytes), used)

    def wait_copies(self) -> None:
        if not self.module.leaves_barrier_out():
            self._tell("wait_copies")

    def load_matrices(self, row: Value, *, transposed: bool) -> list[Value]:
        words = self.stack(16)
        self._tell("load_matrices", row, words, self.integer(int(transposed)))
        return [self.load(self.offset(words, 4 * k), I32) for k in range(4)]

    def multiply_matrices(
        self, kind: str, a: list[Value], b: list[Value], sums: list[Value]
    ) -> list[Value]:
        words = self.stack(40)
        places = [self.offset(words, 4 * k) for k in range(10)]
        for value, place in zip([*a, *b, *sums], places, strict=True):
            self.store(value, place)
        self._tell("multiply_matrices", words, self.integer(GRID_MATRIX[kind]))
        return [self.load(place, MATRIX_SUMS[kind]) for place in places[6:]]

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
        self._tell("touch", pointer, self.integer(num_bytes), code)

    def shared(self, num_bytes: int) -> Value:
        start = self.load(self._word("shared"), PTR)
        return self.offset(start, self.module.take_shared(num_bytes))

    def _word(self, name: str) -> Value:
        return self.offset(self.machine, OFFSETS[name])

    def _tell(self, name: str, *values: Value) -> None:
        """Calls an entry that returns nothing."""
        self._line(f"call void {self._entry(name)}({self._arguments(*values)})")

    def _entry(self, name: str) -> str:
        return self.load(self._word(name), PTR).text

    def _arguments(self, *values: Value) -> str:
        given = (self.machine, *values)
        return ", ".join(f"{value.type} {value.text}" for value in given)


class GpuModule(Module):
    """The text of one kernel, by a printer. ``without_barrier``: the number of one, or
    of a wait for copies, that the emulated code lacks, so that tests see that it is
    missed."""

    def __init__(self, printer: type[GpuFunction], without_barrier: int = -1) -> None:
        super().__init__()
        self.printer, self.without_barrier = printer, without_barrier
        self.function_class = printer
        self.shared_bytes = self.num_barriers = 0
        self.blocks_together = 0
        """How many blocks a multiprocessor must have registers for; 0: no matter."""

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
        attributes = self.printer.attributes
        if self.blocks_together:
            attributes += self.printer.room.format(THREADS, self.blocks_together)
        text = self.text(attributes)
        head = f"define {self.printer.convention}void @kernel"
        return text.replace("define void @kernel", head)
