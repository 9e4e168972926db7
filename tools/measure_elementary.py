"""Measures the errors of the elementary functions, far more densely than the tests.

Every float32 (or every ``--step``-th) is passed to the kernel, and the result compared
with a float64 function of NumPy or SciPy; the largest error in ulp is printed with its
argument. At step 1 a function takes minutes. Needs SciPy.

    python tools/measure_elementary.py exp sin --step 101
"""

from __future__ import annotations

import argparse
import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from pellucid_compiler.codegen.kernel import Kernel, Map
from pellucid_compiler.codegen.targets.x86 import host_target
from pellucid_compiler.ir.expr import load, make
from pellucid_compiler.pack.generate import compile_kernel
from pellucid_compiler.pack.jit import Executable

CHUNK = 1 << 20
REFERENCES: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log,
    "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "erf": special.erf, "erfc": special.erfc, "erfinv": special.erfinv,
    "digamma": special.digamma, "sqrt": np.sqrt, "lgamma": special.gammaln,
}  # fmt: skip


def function_of(name: str) -> Callable[[Any], Any]:
    """The compiled float32 function on arrays."""
    body = make(name, load(0, (), "float32"))
    kernel = Kernel(Map((body,)), ("float32",), ("float32",))
    executable = Executable(compile_kernel(kernel, host_target()))
    call = executable.function(ctypes.c_int64, *[ctypes.c_void_p] * 4)

    def apply(x: Any) -> Any:
        out = np.empty_like(x)
        data = np.array([out.ctypes.data, x.ctypes.data], "uint64")
        sizes, strides = np.array([x.size, 1]), np.array([4, 0, 4, 0])
        call(data.ctypes.data, sizes.ctypes.data, strides.ctypes.data, None)
        return out

    return apply


def errors_in_ulp(got: Any, exact: Any) -> Any:
    """The distance from the exact value; infinite if only one of them is finite."""
    with np.errstate(all="ignore"):
        rounded = exact.astype("float32")
        exponent = np.frexp(np.abs(exact))[1] - 24
        unit = np.ldexp(1.0, np.maximum(exponent, -149))
        error = np.abs(got.astype("float64") - exact) / unit
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    finite = np.isfinite(got) & np.isfinite(exact)
    return np.where(finite, error, np.where(same, 0.0, np.inf))


def measure(name: str, step: int) -> tuple[float, float]:
    """The largest error and the argument it occurs at."""
    apply, reference = function_of(name), REFERENCES[name]
    worst, place = 0.0, 0.0
    for start in range(0, 1 << 32, CHUNK * step):
        bits = np.arange(start, min(start + CHUNK * step, 1 << 32), step, "uint64")
        x = bits.astype("uint32").view("float32")
        with np.errstate(all="ignore"):
            errors = errors_in_ulp(apply(x), reference(x.astype("float64")))
        k = int(np.argmax(errors))
        if errors[k] > worst:
            worst, place = float(errors[k]), float(x[k])
    return worst, place


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="functions; all of them by default")
    parser.add_argument("--step", type=int, default=1009)
    arguments = parser.parse_args()
    for name in arguments.names or REFERENCES:
        worst, place = measure(name, arguments.step)
        print(f"{name:8} {worst:7.3f} ulp at {place!r}", flush=True)


if __name__ == "__main__":
    main()
