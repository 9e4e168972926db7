"""What a kernel returns: 0, or a code and a detail in one 64-bit number.

``runtime/kernels/kernel_ref.h`` takes it apart. Written by ``schedules/nest.py`` and
``schedules/map.py``.
"""

from __future__ import annotations

OUT_OF_BOUNDS = 1
ZERO_DIVISION = 2
REQUIREMENT_FAILED = 3

CODE_SHIFT = 48


def status(code: int, detail: int = 0) -> int:
    """The number a kernel returns for a failure."""
    return code << CODE_SHIFT | detail
