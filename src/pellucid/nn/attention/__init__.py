"""``torch.nn.attention``: which implementation attention may use, and flexible forms.

There is one implementation of ``scaled_dot_product_attention``; it is the exact
one (``MATH``) and for the one that saves no scores (``FLASH_ATTENTION``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(IntEnum):
    """PyTorch's implementations of attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_OFFERED = (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION)


@contextmanager
def sdpa_kernel(
    backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False
) -> Iterator[None]:
    """Attention may use ``backends`` alone. Raises RuntimeError if none of them is
    offered: ``MATH`` and ``FLASH_ATTENTION`` are.
    """
    named = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not any(backend in _OFFERED for backend in named):
        names = ", ".join(backend.name for backend in named)
        raise RuntimeError(
            f"sdpa_kernel: of {names or 'no backend'} none runs here: allow MATH too"
        )
    yield
