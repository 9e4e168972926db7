"""Methods of Tensor that PyTorch keeps for older programs or for other devices.

Imported when first asked for; see ``_later.py``.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid._tensor import Tensor


def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of this one's dtype: of these sizes (not filled), with this data, or
    seeing another tensor's elements.
    """
    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0].detach()
    if len(args) == 1 and not isinstance(args[0], int | pellucid.Size):
        return self.new_tensor(args[0], device=device)
    sizes = args[0] if args and isinstance(args[0], pellucid.Size) else args
    return self.new_empty(sizes or (0,), device=device)


def new_empty_strided(
    self: Tensor, size: Any, stride: Any, dtype: Any = None, **options: Any
) -> Tensor:
    """Not filled, with these sizes and strides, of this tensor's dtype unless given."""
    return pellucid.empty_strided(size, stride, dtype=dtype or self.dtype, **options)


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Raises RuntimeError: pages are pinned for an accelerator, and there is none."""
    raise RuntimeError(
        "memory is pinned for copies to an accelerator, and there is none here: leave "
        "pin_memory out"
    )


def to_dense(self: Tensor, dtype: Any = None, **options: Any) -> Tensor:
    """The tensor itself, in ``dtype`` if given: it is dense already."""
    return self if dtype is None else self.to(dtype)


def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dims from the one with the largest steps in memory to that with the least."""
    strides = self.stride()
    if ambiguity_check and len({*strides}) < self.dim():
        raise RuntimeError(f"the strides {strides} leave the order of the dims open")
    return tuple(sorted(range(self.dim()), key=lambda d: -strides[d]))


def is_distributed(self: Tensor) -> bool:
    """False: tensors are on one machine."""
    return False


def is_coalesced(self: Tensor) -> bool:
    """Raises RuntimeError: only sparse tensors have entries to coalesce."""
    raise RuntimeError(f"is_coalesced is asked of sparse tensors, not {self.layout}")
