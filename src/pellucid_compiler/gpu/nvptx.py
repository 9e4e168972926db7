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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

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
    """The PTX of a module that was not printed for the emulator.

    LLVM may shrink address arithmetic; no instruction has fast-math flags, so what is
    computed does not change.
    """
    machine = _machine(architecture)
    return _printed(_parsed(text, machine), machine)


def ptx_of_all(texts: Sequence[str], architecture: str) -> str:
    """One PTX of several modules, whose kernels are ``kernel0``, ``kernel1``, ..."""
    machine = _machine(architecture)
    first, *others = (_parsed(text, machine) for text in texts)
    for number, module in enumerate((first, *others)):
        module.get_function("kernel").name = f"kernel{number}"
    for module in others:
        first.link_in(module)
    return _printed(first, machine)


def _parsed(text: str, machine: Any) -> Any:
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = TRIPLE, str(machine.target_data)
    module.verify()
    return module


def _printed(module: Any, machine: Any) -> str:
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return str(machine.emit_assembly(module))


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
        elif "spill stores" in line and "0 bytes spill stores" not in line:
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
