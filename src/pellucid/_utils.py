"""Lists of tensors as one tensor and back, for libraries that send them together;
and the functions that pickles of PyTorch call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

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


def __getattr__(name: str) -> Any:
    """What PyTorch's pickles name, imported lazily."""
    if not name.startswith("_rebuild_"):
        raise AttributeError(f"module 'pellucid._utils' has no attribute {name!r}")
    from pellucid.serialization._format.archive import constructors

    found = constructors().get(f"torch._utils {name}")
    if found is None:
        raise AttributeError(f"module 'pellucid._utils' has no attribute {name!r}")
    return found
