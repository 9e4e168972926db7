"""The shape of blocks that conversions give to sparse layers."""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["LinearBlockSparsePattern"]


class LinearBlockSparsePattern:
    """A context in which ``from_float`` makes layers with these blocks; (1, 4) outside.

    >>> from torch.ao.nn.sparse.quantized.utils import LinearBlockSparsePattern
    >>> with LinearBlockSparsePattern(8, 1):
    ...     LinearBlockSparsePattern.block_size()
    (8, 1)
    """

    _chosen = threading.local()

    def __init__(self, row_block_size: int = 1, col_block_size: int = 4) -> None:
        self._size = row_block_size, col_block_size

    def __enter__(self) -> None:
        self._before = self.block_size()
        self._chosen.size = self._size

    def __exit__(self, *_: Any) -> None:
        self._chosen.size = self._before

    @staticmethod
    def block_size() -> tuple[int, int]:
        """(rows, columns) of a block."""
        found: tuple[int, int] = getattr(
            LinearBlockSparsePattern._chosen, "size", (1, 4)
        )
        return found
