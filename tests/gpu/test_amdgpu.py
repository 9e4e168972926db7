"""Kernels of every schedule as machine code of AMD's GPUs, inspected, never run."""

import re

import pytest

from pellucid_compiler.codegen.kernel import Kernel, Map
from pellucid_compiler.gpu.amdgpu import ARCHITECTURES, AmdFunction, assemble
from pellucid_compiler.gpu.generate import grid_module
from pellucid_compiler.gpu.grid import Shape
from tests.gpu.test_ptx import CASES, F32, X


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", CASES)
def test_a_kernel_of_every_schedule_is_assembled_without_spills(name, architecture):
    made = assemble(grid_module(*CASES[name], AmdFunction).printed(), architecture)
    assert made.code.startswith(b"\x7fELF")
    assert ".amdhsa_kernel kernel" in made.text
    assert made.scratch_bytes == 0
    meets = not any(word in name for word in ("map", "gather", "scatter"))
    assert ("s_barrier" in made.text) == meets
    assert (made.shared_bytes > 0) == meets
    assert 0 < made.registers <= 128


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_product_and_a_sum_are_rounded_each(architecture):
    kernel = Kernel(Map((X * X + 1.0,)), (F32,), (F32,), ())
    module = grid_module(kernel, Shape(1, 0, (F32, F32)), AmdFunction)
    text = assemble(module.printed(), architecture).text
    names = set(re.findall(r"\bv_(mul|add|fma|fmac|mac|mad|pk_fma)_f32", text))
    assert names == {"mul", "add"}
