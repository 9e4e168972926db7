"""Questions about tensors that programs ask rarely, and an old way to count.

Imported when first asked for.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._calls.deprecation import deprecated


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return input.is_signed()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the shapes are equal."""
    return input.shape == other.shape


def range(
    start: float = 0, end: float | None = None, step: float = 1, **options: Any
) -> Tensor:
    """``arange`` with its end included, in the default float dtype."""
    deprecated("torch.range", "torch.arange, which leaves the end out")
    if end is None:
        raise TypeError("range() needs start and end: torch.range(0, 4)")
    if step == 0 or (end - start) / step < 0:
        raise RuntimeError(
            f"range() does not get from {start} to {end} in steps {step}"
        )
    steps = pellucid.arange(int((end - start) / step) + 1)
    options.setdefault("dtype", pellucid.get_default_dtype())
    dtype = options.pop("dtype")
    return (start + steps * step).to(dtype=dtype, **options)
