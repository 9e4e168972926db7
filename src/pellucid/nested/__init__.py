"""Nested tensors: batches of examples with different sizes.

The jagged layout has one ragged dim and stores all rows contiguously; in the strided
layout the examples may differ in every dim. ``docs/nested.md`` describes how ops work
on them.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid import Tensor
from pellucid.nested._ops.construct import (
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
)

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]


def to_padded_tensor(
    input: Tensor, padding: float, output_size: Sequence[int] | None = None
) -> Tensor:
    """A dense tensor of the examples, padded with ``padding``.

    Example::

        x = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
        torch.nested.to_padded_tensor(x, 0.0)  # (2, 3)
    """
    return input.to_padded_tensor(padding, output_size)
