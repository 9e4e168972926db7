"""The gate of ops that have no complex form, although their formulas would give one.

Called first thing in the bodies of such ops. Ops that compare or round refuse complex
numbers by themselves: see ``ir/complex_parts.py``.
"""

from pellucid.lang import require


def require_real(name, *operands):
    """Raises NotImplementedError, as PyTorch does, where an operand is complex."""
    for x in operands:
        require(
            not x.dtype.startswith("complex"),
            f'"{name}" not implemented for {x.dtype} tensors: take abs(), real or imag '
            "first",
            error=NotImplementedError,
        )
