"""``special``: special functions of elements, all of them declared ops
(``catalogue/special.py``, ``catalogue/bessel.py``, ``composites/polynomials.py``) or
second names of ops. Imported lazily.
"""

import typing as _typing

from pellucid._C import _special

globals().update(
    {name: found for name, found in vars(_special).items() if name[:2] != "__"}
)

if _typing.TYPE_CHECKING:  # what the op table gives
    from pellucid._C._op_types.special import *
