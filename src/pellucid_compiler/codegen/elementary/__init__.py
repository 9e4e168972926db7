"""Elementary functions in the kernel language, to 2 ulp or better over all arguments.

Each is a Python function of a builder and vectors of float32 or float64; it works at
any width and calls no library. ``FUNCTIONS`` names those that are scalar ops.
``tests/compiler/test_elementary.py`` states and measures every bound. Read next:
``floats.py``, ``exponential.py``; ``tools/fit_elementary.py`` computes the
coefficients.
"""

from __future__ import annotations

from collections.abc import Callable

from pellucid_compiler.codegen.builder import Value
from pellucid_compiler.codegen.elementary import (
    circular,
    error,
    exponential,
    gamma,
    logarithm,
)
from pellucid_compiler.codegen.elementary.power import power, uniform_power
from pellucid_compiler.codegen.elementary.remainder import (
    floor_divide,
    remainder,
    truncated_remainder,
)

FUNCTIONS: dict[str, Callable[..., Value]] = {
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "sinh": exponential.sinh,
    "cosh": exponential.cosh,
    "tanh": exponential.tanh,
    "log": logarithm.log,
    "log2": logarithm.log2,
    "log10": logarithm.log10,
    "log1p": logarithm.log1p,
    "asinh": logarithm.asinh,
    "acosh": logarithm.acosh,
    "atanh": logarithm.atanh,
    "sin": circular.sin,
    "cos": circular.cos,
    "tan": circular.tan,
    "asin": circular.asin,
    "acos": circular.acos,
    "atan": circular.atan,
    "atan2": circular.atan2,
    "erf": error.erf,
    "erfc": error.erfc,
    "erfinv": error.erfinv,
    "lgamma": gamma.lgamma,
    "digamma": gamma.digamma,
    "trigamma": gamma.trigamma,
    "sqrt": lambda f, x: f.unary("sqrt", x),
    "rsqrt": lambda f, x: 1.0 / f.unary("sqrt", x),
}

__all__ = [
    "FUNCTIONS",
    "floor_divide",
    "power",
    "remainder",
    "truncated_remainder",
    "uniform_power",
]
