"""What a kernel returns: 0, or a code and a detail in one 64-bit number.

``runtime/kernels/kernel_ref.h`` takes it apart. Written by ``schedules/nest.py`` and
``schedules/map.py``; in checked mode by ``checked.py``.
"""

from __future__ import annotations

import os

OUT_OF_BOUNDS = 1
ZERO_DIVISION = 2
REQUIREMENT_FAILED = 3
OUTSIDE_OPERAND = 4  # in checked mode alone

# The detail of OUTSIDE_OPERAND: the operand's number, outputs first, then the element
# (with its sign) and how many there are, both as near as so many bits can say.
OUTSIDE_BITS = 21

CODE_SHIFT = 48


def definitions_file() -> str | None:
    """What ``PELLUCID_CHECKED`` names; None outside checked mode.

    The kernels of the packs, in the form that they are compiled from:
    ``tools/freeze.py --definitions`` writes them."""
    return os.environ.get("PELLUCID_CHECKED") or None


def status(code: int, detail: int = 0) -> int:
    """The number a kernel returns for a failure."""
    return code << CODE_SHIFT | detail
