"""Functions that are attributes of Tensor. Used by
``pellucid/__init__.py`` through ``__all__``.
"""

from __future__ import annotations

from pellucid._tensor import Tensor

__all__ = ["adjoint"]


def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, the elements conjugated."""
    return input.adjoint()
