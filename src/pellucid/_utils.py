"""Lists of tensors as one tensor and back, for libraries that send them together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pellucid
from pellucid import Tensor


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements in a row: a 1-d tensor. The tensors have one dtype."""
    return pellucid.cat([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(
    flat: Tensor, tensors: Iterable[Tensor]
) -> tuple[Tensor, ...]:
    """Views of ``flat`` of the shapes of ``tensors``, one behind the other."""
    shapes = [t.shape for t in tensors]
    parts = flat.split([shape.numel() for shape in shapes])
    return tuple(p.view(shape) for p, shape in zip(parts, shapes, strict=True))
