"""The same kernels for Intel's GPUs: LLVM text, and SPIR-V by LLVM itself.

Nothing here has run on such a GPU. What can be said without one is in the module: its
execution modes, its instructions, and whether Khronos' validator accepts it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from pellucid_compiler.codegen.builder import I32, I64, PTR, Value
from pellucid_compiler.gpu.builder import (
    Arguments,
    GpuModule,
    HardwareFunction,
    Opened,
)
from pellucid_compiler.gpu.optimised import optimised, parsed

TRIPLE = "spirv64-unknown-unknown"
VERSION = "OpenCL 2.2"
"""The environment whose rules the modules follow, but for SPIR-V's version (1.4)."""

GENERIC, GLOBAL, SHARED = 4, 1, 3
"""Numbers of address spaces in LLVM's text; 0 is a function's own variables."""

WORKGROUP, ACQUIRE_AND_RELEASE = 2, 0x8 | 0x100 | 0x200
"""A scope, and the semantics of a barrier: the order of writes to the memory that a
workgroup shares and to global memory."""

_NUMBERS = {"tid": "LocalInvocationId", "ctaid": "WorkgroupId"}
_NUMBERS["nctaid"] = "NumWorkgroups"


def _mangled(name: str, types: str) -> str:
    """The name of a function of OpenCL C, which LLVM knows the instruction of."""
    return f"_Z{len(name)}{name}{types}"


class SpirvFunction(HardwareFunction):
    """For LLVM's SPIR-V target. Addresses are arguments of 64 bits, as in Intel's
    unified memory; a subgroup has 32 lanes, which its execution mode asks for."""

    convention = "spir_kernel "
    attributes = 'nounwind "no-builtins"'

    @classmethod
    def open_kernel(cls, module: GpuModule, named: Arguments) -> Opened:
        f = module.function("kernel", [(name, I64) for name, _ in named])
        assert isinstance(f, SpirvFunction)
        return f, {
            name: f._address(value) if type_ == PTR else value
            for (name, type_), value in zip(named, f.args, strict=True)
        }

    def _address(self, word: Value) -> Value:
        pointer = f"ptr addrspace({GLOBAL})"
        kept = self._emit(PTR, f"inttoptr i64 {word.text} to {pointer}")
        return self._emit(PTR, f"addrspacecast {pointer} {kept.text} to ptr")

    def special(self, name: str) -> Value:
        function = _mangled(f"__spirv_BuiltIn{_NUMBERS[name]}", "i")
        return self.intrinsic(function, I64, self.constant(0, I32))

    def barrier(self) -> None:
        numbers = WORKGROUP, WORKGROUP, ACQUIRE_AND_RELEASE
        given = (self.constant(number, I32) for number in numbers)
        self.intrinsic(_mangled("__spirv_ControlBarrier", "jjj"), None, *given)

    def _shuffle(self, word: Value, mask: int) -> Value:
        function = _mangled("sub_group_shuffle_xor", "ij")
        return self.intrinsic(function, I32, word, self.constant(mask, I32))

    def stack(self, num_bytes: int, align: int = 64) -> Value:
        raw, name = (f"%v{self._fresh()}" for _ in range(2))
        self._stack += [
            f"  {raw} = alloca [{num_bytes} x i8], align {align}, addrspace(0)",
            f"  {name} = addrspacecast ptr addrspace(0) {raw} to ptr",
        ]
        return Value(self, name, PTR)


def _for_spirv(text: str) -> str:
    """The module with generic pointers and constant tables in global memory, for in
    SPIR-V a plain pointer is one to a function's own variables; and with the number of
    lanes that the kernel needs."""
    table = rf"(ptr addrspace({GLOBAL}) \g<0> to ptr addrspace({GENERIC}))"
    text = re.sub(
        r"(@table\d+ = .*) constant", rf"\1 addrspace({GLOBAL}) constant", text
    )
    text = re.sub(r"\bptr\b(?! addrspace)", f"ptr addrspace({GENERIC})", text)
    text = re.sub(r"(?<=\) )@table\d+", f"addrspacecast {table}", text)
    text = re.sub(
        r"(define spir_kernel .*) {", r"\1 !intel_reqd_sub_group_size !32 {", text
    )
    return text + "!32 = !{i32 32}\n"


class Assembled(NamedTuple):
    """A kernel's SPIR-V, as words and as text."""

    code: bytes
    text: str


_EMITTED: list[Any] = []
"""Modules and their machines: LLVM's SPIR-V target finds types and values of earlier
modules by their addresses, so none may be used again."""


def _emit(text: str, emit: Callable[[Any, Any], Any]) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(opt=3)
    module = optimised(parsed(text, machine, TRIPLE), machine)
    _EMITTED.append((machine, module))
    return emit(machine, module)


def assemble(text: str) -> Assembled:
    """The SPIR-V of a module that ``SpirvFunction`` printed."""
    given = _for_spirv(text)
    return Assembled(
        _emit(given, lambda machine, module: machine.emit_object(module)),
        str(_emit(given, lambda machine, module: machine.emit_assembly(module))),
    )
