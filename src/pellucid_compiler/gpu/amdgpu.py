"""The same kernels for AMD's GPUs: LLVM text, and machine code by LLVM itself.

Nothing here has run on such a GPU. What can be said without one is in the code's own
metadata: registers, shared memory, memory of spilled registers.
"""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from pellucid_compiler.codegen.builder import I32, PTR, Value
from pellucid_compiler.gpu.builder import THREADS, HardwareFunction
from pellucid_compiler.gpu.optimised import optimised, parsed

TRIPLE = "amdgcn-amd-amdhsa"
ARCHITECTURES = ("gfx90a", "gfx942", "gfx1100")
"""MI200, MI300, and RX 7000, whose waves have 32 lanes."""

_NUMBERS = {"tid": "workitem.id.x", "ctaid": "workgroup.id.x"}


class AmdFunction(HardwareFunction):
    """For LLVM's AMDGPU target. A warp is 32 lanes of a wave: shuffles never leave
    it. Copies to shared memory end at once, and there are no words for matrices."""

    convention = "amdgpu_kernel "
    attributes = f'nounwind "no-builtins" "amdgpu-flat-work-group-size"="1,{THREADS}"'

    def special(self, name: str) -> Value:
        if name in _NUMBERS:
            number = self.intrinsic(f"llvm.amdgcn.{_NUMBERS[name]}", I32)
            return self.convert("zext", number, "i64")
        self.module.declare("declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()")
        call = "call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()"
        hidden = self._emit(PTR, call)  # starts with the number of blocks
        number = self._emit(I32, f"load i32, ptr addrspace(4) {hidden.text}")
        return self.convert("zext", number, "i64")

    def barrier(self) -> None:
        self._line('fence syncscope("workgroup") release')
        self.intrinsic("llvm.amdgcn.s.barrier", None)
        self._line('fence syncscope("workgroup") acquire')

    def _shuffle(self, word: Value, mask: int) -> Value:
        every, none = (self.constant(k, I32) for k in (-1, 0))
        low = self.intrinsic("llvm.amdgcn.mbcnt.lo", I32, every, none)
        lane = self.intrinsic("llvm.amdgcn.mbcnt.hi", I32, every, low)
        place = self.binary("shl", self.binary("xor", lane, mask), 2)
        return self.intrinsic("llvm.amdgcn.ds.bpermute", I32, place, word)

    def stack(self, num_bytes: int, align: int = 64) -> Value:
        raw, name = (f"%v{self._fresh()}" for _ in range(2))
        self._stack += [
            f"  {raw} = alloca [{num_bytes} x i8], align {align}, addrspace(5)",
            f"  {name} = addrspacecast ptr addrspace(5) {raw} to ptr",
        ]
        return Value(self, name, PTR)


class Assembled(NamedTuple):
    """A kernel's machine code, and what its metadata says. Vector registers that do not
    fit are kept in ``scratch_bytes`` of memory a thread, scalar ones in lanes of vector
    registers.
    """

    code: bytes
    text: str
    registers: int
    shared_bytes: int
    scratch_bytes: int


@functools.cache
def _machine(architecture: str) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu=architecture, opt=3)


def assemble(text: str, architecture: str) -> Assembled:
    """The machine code of a module that ``AmdFunction`` printed."""
    machine = _machine(architecture)
    shown = str(
        machine.emit_assembly(optimised(parsed(text, machine, TRIPLE), machine))
    )

    def fact(name: str) -> int:
        return int(re.findall(rf"\.{name}:\s+(\d+)", shown)[-1])

    return Assembled(
        machine.emit_object(optimised(parsed(text, machine, TRIPLE), machine)),
        shown,
        fact("vgpr_count"),
        fact("group_segment_fixed_size"),
        fact("private_segment_fixed_size"),
    )
