"""The gates of ops that take no complex numbers, or no bools, though their formulas
would give something for them.

Called first thing in the bodies of such ops. Ops that compare or round refuse complex
numbers by themselves: see ``ir/complex_parts.py``.
"""

from pellucid_compiler.declare import require


def require_real(name, *operands):
    """Raises NotImplementedError, as PyTorch does, where an operand is complex."""
    for x in operands:
        require(
            not x.dtype.startswith("complex"),
            f'"{name}" not implemented for {x.dtype} tensors: take abs(), real or imag '
            "first",
            error=NotImplementedError,
        )


def refuse_bool(name, x):
    """Raises RuntimeError, as PyTorch does, for bools."""
    require(
        x.dtype != "bool",
        f"{name} does not take bools: convert with .to(torch.int64) or .float()",
    )
