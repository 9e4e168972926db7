"""LLVM text to machine code, and machine code to something callable.

``compile_object`` is the compiler's only use of LLVM: parse, verify, emit an object. No
IR passes run, because generators write exactly the instructions they mean.
``compile_blob`` links the object (``link.py``). ``Executable`` maps a blob into this
process: tests call kernels through it.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
from typing import Any

import llvmlite.binding as llvm

from pellucid_compiler.codegen.targets.x86 import Target, target_named
from pellucid_compiler.pack.link import Blob, link

CODEGEN_LEVEL = 1


class CompileError(Exception):
    """LLVM refused the text of a module."""


@functools.cache
def _start_llvm() -> None:
    """Disable loop strength reduction, which takes 40 % of the time and gains nothing
    for generated loops, whose addresses already fit the processor's addressing modes.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.set_option("pellucid", "-disable-lsr")


@functools.cache
def _target_machine(name: str) -> Any:
    target = target_named(name)
    _start_llvm()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features="", opt=CODEGEN_LEVEL, reloc="pic", codemodel="small"
    )


def _parse(text: str, target: Target, machine: Any) -> Any:
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"{error}\n{_around(text, str(error))}") from None
    module.triple = target.triple
    module.data_layout = str(machine.target_data)
    return module


def _around(text: str, message: str) -> str:
    """The line of ``text`` that LLVM's message points at."""
    parts = message.split(":")
    for part in parts:
        if part.strip().isdigit():
            lines = text.splitlines()
            number = int(part)
            return lines[number - 1] if 0 < number <= len(lines) else ""
    return ""


def compile_object(text: str, target: Target) -> bytes:
    """The ELF object of an LLVM module in text form."""
    machine = _target_machine(target.name)
    result: bytes = machine.emit_object(_parse(text, target, machine))
    return result


def compile_assembly(text: str, target: Target) -> str:
    """The assembly of an LLVM module, for people to read."""
    machine = _target_machine(target.name)
    result: str = machine.emit_assembly(_parse(text, target, machine))
    return result


def compile_blob(text: str, target: Target) -> Blob:
    """The relocatable blob of an LLVM module that defines ``kernel``."""
    return link(compile_object(text, target), "kernel")


class Executable:
    """A blob mapped executable in this process."""

    def __init__(self, blob: Blob) -> None:
        self._pages = mmap.mmap(
            -1,
            max(len(blob.code), 1),
            mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
            mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC,
        )
        self._pages.write(blob.code)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._pages))
        self.address = base + blob.entry

    def function(self, result: Any, *args: Any) -> Any:
        """A ctypes function of the given signature at the entry; it keeps the pages
        alive.
        """
        function = ctypes.CFUNCTYPE(result, *args)(self.address)
        function.executable = self  # type: ignore[attr-defined]
        return function
