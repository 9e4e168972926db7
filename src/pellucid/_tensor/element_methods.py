"""Methods of Tensor that write elements: Python functions of each, diagonals, norms.

Imported lazily (``_package/calls/offered.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid._package.calls import offered
from pellucid._tensor import Tensor


@offered.method
def apply_(self: Tensor, function: Callable[[Any], Any]) -> Tensor:
    """Replaces each element by ``function`` of it: slow, one call of Python each."""
    return map2_(self, None, None, function)


@offered.method
def map_(self: Tensor, other: Tensor, function: Callable[[Any, Any], Any]) -> Tensor:
    """Replaces each element by ``function`` of it and that of ``other``."""
    return map2_(self, other, None, function)


@offered.method
def map2_(
    self: Tensor,
    x: Tensor | None,
    y: Tensor | None,
    function: Callable[..., Any],
) -> Tensor:
    """Replaces each element by ``function`` of it and those of ``x`` and ``y``, which
    broadcast to this tensor. Raises RuntimeError if gradients are recorded.
    """
    if self.requires_grad and pellucid.is_grad_enabled():
        raise RuntimeError(
            "a Python function of each element has no gradient: detach the tensor"
        )
    others = [t.expand(self.shape) for t in (x, y) if t is not None]
    columns = [t.detach().flatten().tolist() for t in (self, *others)]
    values = [function(*row) for row in zip(*columns, strict=True)]
    with pellucid.no_grad():
        self.copy_(pellucid.tensor(values, dtype=self.dtype).view(self.shape))
    return self


@offered.method
def polygamma(self: Tensor, n: int) -> Tensor:
    """The derivative of order ``n`` of digamma."""
    return pellucid.polygamma(n, self)


@offered.method
def polygamma_(self: Tensor, n: int) -> Tensor:
    """``polygamma`` in place."""
    return self.copy_(pellucid.polygamma(n, self))


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
