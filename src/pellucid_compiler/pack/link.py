"""Link one ELF object into a position-independent blob: code, then its constants.

The runtime maps blobs and jumps into them; no symbols are resolved then. So every
relocation must be relative and point inside the object, and everything else that an
object may contain is refused: an undefined symbol means that LLVM emitted a library
call. Called by ``jit.py``; ``tests/compiler/test_link.py`` shows the refusals.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

ALIGNMENT = 64

_SYMTAB, _RELA, _REL, _NOBITS = 2, 4, 9, 8
_ALLOC, _WRITE, _EXECUTE = 2, 1, 4
_UNDEFINED = 0
_PC32, _PLT32, _PC64 = 2, 4, 24


class LinkError(Exception):
    """An object that cannot be linked to a position-independent blob."""


@dataclass(frozen=True)
class Blob:
    """Machine code that runs at any address aligned to ``ALIGNMENT``.

    ``entry`` is the offset of the requested symbol in ``code``."""

    code: bytes
    entry: int


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


@dataclass(frozen=True)
class _Symbol:
    name: str
    section: int
    value: int


def _string(data: bytes, offset: int) -> str:
    return data[offset : data.index(b"\0", offset)].decode("ascii")


def _sections(data: bytes) -> list[_Section]:
    if data[:6] != b"\x7fELF\x02\x01":
        raise LinkError("not a little-endian 64-bit ELF object")
    (table,) = struct.unpack_from("<Q", data, 0x28)
    entry_size, count, names_index = struct.unpack_from("<HHH", data, 0x3A)
    headers = [
        struct.unpack_from("<IIQQQQIIQQ", data, table + i * entry_size)
        for i in range(count)
    ]
    names = headers[names_index][4]
    return [
        _Section(_string(data, names + h[0]), h[1], h[2], h[4], h[5], h[6], h[7], h[8])
        for h in headers
    ]


def _symbols(data: bytes, sections: list[_Section]) -> list[_Symbol]:
    for section in sections:
        if section.kind == _SYMTAB:
            names = sections[section.link].offset
            rows = struct.iter_unpack(
                "<IBBHQQ", data[section.offset : section.offset + section.size]
            )
            return [
                _Symbol(_string(data, names + row[0]), row[3], row[4]) for row in rows
            ]
    return []


def _place(sections: list[_Section]) -> tuple[dict[int, int], int]:
    """Addresses of the sections kept in the blob, code first, and the blob's size."""
    kept = []
    for index, section in enumerate(sections):
        if not section.flags & _ALLOC or section.name == ".eh_frame":
            continue
        if section.size and (section.flags & _WRITE or section.kind == _NOBITS):
            raise LinkError(f"section {section.name} is writable; a kernel has no data")
        kept.append((not section.flags & _EXECUTE, index))
    places: dict[int, int] = {}
    position = 0
    for _, index in sorted(kept):
        align = max(sections[index].align, 1)
        if align > ALIGNMENT:
            raise LinkError(f"section {sections[index].name} wants alignment {align}")
        position = -(-position // align) * align
        places[index] = position
        position += sections[index].size
    return places, position


def _relocate(
    code: bytearray,
    data: bytes,
    section: _Section,
    places: dict[int, int],
    symbols: list[_Symbol],
) -> None:
    rows = struct.iter_unpack(
        "<QQq", data[section.offset : section.offset + section.size]
    )
    for offset, info, addend in rows:
        symbol, kind = symbols[info >> 32], info & 0xFFFFFFFF
        if symbol.section == _UNDEFINED:
            raise LinkError(f"undefined symbol {symbol.name!r}: a library call")
        if symbol.section not in places:
            raise LinkError(f"symbol {symbol.name!r} is in a section that is left out")
        if kind not in (_PC32, _PLT32, _PC64):
            raise LinkError(f"relocation type {kind} of {symbol.name!r} is absolute")
        place = places[section.info] + offset
        value = places[symbol.section] + symbol.value + addend - place
        struct.pack_into("<q" if kind == _PC64 else "<i", code, place, value)


def link(object_bytes: bytes, entry: str = "kernel") -> Blob:
    """The blob of an object file; raises ``LinkError`` if it is not relocatable."""
    sections = _sections(object_bytes)
    symbols = _symbols(object_bytes, sections)
    undefined = [s.name for s in symbols if s.section == _UNDEFINED and s.name]
    if undefined:
        raise LinkError(f"undefined symbols {undefined}: LLVM made library calls")
    places, size = _place(sections)
    code = bytearray(size)
    for index, place in places.items():
        section = sections[index]
        content = object_bytes[section.offset : section.offset + section.size]
        code[place : place + section.size] = content
    for section in sections:
        if section.kind == _REL:
            raise LinkError(f"section {section.name}: expected explicit addends")
        if section.kind == _RELA and section.info in places:
            _relocate(code, object_bytes, section, places, symbols)
    for symbol in symbols:
        if symbol.name == entry and symbol.section in places:
            return Blob(bytes(code), places[symbol.section] + symbol.value)
    raise LinkError(f"the object does not define {entry!r}")
