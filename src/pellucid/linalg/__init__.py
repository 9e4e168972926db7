"""``linalg``: linear algebra on matrices and batches of them.

The factorizations run by library routines (``catalogue/factorizations.py``,
``catalogue/inverses.py``); what stands here checks what the routines report and
composes the rest from ops, so that gradients follow. Imported when first
asked for. Read ``_decompositions.py``, ``_solutions.py`` and ``_norms.py`` next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pellucid._C import _linalg
from pellucid._calls.overridable import make_overridable
from pellucid.linalg._decompositions import *
from pellucid.linalg._errors import LinAlgError as LinAlgError
from pellucid.linalg._ldl import *
from pellucid.linalg._norms import *
from pellucid.linalg._products import *
from pellucid.linalg._solutions import *

make_overridable(globals())


def __getattr__(name: str) -> Any:
    op = getattr(_linalg, name, None)
    if op is None or name.startswith("__"):
        raise AttributeError(
            f"module 'pellucid.linalg' has no attribute {name!r}: either PyTorch has "
            "no such name, or Pellucid does not offer it yet"
        )
    globals()[name] = op
    return op


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_linalg)})


if TYPE_CHECKING:  # what the op table gives; `__getattr__` finds it
    from pellucid._op_types.linalg import *
