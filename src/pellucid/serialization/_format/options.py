"""What programs set for all files: byte order, mapping, checksums, data left out.

``serialization`` offers these names, ``utils/serialization/config.py`` the values.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from enum import Enum
from mmap import MAP_PRIVATE, MAP_SHARED
from typing import Self

from pellucid.utils.serialization import config


class LoadEndianness(Enum):
    """The byte order of files that do not name theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order of files that name none; None: little."""
    found: LoadEndianness | None = config.load.endianness
    return found


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Says in which byte order files are that name none. Raises TypeError for what is
    not a LoadEndianness.
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError(
            f"the byte order is a LoadEndianness or None, not {endianness!r}"
        )
    config.load.endianness = endianness


def get_crc32_options() -> bool:
    """What ``set_crc32_options`` was given."""
    return config.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Says whether files need checksums. They are written in any case; files of
    PyTorch's without them are read.
    """
    config.save.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """The flags that ``load(mmap=True)`` maps files with."""
    return config.load.mmap_flags


class set_default_mmap_options:
    """Sets the flags that ``load(mmap=True)`` maps files with, also for the length of a
    ``with`` statement. ``MAP_SHARED`` raises NotImplementedError: tensors that were
    loaded have memory of their own.
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
    """For the length of a ``with`` statement ``save`` leaves zeros in the place of
    data, to be filled later, and ``load`` makes tensors without reading their data.

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
