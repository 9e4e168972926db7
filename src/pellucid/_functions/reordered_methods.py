"""Methods of Tensor whose arguments have another order than their functions'.

Imported lazily (``_package/calls/offered.py``).
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid._package.calls import offered
from pellucid._tensor import Tensor


@offered.method
def polygamma(self: Tensor, n: int) -> Tensor:
    """The derivative of order ``n`` of digamma."""
    return pellucid.polygamma(n, self)


@offered.method
def polygamma_(self: Tensor, n: int) -> Tensor:
    """``polygamma`` in place."""
    written: Tensor = pellucid.ops.aten.polygamma_(self, n)
    return written


@offered.method
def norm(
    self: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Tensor:
    """The p-norm of the elements over `dim`."""
    return pellucid.norm(self, p, dim, keepdim, dtype=dtype)


@offered.method
def where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """``self`` where ``condition``, else ``other``: the function puts it second."""
    return pellucid.where(condition, self, other)
