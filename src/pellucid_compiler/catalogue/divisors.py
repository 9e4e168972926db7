"""gcd and lcm, computed by NumPy routines because their loops have no fixed length."""

from typing import Any

from pellucid_compiler.declare import (
    ROUTINES,
    Routine,
    broadcast_shapes,
    common_dtype,
    expand_to,
    library,
    library_op,
    require,
    to,
)

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


def _divisor(a: Any, b: Any) -> list[Any]:
    import numpy

    return [numpy.gcd(a, b)]


def _multiple(a: Any, b: Any) -> list[Any]:
    import numpy

    return [numpy.lcm(a, b)]


def _declare(name, evaluate, text):
    @library_op(
        f"{name}(Tensor self, Tensor other) -> Tensor",
        inplace=True,
        inplace_function=True,
        rare=True,
        tags="pointwise",
    )
    def op(a, b):
        """Of two numbers."""
        dtype = common_dtype(a, b)
        require(
            dtype in INTEGERS,
            f"{name}: the numbers have dtype {dtype}; give integers",
            error=NotImplementedError,
        )
        shape = broadcast_shapes(a.shape, b.shape)
        return library(name, *(expand_to(to(t, dtype), shape) for t in (a, b)))[0]

    op.__doc__ = text
    ROUTINES[name] = Routine(
        name, lambda a, b: [(a.shape, a.dtype)], evaluate, core=(0, 0)
    )


_declare(
    "gcd",
    _divisor,
    "The greatest common divisor; never negative.",
)
_declare(
    "lcm",
    _multiple,
    "The least common multiple; 0 if either is.",
)
