"""Kernels of every schedule as SPIR-V for Intel's GPUs, inspected, never run.

Khronos' validator reads them where it is installed.
"""

import re
import shutil
import subprocess

import pytest

from pellucid_compiler.codegen.kernel import Kernel, Map
from pellucid_compiler.gpu.generate import grid_module
from pellucid_compiler.gpu.grid import Shape
from pellucid_compiler.gpu.spirv import SpirvFunction, assemble
from tests.gpu.test_ptx import ATTENTION, CASES, F32, X

MAGIC = 0x07230203
ALL = CASES | ATTENTION
VALIDATOR = shutil.which("spirv-val")


def assembled(kernel, shape):
    return assemble(grid_module(kernel, shape, SpirvFunction).printed())


@pytest.mark.parametrize("name", ALL)
def test_a_kernel_of_every_schedule_is_a_module(name):
    made = assembled(*ALL[name])
    assert int.from_bytes(made.code[:4], "little") == MAGIC
    assert re.search(r'OpEntryPoint Kernel %\d+ "kernel"', made.text)
    assert re.search(r"OpExecutionMode %\d+ SubgroupSize 32", made.text)
    meets = not any(word in name for word in ("map", "gather", "scatter"))
    assert ("OpControlBarrier" in made.text) == meets
    assert bool(re.search(r"OpVariable %\d+ Workgroup", made.text)) == meets
    # Nothing is left to a library: what is imported are the numbers of the grid.
    imported = set(re.findall(r'LinkageAttributes "(\w+)" Import', made.text))
    assert all(name.startswith("__spirv_BuiltIn") for name in imported)


@pytest.mark.skipif(VALIDATOR is None, reason="spirv-val is not installed")
def test_the_validator_accepts_a_kernel_of_every_schedule(tmp_path):
    for name, case in ALL.items():
        path = tmp_path / "kernel.spv"
        path.write_bytes(assembled(*case).code)
        command = [VALIDATOR, "--target-env", "spv1.4", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert not done.returncode, f"{name}: {done.stderr}"


def test_a_product_and_a_sum_are_rounded_each():
    kernel = Kernel(Map((X * X + 1.0,)), (F32,), (F32,), ())
    text = assembled(kernel, Shape(1, 0, (F32, F32))).text
    assert re.search(r"OpExecutionMode %\d+ ContractionOff", text)
    assert {"OpFMul", "OpFAdd"} <= set(re.findall(r"OpF\w+", text))
    assert not re.search(r"OpExtInst .* (?:fma|mad)", text)


def test_tables_are_in_global_memory():
    assert re.search(r"OpVariable %\d+ CrossWorkgroup", assembled(*CASES["map"]).text)
