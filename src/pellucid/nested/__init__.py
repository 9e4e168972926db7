"""Nested tensors: batches of examples with different sizes.

The jagged layout has one ragged dim and stores all rows contiguously; in the strided
layout the examples may differ in every dim. ``docs/nested.md`` describes how ops work
on them.
"""

from __future__ import annotations

from pellucid.nested._ops.construct import (
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
)
from pellucid.nested._ops.methods import to_padded

to_padded_tensor = to_padded

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]
