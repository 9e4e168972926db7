"""The gates of ops that take no complex numbers, no bools or no integers, though their
formulas would give something for them.

Called first thing in the bodies of such ops. Ops that compare or round refuse complex
numbers by themselves: see ``ir/complex_parts.py``.
"""

from pellucid_compiler.declare import require
from pellucid_compiler.ir.dtypes import is_float

# For ``refuses=``: integers but int64, for which alone PyTorch has kernels.
NARROW = ("int32", "int16", "int8", "uint8", "bool")
# Integers but bytes, of which images are.
ALL_BUT_BYTES = ("int64", "int32", "int16", "int8", "bool")


def require_real(name, *operands):
    """Raises NotImplementedError, as PyTorch does, where an operand is complex."""
    for x in operands:
        require(
            not x.dtype.startswith("complex"),
            f'"{name}" not implemented for {x.dtype} tensors: take abs(), real or imag '
            "first",
            error=NotImplementedError,
        )


def require_float(name, x):
    """Raises NotImplementedError, as PyTorch does, for integers and bools.

    Beside them a coefficient is an integer too: a slope of 0.01 would be 0.
    """
    require(
        is_float(x.dtype),
        f'"{name}" not implemented for {x.dtype} tensors: convert with .float() first',
        error=NotImplementedError,
    )


def require_same_dtype(name, x, *others):
    """Raises RuntimeError, as PyTorch does, where operands that are not promoted have
    another dtype than ``x``.
    """
    for other in others:
        require(
            other.dtype == x.dtype,
            f"{name} takes tensors of one dtype, not of {x.dtype} and {other.dtype}: "
            "convert one with .to()",
        )


def refuse_bool(name, x):
    """Raises RuntimeError, as PyTorch does, for bools."""
    require(
        x.dtype != "bool",
        f"{name} does not take bools: convert with .to(torch.int64) or .float()",
    )
