"""``linalg``: linear algebra on matrices and batches of them.

Declared here: factorizations run by library routines
(``pellucid_compiler/catalogue/factorizations.py``, ``inverses.py``), the rest is made
of them (``pellucid_compiler/composites/linalg_*.py``). Imported lazily.
"""

import typing as _typing

from pellucid._C import _linalg

if _typing.TYPE_CHECKING:  # what the op table gives
    from pellucid._C._op_types.linalg import *


class LinAlgError(RuntimeError):
    """A matrix that the function does not take: singular, or not positive definite."""


globals().update({n: f for n, f in vars(_linalg).items() if n[0] != "_"})
