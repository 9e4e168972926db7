"""Cost of calls that __torch_function__ or __torch_dispatch__ sees, beside PyTorch.

    python benchmarks/overrides.py [--record]

Nanoseconds for ``a + b`` of two 4x4 float32 tensors: without and with an override
that calls the function it receives. PyTorch is measured if it is installed.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import results

REPEATS, CALLS = 300, 200


def measure(function: Callable[[], object]) -> float:
    """The best of some repetitions, in nanoseconds a call."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter_ns()
        for _ in range(CALLS):
            function()
        best = min(best, (time.perf_counter_ns() - start) / CALLS)
    return best


def cases(torch: Any, package: str) -> Iterator[tuple[str, Any, Any, Any]]:
    """(name, left, right, scope) of every kind of override."""
    overrides = importlib.import_module(f"{package}.overrides")
    dispatch = importlib.import_module(f"{package}.utils._python_dispatch")

    class FunctionMode(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    class DispatchMode(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    class Foreign:
        def __init__(self, value):
            self.value = value

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*[getattr(a, "value", a) for a in args])

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, elem):
            return torch.Tensor._make_wrapper_subclass(cls, (4, 4))

        def __init__(self, elem):
            self.elem = elem

        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*[getattr(a, "elem", a) for a in args])

    a, b = torch.ones(4, 4), torch.ones(4, 4)
    yield "plain", a, b, nullcontext()
    yield "__torch_function__ of an object", Foreign(a), b, nullcontext()
    yield "TorchFunctionMode", a, b, FunctionMode()
    yield "__torch_dispatch__ of a wrapper", Wrapper(a), b, nullcontext()
    yield "TorchDispatchMode", a, b, DispatchMode()


def figures(package: str) -> dict[str, float]:
    """Nanoseconds by case."""
    torch = importlib.import_module(package)
    times = {}
    for name, left, right, scope in cases(torch, package):
        with scope:
            times[name] = measure(lambda a=left, b=right: torch.add(a, b))
    return times


def rounded(nanoseconds: dict[str, float]) -> dict[str, float]:
    """Seconds, of three digits."""
    return {name: float(f"{value * 1e-9:.3g}") for name, value in nanoseconds.items()}


def main() -> int:
    """Prints the table; with ``--record`` writes it to ``results.json``."""
    ours = figures("pellucid")
    try:
        theirs = figures("torch")
    except ImportError:
        theirs = {}
    print(f"{'':34}{'pellucid':>10}{'torch':>10}  (ns)")
    for name, value in ours.items():
        other = f"{theirs[name]:10.0f}" if name in theirs else ""
        print(f"{name:34}{value:10.0f}{other}")
    if "--record" in sys.argv:
        load = f"{os.getloadavg()[1]:.1f} processes on {os.cpu_count()} cores"
        values = {"pellucid": rounded(ours), "torch": rounded(theirs)}
        results.record("overrides", values, load=load)
    return 0


if __name__ == "__main__":
    sys.exit(main())
