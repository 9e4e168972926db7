"""``range``, the way to count before ``arange``.

Imported lazily.
"""

from __future__ import annotations

from typing import Any

from pellucid import _C, Tensor
from pellucid._package.calls import offered
from pellucid._package.calls.deprecation import deprecated

_range, _range_into = _C._op_named("range.step"), _C._op_named("range.out")


@offered.function
def range(
    start: float = 0, end: float | None = None, step: float = 1, **options: Any
) -> Tensor:
    """``arange`` with its end included, in the default float dtype."""
    deprecated("torch.range", "torch.arange, which leaves the end out")
    if end is None:
        raise TypeError("range() needs start and end: torch.range(0, 4)")
    form = _range if options.get("out") is None else _range_into
    result: Tensor = form(start, end, step, **options)
    return result
