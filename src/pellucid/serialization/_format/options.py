"""Global settings for files: byte order, mapping, checksums, skipped data.

``serialization`` exports these functions; ``utils/serialization/config.py`` has the
values.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from enum import Enum
from mmap import MAP_PRIVATE, MAP_SHARED
from typing import Self

from pellucid.utils.serialization import config


class LoadEndianness(Enum):
    """The byte order of files that do not record one."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed for files that do not record one; None: little."""
    found: LoadEndianness | None = config.load.endianness
    return found


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Sets the byte order assumed for files that do not record one. TypeError unless it
    is a LoadEndianness or None.
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError(
            f"the byte order is a LoadEndianness or None, not {endianness!r}"
        )
    config.load.endianness = endianness


def get_crc32_options() -> bool:
    """The setting of ``set_crc32_options``."""
    return config.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Sets whether to compute checksums. They are always written; PyTorch's files
    without checksums can be read.
    """
    config.save.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """The mmap flags of ``load(mmap=True)``."""
    return config.load.mmap_flags


class set_default_mmap_options:
    """Sets the mmap flags of ``load(mmap=True)``; as a context manager restores them.
    ``MAP_SHARED`` raises NotImplementedError: loaded tensors have memory of their own.
    """

    def __init__(self, flags: int) -> None:
        self._before = config.load.mmap_flags
        if flags == MAP_SHARED:
            raise NotImplementedError(
                "set_default_mmap_options: tensors are loaded into memory of their "
                "own, so writes do not reach the file; use mmap.MAP_PRIVATE"
            )
        if flags != MAP_PRIVATE:
            raise ValueError(
                "set_default_mmap_options takes mmap.MAP_PRIVATE or mmap.MAP_SHARED, "
                f"not {flags!r}"
            )
        config.load.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        config.load.mmap_flags = self._before


_skips: ContextVar[bool] = ContextVar("skips", default=False)


class skip_data:
    """Inside a ``with`` statement ``save`` writes zeros instead of data, to be filled
    later, and ``load`` creates tensors without reading their data.

    Example::

        with torch.serialization.skip_data():
            torch.save(model.state_dict(), "sizes.pt")
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        if materialize_fake_tensors:
            raise NotImplementedError(
                "skip_data: fake tensors have no storage to save; save tensors of the "
                "same sizes made by torch.empty()"
            )

    def __enter__(self) -> Self:
        self._token: Token[bool] = _skips.set(True)
        return self

    def __exit__(self, *_: object) -> None:
        _skips.reset(self._token)


def skips_data() -> bool:
    """Whether ``skip_data`` is active."""
    return _skips.get()
