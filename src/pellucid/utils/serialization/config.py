"""Defaults of ``save`` and ``load``.

``config.load`` and ``config.save`` hold the settings under PyTorch's names;
``serialization`` reads them. Only ``load.mmap`` and ``load.endianness`` have an effect:
files are read into memory of their own, checksums are always written, and storages are
packed without alignment.
"""

from __future__ import annotations

from mmap import MAP_PRIVATE
from typing import Any


class load:
    """Settings of ``load``."""

    mmap: bool = False
    endianness: Any = None
    mmap_flags: int | None = MAP_PRIVATE
    calculate_storage_offsets: bool = False


class save:
    """Settings of ``save``."""

    compute_crc32: bool = True
    use_pinned_memory_for_d2h: bool = False
    storage_alignment: int = 64
