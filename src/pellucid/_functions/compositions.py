"""Functions that are compositions of ops, as they are in PyTorch: distances,
combinations.

They have no kernels of their own; gradients follow from what they call. Used by
``pellucid/__init__.py`` through ``__all__``; those in ``_METHODS`` are methods of
Tensor too. Read next: ``shapes.py``, ``products.py``.
"""

from __future__ import annotations

import pellucid
from pellucid import _C
from pellucid._tensor import Tensor

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "unique_consecutive",
    "unravel_index",
]

_METHODS = ("unique_consecutive",)


def _functional() -> Any:
    from pellucid.nn import functional

    return functional


def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """``input`` without elements (slices along ``dim``) that equal the one before."""
    op = _C._op_named("unique_consecutive")
    found = op(input, return_inverse, return_counts, dim)
    parts = found[: 1 + return_inverse]
    parts += found[2:] if return_counts else ()
    return parts[0] if len(parts) == 1 else parts


# Combinations of elements


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Flat places in a tensor of ``shape`` as one index tensor per dim."""
    sizes = [shape] if isinstance(shape, int) else [int(n) for n in shape]
    found = []
    for size in reversed(sizes):
        found.append(indices % size)
        indices = indices // size
    return tuple(reversed(found))


def _where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """``self`` where ``condition``, else ``other``: the function puts it second."""
    return pellucid.where(condition, self, other)


Tensor.where = _where  # type: ignore[assignment, method-assign]
for _name in _METHODS:
    setattr(Tensor, _name, globals()[_name])
