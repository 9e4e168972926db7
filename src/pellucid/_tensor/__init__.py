"""``torch._tensor``: the Tensor class and its parts written in Python.

Read ``tensor.py`` first.
"""

from __future__ import annotations

from pellucid._tensor.tensor import Tensor as Tensor

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    """Names in pickles, imported lazily."""
    names = (
        "_SharedStorage",
        "_rebuild_from_type_v2",
        "_rebuild_subclass",
        "_rebuild_tensor",
        "rebuild_wrapper",
    )
    if name not in names:
        raise AttributeError(f"module 'pellucid._tensor' has no attribute {name!r}")
    from pellucid._tensor import copying

    return getattr(copying, name)
