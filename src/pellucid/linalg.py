"""``linalg``: linear algebra on matrices and batches of them.

Factorizations are ops run by library routines
(``pellucid_compiler/catalogue/factorizations.py``, ``inverses.py``); the rest is
composed of them (``pellucid_compiler/composites/linalg_*.py``). Imported lazily.
"""

import typing as _typing

from pellucid._C import _linalg

if _typing.TYPE_CHECKING:  # names from the op table
    from pellucid._C._op_types.linalg import *


class LinAlgError(RuntimeError):
    """Raised for a matrix that is singular or not positive definite."""


globals().update({n: f for n, f in vars(_linalg).items() if n[0] != "_"})
