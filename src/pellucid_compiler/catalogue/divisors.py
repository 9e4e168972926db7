"""Functions of two numbers that NumPy runs: common divisors and multiples, which are
loops without a bound, and the next floating-point number.
"""

from typing import Any

from pellucid_compiler.declare import (
    ROUTINES,
    Routine,
    broadcast_shapes,
    expand_to,
    graph_rule,
    library,
    library_op,
    require,
    to,
    where,
)
from pellucid_compiler.ir.dtypes import promote

FLOATS = ("float32", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


def _divisor(a: Any, b: Any) -> list[Any]:
    import numpy

    return [numpy.gcd(a, b)]


def _multiple(a: Any, b: Any) -> list[Any]:
    import numpy

    return [numpy.lcm(a, b)]


def _neighbour(a: Any, b: Any) -> list[Any]:
    import numpy

    return [numpy.nextafter(a, b)]


def _neighbour_tangents(a, b, neighbour, da, db):
    """As PyTorch has it: a neighbour moves as its number does."""
    return (None if da is None else where(a == b, 0.0, da),)


def _declare(name, evaluate, text, dtypes, wanted, jvp=None):
    @library_op(f"{name}(Tensor self, Tensor other) -> Tensor", inplace=True, rare=True)
    def op(a, b):
        """Of two numbers."""
        for tensor in (a, b):
            require(
                tensor.dtype in dtypes,
                f"{name}: the numbers have dtype {tensor.dtype}; give {wanted}",
                error=NotImplementedError,
            )
        shape = broadcast_shapes(a.shape, b.shape)
        dtype = promote(a.dtype, b.dtype)
        return library(name, *(expand_to(to(t, dtype), shape) for t in (a, b)))[0]

    op.__doc__ = text
    ROUTINES[name] = Routine(name, lambda a, b: [(a.shape, a.dtype)], evaluate, jvp)


_declare(
    "gcd",
    _divisor,
    "The greatest common divisor; never negative.",
    INTEGERS,
    "integers",
)
_declare(
    "lcm",
    _multiple,
    "The least common multiple; 0 if either is.",
    INTEGERS,
    "integers",
)
_declare(
    "nextafter",
    _neighbour,
    "The number after the first on the way to the second.",
    FLOATS,
    "float32 or float64",
    graph_rule(_neighbour_tangents),
)
