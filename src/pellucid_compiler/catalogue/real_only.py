"""Dtype checks for ops that PyTorch does not define for complex numbers, bools or
integers, although their formulas would work.

Called at the beginning of the bodies of such ops. Ops that compare or round refuse
complex numbers without these: see ``ir/complex_parts.py``.
"""

from pellucid_compiler.declare import require
from pellucid_compiler.ir.dtypes import is_float

# For ``refuses=``: integers other than int64, the only one with kernels in PyTorch.
NARROW = ("int32", "int16", "int8", "uint8", "bool")
# Integers other than uint8, the dtype of images.
ALL_BUT_BYTES = ("int64", "int32", "int16", "int8", "bool")


def require_real(name, *operands):
    """Raises NotImplementedError, as PyTorch does, if an operand is complex."""
    for x in operands:
        require(
            not x.dtype.startswith("complex"),
            f'"{name}" not implemented for {x.dtype} tensors: take abs(), real or imag '
            "first",
            error=NotImplementedError,
        )


def require_float(name, x):
    """Raises NotImplementedError, as PyTorch does, for integers and bools.

    A coefficient would become an integer too: a slope of 0.01 would be 0.
    """
    require(
        is_float(x.dtype),
        f'"{name}" not implemented for {x.dtype} tensors: convert with .float() first',
        error=NotImplementedError,
    )


def require_same_dtype(name, x, *others):
    """Raises RuntimeError, as PyTorch does, if operands that are not promoted do not
    have the dtype of ``x``.
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
