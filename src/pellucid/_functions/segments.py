"""``segment_reduce`` by the name that libraries call. It is no alias of the declaration
(``composites/segments.py``), since PyTorch has no op of the name, only the function.

Imported lazily.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._package.calls import offered


@offered.function
def _segment_reduce(data: Tensor, reduce: str, **options: Any) -> Tensor:
    """``torch.segment_reduce`` by the name that libraries call."""
    return pellucid.segment_reduce(data, reduce, **options)
