"""``special``: special functions of elements, all of them declared ops
(``catalogue/special.py``, ``catalogue/bessel.py``, ``composites/polynomials.py``) or
second names of ops. Imported lazily.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid._C import _special

globals().update(
    {name: found for name, found in vars(_special).items() if name[:2] != "__"}
)

if TYPE_CHECKING:  # what the op table gives
    from pellucid._C._op_types.special import *
