"""The status a kernel returns: 0, or a code and a detail in one 64-bit number.

``runtime/kernels/kernel_ref.h`` takes it apart. Written by ``schedules/nest.py`` and
``schedules/map.py``; in checked mode by ``checked.py``.
"""

from __future__ import annotations

import os

from pellucid_compiler.abi.codes import STATUS
from pellucid_compiler.abi.limits import STATUS_SHIFT

OUT_OF_BOUNDS = STATUS["out_of_bounds"]
ZERO_DIVISION = STATUS["zero_division"]
REQUIREMENT_FAILED = STATUS["requirement"]
OUTSIDE_OPERAND = STATUS["outside_operand"]  # only in checked mode


def definitions_file() -> str | None:
    """The file that ``PELLUCID_CHECKED`` names; None outside checked mode.

    It has the kernels of the packs in the form that they are compiled from, as written
    by ``tools/freeze.py --definitions``.
    """
    return os.environ.get("PELLUCID_CHECKED") or None


def status(code: int, detail: int = 0) -> int:
    """The number a kernel returns for a failure."""
    return code << STATUS_SHIFT | detail
