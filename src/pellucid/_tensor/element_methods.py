"""Methods of Tensor that apply a Python function to each element.

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
    """Replaces each element ``x`` by ``function(x)``: slow, one Python call each."""
    return map2_(self, None, None, function)


@offered.method
def map_(self: Tensor, other: Tensor, function: Callable[[Any, Any], Any]) -> Tensor:
    """Replaces each element by ``function`` of it and the element of ``other``."""
    return map2_(self, other, None, function)


@offered.method
def map2_(
    self: Tensor,
    x: Tensor | None,
    y: Tensor | None,
    function: Callable[..., Any],
) -> Tensor:
    """Replaces each element by ``function`` of it and the elements of ``x`` and ``y``,
    which broadcast to this tensor. Raises RuntimeError if gradients are recorded.
    """
    if self.requires_grad and pellucid.is_grad_enabled():
        raise RuntimeError(
            "an elementwise Python function has no gradient: detach the tensor"
        )
    others = [t.expand(self.shape) for t in (x, y) if t is not None]
    columns = [t.detach().flatten().tolist() for t in (self, *others)]
    values = [function(*row) for row in zip(*columns, strict=True)]
    with pellucid.no_grad():
        self.copy_(pellucid.tensor(values, dtype=self.dtype).view(self.shape))
    return self
