"""The layout of a kernel pack: a header, an index sorted by kernel id, the kernels.

All numbers are little-endian, each at a multiple of its size. ``pack/kernel_pack.py``
writes packs, runtime/kernels/pack.cpp maps them.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from pellucid_compiler.abi.limits import KERNEL_ID_BYTES


class Member(NamedTuple):
    """``letter``: of the struct module; ``cpp``: the declaration."""

    letter: str
    cpp: str
    meaning: str


HEADER: Final = (
    Member("8s", "char magic[8]", "PACK_MAGIC"),
    Member("I", "uint32_t version", "PACK_VERSION"),
    Member("I", "uint32_t count", "of kernels"),
    Member("Q", "uint64_t index_offset", "from the start of the file"),
    Member("Q", "uint64_t blobs_offset", "from the start of the file"),
    Member("32s", "uint8_t sha256[32]", "of everything after the header"),
)
ENTRY: Final = (
    Member(f"{KERNEL_ID_BYTES}s", "KernelId id", "the index is sorted by it"),
    Member("Q", "uint64_t offset", "from blobs_offset"),
    Member("I", "uint32_t stored", "bytes of the blob in the file, from zlib"),
    Member("I", "uint32_t size", "of the inflated blob"),
    Member("I", "uint32_t entry", "where the function starts inside the blob"),
    Member("I", "uint32_t reserved", "0"),
)


def layout(members: tuple[Member, ...]) -> struct.Struct:
    return struct.Struct("<" + "".join(member.letter for member in members))
