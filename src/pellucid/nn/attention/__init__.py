"""``torch.nn.attention``: selection of attention backends, and flexible attention.

``scaled_dot_product_attention`` has one implementation. It is exact and stores no
scores, so it serves as both ``MATH`` and ``FLASH_ATTENTION``.
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
    """Restricts attention to ``backends``. Raises RuntimeError if none of them is
    supported: ``MATH`` and ``FLASH_ATTENTION`` are.
    """
    named = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not any(backend in _OFFERED for backend in named):
        names = ", ".join(backend.name for backend in named)
        raise RuntimeError(
            f"sdpa_kernel: none of {names or 'no backends'} runs here: allow MATH too"
        )
    yield
