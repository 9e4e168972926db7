"""``unique`` and ``unique_consecutive``, whose results depend on the arguments."""

from __future__ import annotations

import pellucid
from pellucid import _C
from pellucid._package.calls import offered
from pellucid._tensor import Tensor

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any


@offered.function
@offered.method
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements in order; the index of each element among them, and counts.

    Along ``dim`` whole slices are compared.
    """
    if dim is None:
        found = pellucid._unique2(input, sorted, return_inverse, return_counts)
    else:
        op = _C._op_named("unique_dim")
        found = op(input, dim, sorted, return_inverse, return_counts)
    parts = [found[0]]
    parts += [found[1]] if return_inverse else []
    parts += [found[2]] if return_counts else []
    return parts[0] if len(parts) == 1 else tuple(parts)


@offered.function
@offered.method
def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """``input`` without elements (slices along ``dim``) that equal the previous one."""
    op = _C._op_named("unique_consecutive")
    found = op(input, return_inverse, return_counts, dim)
    parts = found[: 1 + return_inverse]
    parts += found[2:] if return_counts else ()
    return parts[0] if len(parts) == 1 else parts
