"""LLVM text to PTX, and PTX to machine code by ``ptxas``, where that is installed.

``ptxas`` needs no driver and no GPU; the package ``nvidia-cuda-nvcc`` of PyPI has it.
Programs do not need it: the driver compiles PTX.
"""

from __future__ import annotations

import functools
import shutil
import site
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from pellucid_compiler.gpu.optimised import optimised

TRIPLE = "nvptx64-nvidia-cuda"
FEATURES = {"sm_80": "+ptx70", "sm_90a": "+ptx80"}
"""The architectures that kernels are printed for, with a PTX version of each."""


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
    return str(machine.emit_assembly(optimised(text, machine, TRIPLE)))


def find_ptxas() -> str | None:
    """Where ``ptxas`` is: on the path, or in an installed package."""
    found = shutil.which("ptxas")
    folders = [*site.getsitepackages(), *sys.path]
    inside = (p for f in folders for p in Path(f).glob("nvidia/*/bin/ptxas"))
    return found or next(map(str, inside), None)


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
