"""Functions of the package that few call: ``empty_permuted``, ``get_device``, ...

Imported when first asked for. ``_older_methods.py`` holds their like on Tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import Tensor

spmm = dsmm = pellucid.mm


def get_device(input: Tensor) -> int:
    """The number of the tensor's device; -1 for the CPU."""
    return int(input.get_device())


def is_distributed(input: Tensor) -> bool:
    """Always False: no tensor is spread over processes."""
    return False


def empty_permuted(
    size: Sequence[int], physical_layout: Sequence[int], **options: Any
) -> Tensor:
    """A tensor without values whose dims lie in memory in the order
    ``physical_layout``, the last one densely.
    """
    if sorted(physical_layout) != list(range(len(size))):
        raise RuntimeError(
            f"empty_permuted: {list(physical_layout)} is no order of {len(size)} dims"
        )
    dense = pellucid.empty([size[d] for d in physical_layout], **options)
    places = [list(physical_layout).index(d) for d in range(len(size))]
    return dense.permute(places)
