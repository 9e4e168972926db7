"""Generated kernels beside PyTorch's ops, both on one thread, over a million elements.

    python benchmarks/kernels.py [part of a name ...]

needs llvmlite, NumPy and PyTorch, not the built runtime. Times are the least of
interleaved rounds; a ratio above 1 means that ours is faster. PyTorch's time includes
its dispatch and ours the call through ctypes, a microsecond or two each.

Measured on two shared Cascade Lake cores at 2.5 GHz, AVX-512, PyTorch 2.13, ratios:

    add 1.0          expm1 2.6    erf 0.9      sum last, dim 0    1.1 1.3
    exp 0.95-1.0     log1p 1.4    pow 1.1      max last, dim 0    1.3 1.2
    log 0.75         atan 1.2     erfinv 0.3   argmax last, dim 0 4.0 4.4
    tanh 0.95        sinh 2.5     fmod 2.1     softmax            0.8-6
    sin, cos 0.9-1.0 asinh 3.9    digamma 2.0  cumsum, dim 0      1.7 4.7
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

from pellucid_compiler.codegen.kernel import (
    Kernel,
    Map,
    Reduce,
    RowMap,
    RowReduce,
    Rows,
    Scan,
)
from pellucid_compiler.codegen.targets.x86 import host_target
from pellucid_compiler.ir.expr import load, make, sym
from pellucid_compiler.pack.generate import compile_kernel
from pellucid_compiler.pack.jit import Executable

F32 = "float32"
SIDE = 1024
COUNT = SIDE * SIDE
X, Y = load(0, (), F32), load(1, (), F32)
Call = Callable[[], Any]


def prepared(
    kernel: Kernel, arrays: list[Any], sizes: list[int], strides: list[int]
) -> Call:
    """The compiled kernel bound to arrays, outputs first."""
    executable = Executable(compile_kernel(kernel, host_target()))
    function = executable.function(ctypes.c_int64, *[ctypes.c_void_p] * 4)
    data = np.array([a.ctypes.data for a in arrays], "uint64")
    blocks = [data, np.array(sizes), np.array(strides), np.zeros(4, "uint64")]
    places = [ctypes.c_void_p(block.ctypes.data) for block in blocks]
    return lambda keep=(blocks, arrays): function(*places)


def least_times(calls: list[Call], seconds: float = 0.4) -> list[float]:
    """The least time of each call, in seconds."""
    best = [float("inf")] * len(calls)
    for call in calls:
        call()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[k] = min(best[k], time.perf_counter() - start)
    return best


def report(name: str, ours: Call, theirs: Call) -> None:
    if len(sys.argv) > 1 and not any(part in name for part in sys.argv[1:]):
        return
    mine, other = least_times([ours, theirs])
    figures = f"{mine * 1e6:9.1f} us  torch {other * 1e6:9.1f}"
    print(f"{name:16} {figures}  {other / mine:5.2f}", flush=True)


def pointwise(x: Any, out: Any) -> None:
    """Elementary functions of one operand, and of two."""
    positive = np.abs(x) + np.float32(0.01)
    result = torch.empty(COUNT)
    domains = {"log": positive, "log1p": positive, "lgamma": positive}
    domains |= {"digamma": positive, "erfinv": x / 8, "sqrt": positive}
    names = "exp log tanh sin cos erf expm1 log1p tan atan asinh sinh sqrt"
    for name in [*names.split(), "lgamma", "digamma", "erfinv"]:
        values = domains.get(name, x)
        kernel = Kernel(Map((make(name, X),)), (F32,), (F32,))
        ours = prepared(kernel, [out, values], [COUNT, 1], [4, 0] * 2)
        function, tensor = getattr(torch, name), torch.tensor(values)
        report(name, ours, lambda f=function, t=tensor: f(t, out=result))
    first, second = torch.tensor(positive), torch.tensor(x)
    for name in ("add", "pow", "fmod"):
        kernel = Kernel(Map((make(name, X, Y),)), (F32, F32), (F32,))
        ours = prepared(kernel, [out, positive, x], [COUNT, 1], [4, 0] * 3)
        function = getattr(torch, name)
        report(name, ours, lambda f=function: f(first, second, out=result))


def reductions(x: Any, out: Any) -> None:
    """Rows and columns of a square matrix."""
    square = torch.tensor(x).reshape(SIDE, SIDE)
    index = np.zeros(SIDE, "int64")
    layouts = {"last": [4 * SIDE, 4], "dim 0": [4, 4 * SIDE]}
    for dim, (layout, steps) in zip((1, 0), layouts.items(), strict=True):
        for name, function in (("sum", torch.sum), ("max", torch.amax)):
            kernel = Kernel(Reduce(X, name, F32), (F32,), (F32,))
            ours = prepared(kernel, [out, x], [SIDE, SIDE], [4, 0, *steps])
            report(f"{name} {layout}", ours, lambda f=function, d=dim: f(square, dim=d))
        kernel = Kernel(Reduce(X, "argmax", F32), (F32,), (F32, "int64"), ("int64",))
        ours = prepared(kernel, [out, index, x], [SIDE] * 2, [4, 0, 8, 0, *steps])
        report(f"argmax {layout}", ours, lambda d=dim: torch.max(square, dim=d))


def rows_and_scans(out: Any) -> None:
    passes = (
        RowReduce(X, "max", F32),
        RowReduce(make("exp", X - sym("r0", F32)), "sum", F32),
        RowMap(make("exp", X - sym("r0", F32)) / sym("r1", F32), 0),
    )
    softmax = Kernel(Rows(passes), (F32,), (F32,))
    random = np.random.default_rng(0)
    for rows, columns in ((SIDE, SIDE), (8192, 64), (65536, 10)):
        x = random.normal(size=(rows, columns)).astype(F32)
        tensor = torch.tensor(x)
        ours = prepared(softmax, [out, x], [columns, rows], [4, 4 * columns] * 2)
        report(f"softmax {columns}", ours, lambda t=tensor: torch.softmax(t, 1))
    cumsum = Kernel(Scan(X, "sum", F32), (F32,), (F32,))
    x = random.normal(size=(SIDE, SIDE)).astype(F32)
    flat, square = torch.tensor(x).reshape(-1), torch.tensor(x)
    ours = prepared(cumsum, [out, x], [COUNT, 1], [4, 0] * 2)
    report("cumsum", ours, lambda: torch.cumsum(flat, 0))
    ours = prepared(cumsum, [out, x], [SIDE, SIDE], [4 * SIDE, 4] * 2)
    report("cumsum dim 0", ours, lambda: torch.cumsum(square, 0))


def main() -> None:
    torch.set_num_threads(1)
    x = np.random.default_rng(0).normal(size=COUNT).astype(F32)
    out = np.zeros(COUNT, F32)
    pointwise(x, out)
    reductions(x, out)
    rows_and_scans(out)


if __name__ == "__main__":
    main()
