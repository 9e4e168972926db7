"""Questions about all elements of a condition, for checks of arguments.

Under ``vmap`` a tensor has no truth of its own; here it counts for all examples. Called
by the draws, ``linalg`` and ``distributions`` before they raise.
"""

from __future__ import annotations

from pellucid import _C
from pellucid._tensor import Tensor


def everywhere(condition: Tensor) -> bool:
    """Whether every element is true, of every example."""
    return bool(_plain(condition).all())


def anywhere(condition: Tensor) -> bool:
    """Whether some element is true, of some example."""
    return bool(_plain(condition).any())


def _plain(tensor: Tensor) -> Tensor:
    while (found := _C._unwrap(tensor)) is not None:
        tensor = found[1]
    return tensor
