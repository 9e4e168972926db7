"""``segment_reduce`` by the name that libraries call. The declaration
(``composites/segments.py``) has no alias, since PyTorch's op has one name only.

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
