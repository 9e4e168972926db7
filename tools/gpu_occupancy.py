#!/usr/bin/env python3
"""Prints what the shipped products need of a GPU's multiprocessor.

Registers and shared memory are those that ``ptxas`` says (``pip install
nvidia-cuda-nvcc``); how many blocks a multiprocessor holds follows from its limits, in
NVIDIA's tables of compute capabilities. No GPU and no driver is needed.

    python tools/gpu_occupancy.py
"""

from __future__ import annotations

import re
from typing import NamedTuple

from check_ptx import SHIPPED, shapes_of
from pellucid_compiler.codegen.kernel import Gemm, Kernel
from pellucid_compiler.devices.definitions import shipped_definitions
from pellucid_compiler.gpu.builder import THREADS
from pellucid_compiler.gpu.generate import grid_module
from pellucid_compiler.gpu.grid import Shape
from pellucid_compiler.gpu.nvptx import assemble, find_ptxas, ptx


class Multiprocessor(NamedTuple):
    """What its blocks share: registers, bytes of shared memory, of which each block
    takes 1,024 more than it asks for, and threads."""

    registers: int
    shared_bytes: int
    threads: int

    def blocks(self, registers: int, shared_bytes: int) -> int:
        """How many blocks with so much of each it holds at once."""
        of_a_warp = -(-32 * registers // 256) * 256
        by_registers = self.registers // (of_a_warp * (THREADS // 32))
        by_memory = self.shared_bytes // (shared_bytes + 1024)
        return min(by_registers, by_memory, self.threads // THREADS)


MULTIPROCESSORS = {
    "sm_80": Multiprocessor(65536, 164 << 10, 2048),
    "sm_90a": Multiprocessor(65536, 228 << 10, 2048),
}


def needs_of(kernel: Kernel, shape: Shape, architecture: str, said: str) -> str:
    """What a block of a product needs, as ``ptxas`` says."""
    registers, shared = (
        int(re.findall(pattern, said)[0])
        for pattern in (r"Used (\d+) registers", r"(\d+) bytes smem")
    )
    held = MULTIPROCESSORS[architecture]
    blocks = held.blocks(registers, shared)
    warps = 100 * blocks * THREADS // held.threads
    what = "windows" if shape.rows > 1 else "matrices"
    return (
        f"{what} of {kernel.inputs[0]} to {kernel.outputs[0]}, {architecture}: "
        f"{registers} registers, {shared} bytes, {blocks} blocks, {warps} % of threads"
    )


def main() -> None:
    ptxas = find_ptxas()
    if ptxas is None:
        raise SystemExit("no ptxas: pip install nvidia-cuda-nvcc")
    shipped = shipped_definitions(SHIPPED)
    for name in shipped.ids():
        kernel = shipped.get(name)
        if kernel is None or not isinstance(kernel.form, Gemm):
            continue
        for shape in shapes_of(kernel):
            text = grid_module(kernel, shape).printed()
            for architecture in MULTIPROCESSORS:
                said = assemble(ptx(text, architecture), ptxas, architecture)
                print(needs_of(kernel, shape, architecture, said))


if __name__ == "__main__":
    main()
