"""Matrix-product kernels beside PyTorch's ``mm``, both on one thread.

    python benchmarks/gemm.py [x86-64-v3]

needs llvmlite, NumPy and PyTorch, not the built runtime. The kernels are called by a
loop in machine code, so a figure is the kernel's own time; PyTorch's includes its
dispatch, which dominates small products. Times are the least of interleaved rounds; a
ratio above 1 means that ours is faster.

Measured on two Cascade Lake cores at 2.5 GHz (float32 peak about 130 GFLOP/s), AVX-512,
PyTorch 2.13, ratio for A B, A B^T and A^T B:

    4^3 56 44 59        64^3 1.6 2.7 1.6     512^3 1.0-1.1 0.9-1.1 0.9-1.0
    8x64x64 6 7 14      128^3 1.0 1.6 1.0    1024^3 0.9-1.0 1.0 0.8-0.9
    32^3 5 7 6          256^3 1.1 1.0 1.0    2048^3 0.9 0.8 0.8
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from pellucid_compiler.codegen.kernel import Gemm, Kernel
from pellucid_compiler.codegen.schedules.gemm import WORKSPACE_BYTES
from pellucid_compiler.codegen.targets.x86 import (
    Target,
    host_target,
    target_named,
)
from pellucid_compiler.pack.generate import compile_kernel
from pellucid_compiler.pack.jit import Executable, compile_blob

SHAPES = [
    *[(n, n, n) for n in (4, 8, 16, 32, 64, 96, 128, 256, 512, 1024, 2048)],
    (8, 64, 64), (8, 10, 64), (64, 64, 8), (64, 10, 8), (8, 64, 10),
    (128, 10, 784), (128, 128, 784), (784, 128, 128),
    (1, 64, 64), (1, 1024, 1024), (1024, 1, 1024), (1, 1, 1024),
    (4, 1024, 1024), (16, 1024, 1024), (512, 64, 512), (511, 509, 513),
]  # fmt: skip
ROUNDS = 20
ROUND_SECONDS = 0.004

_REPEAT = """
define i64 @kernel(ptr %f, ptr %data, ptr %sizes, ptr %strides, ptr %params, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %status = call i64 %f(ptr %data, ptr %sizes, ptr %strides, ptr %params)
  %next = add i64 %i, 1
  %again = icmp slt i64 %next, %n
  br i1 %again, label %loop, label %done
done:
  ret i64 0
}
"""


class Product:
    """One product ``C = A B``, repeatable by the kernel and by PyTorch."""

    def __init__(self, shape: tuple[int, int, int], layout: str) -> None:
        m, n, k = shape
        random = np.random.default_rng(0)
        a = random.standard_normal((m, k), np.float32)
        b = random.standard_normal((k, n), np.float32)
        self.a = np.asfortranarray(a) if layout[0] == "T" else a
        self.b = np.asfortranarray(b) if layout[1] == "T" else b
        self.c = np.empty((m, n), np.float32)
        workspace = np.empty(WORKSPACE_BYTES + 64, np.uint8)
        place = workspace.ctypes.data + -workspace.ctypes.data % 64
        arrays = (self.c, self.a, self.b)
        strides = [stride for x in arrays for stride in x.strides]
        self.arguments = (
            np.array([*(x.ctypes.data for x in arrays), 0], np.uint64),
            np.array([m, n, k]),
            np.array([*strides, 0, 0]),
            np.array([place], np.uint64),
        )
        self.workspace = workspace

    def by_kernel(self, address: int, repeat: Any) -> Callable[[int], None]:
        pointers = [x.ctypes.data for x in self.arguments]
        return lambda count: repeat(address, *pointers, count)

    def by_torch(self) -> Callable[[int], None]:
        a, b = torch.from_numpy(self.a), torch.from_numpy(self.b)
        out = torch.empty(self.c.shape)

        def run(count: int) -> None:
            for _ in range(count):
                torch.mm(a, b, out=out)

        return run


def best_times(runs: list[Callable[[int], None]]) -> list[float]:
    """Seconds per call: the least of interleaved rounds."""
    counts = []
    for run in runs:
        run(3)
        start = time.perf_counter()
        run(3)
        each = (time.perf_counter() - start) / 3
        counts.append(max(1, int(ROUND_SECONDS / each)))
    best = [float("inf")] * len(runs)
    for _ in range(ROUNDS):
        for i, (run, count) in enumerate(zip(runs, counts, strict=True)):
            start = time.perf_counter()
            run(count)
            best[i] = min(best[i], (time.perf_counter() - start) / count)
    return best


def main(target: Target) -> None:
    torch.set_num_threads(1)
    pointers = [ctypes.c_void_p] * 5
    repeat = Executable(compile_blob(_REPEAT, target)).function(
        ctypes.c_int64, *pointers, ctypes.c_int64
    )
    start = time.perf_counter()
    blob = compile_kernel(
        Kernel(Gemm(), ("float32",) * 3, ("float32",), ("int64", "int64")), target
    )
    seconds = time.perf_counter() - start
    kernel = Executable(blob)
    print(f"{target.name}: compiled in {seconds:.2f} s, {len(blob.code)} bytes")
    print(f"{'m x n x k':>16} {'A, B':>5} {'ns':>11} {'GFLOP/s':>8} {'torch/ours':>10}")
    for shape in SHAPES:
        for layout in ("NN", "NT", "TN"):
            product = Product(shape, layout)
            runs = [product.by_kernel(kernel.address, repeat), product.by_torch()]
            ours, theirs = best_times(runs)
            rate = 2 * np.prod(shape, dtype=float) / ours / 1e9
            name = " x ".join(map(str, shape))
            print(
                f"{name:>16} {layout:>5} {ours * 1e9:11.0f} {rate:8.1f}"
                f" {theirs / ours:10.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main(target_named(sys.argv[1]) if len(sys.argv) > 1 else host_target())
