"""Operands of masked reductions: a masked tensor as data and mask, dims as a list, a
dtype, and what stands where the mask is false.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import pellucid
from pellucid import Tensor
from pellucid.masked._sparse import broadcast_mask
from pellucid.masked.maskedtensor.core import is_masked_tensor
from pellucid.sparse._ops.parts import is_sparse

_F = TypeVar("_F", bound=Callable[..., Tensor])


def of_present(function: _F) -> _F:
    """A masked function that also takes a masked tensor, whose mask counts, too."""

    @functools.wraps(function)
    def run(
        input: Tensor, *args: Any, mask: Tensor | None = None, **options: Any
    ) -> Tensor:
        if is_masked_tensor(input):
            data, present = input.get_data(), input.get_mask()
            if mask is not None:
                present = present & broadcast_mask(mask, present)
            return function(data, *args, mask=present, **options)
        return function(input, *args, mask=mask, **options)

    return cast(_F, run)


def filled(input: Tensor, mask: Tensor | None, fill: Any, name: str) -> Tensor:
    """``input`` with ``fill`` where the mask is false."""
    if is_sparse(input):
        raise ValueError(
            f"masked {name} expects strided tensor (got {input.layout} tensor)"
        )
    if mask is None:
        return input
    if mask.dim() > input.dim():
        raise IndexError(
            f"masked.{name}: a mask of {mask.dim()} dims does not broadcast to an "
            f"input of {input.dim()}"
        )
    other = pellucid.tensor(fill, dtype=input.dtype, device=input.device)
    return pellucid.where(broadcast_mask(mask, input), input, other)


def all_dims(dim: Any, rank: int) -> list[int]:
    """``dim`` as a list of nonnegative dims; None and () mean all."""
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        return list(range(rank))
    given = [dim] if isinstance(dim, int) else list(dim)
    span = max(rank, 1)
    for d in given:
        if not -span <= d < span:
            raise IndexError(f"dim {d} is out of range for a tensor of {rank} dims")
    found = [d % span for d in given]
    if len(set(found)) != len(found):
        raise RuntimeError(f"dim {given} contains a dimension twice")
    return sorted(found) if rank else []


def as_dtype(input: Tensor, dtype: Any, *, widen: bool = False) -> Tensor:
    """``input`` as ``dtype``; with ``widen``, integers without one as int64."""
    if dtype is not None:
        return input.to(dtype)
    is_small = not input.is_floating_point() and not input.is_complex()
    return input.long() if widen and is_small else input
