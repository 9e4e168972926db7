"""LLVM text to PTX, and PTX to machine code by ``ptxas``, where that is installed.

``ptxas`` needs no driver and no GPU; the package ``nvidia-cuda-nvcc`` of PyPI has it.
Programs do not need it: the driver compiles PTX.
"""

from __future__ import annotations

import functools
import re
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from pellucid_compiler.gpu.optimised import optimised, parsed

TRIPLE = "nvptx64-nvidia-cuda"
FEATURES = {"sm_80": "+ptx70", "sm_90a": "+ptx80"}
"""The architectures that kernels are printed for, with a PTX version of each."""

_SPILLED = re.compile(r"(\d+) bytes spill stores")


@functools.cache
def _machine(architecture: str) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE)
    return target.create_target_machine(
        cpu=architecture, features=FEATURES[architecture], opt=3
    )


def ptx(text: str, architecture: str = "sm_80") -> str:
    """The PTX of a module that was not printed for the emulator."""
    machine = _machine(architecture)
    return _emitted(parsed(text, machine, TRIPLE), machine)


def ptx_of_all(texts: Sequence[str], architecture: str) -> str:
    """One PTX of several modules, whose kernels are ``kernel0``, ``kernel1``, ..."""
    machine = _machine(architecture)
    first, *others = (parsed(text, machine, TRIPLE) for text in texts)
    for number, module in enumerate((first, *others)):
        module.get_function("kernel").name = f"kernel{number}"
    for module in others:
        first.link_in(module)
    return _emitted(first, machine)


def _emitted(module: Any, machine: Any) -> str:
    return str(machine.emit_assembly(optimised(module, machine)))


def find_ptxas() -> str | None:
    """Where ``ptxas`` is: on the path, or in an installed package."""
    found = shutil.which("ptxas")
    folders = [*site.getsitepackages(), *sys.path]
    inside = (p for f in folders for p in Path(f).glob("nvidia/*/bin/ptxas"))
    return found or next(map(str, inside), None)


def spills(said: str) -> list[str]:
    """The kernels that spill, of what ``ptxas`` said of some, with its line on each."""
    found, name = [], ""
    for line in said.splitlines():
        if "Function properties for" in line:
            name = line.split()[-1]
        elif (bytes_ := _SPILLED.search(line)) and bytes_[1] != "0":
            found.append(f"{name}: {line.strip()}")
    return found


def assemble(ptx_text: str, ptxas: str, architecture: str = "sm_80") -> str:
    """What ``ptxas`` says of registers and spills; RuntimeError where it refuses."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_text(ptx_text)
        done = subprocess.run(
            [ptxas, f"-arch={architecture}", "-v", str(source), "-o", f"{folder}/k"],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"ptxas refused a kernel:\n{done.stderr[-600:]}")
    return done.stderr
