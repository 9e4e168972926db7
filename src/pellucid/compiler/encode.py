"""The tagged binary encoding of the frozen file, of plans and of trace requests.

One value is one tag byte and its payload; lists nest. It is the only format that
crosses between Python and the runtime: ``tools/freeze.py`` and ``pellucid._trace``
write it, ``runtime/exec/decode.h`` reads and writes the same bytes. A part that should
be decoded later is encoded on its own and stored as bytes. Read next: plan.py (what is
written in it).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TypeAlias

Encodable: TypeAlias = (
    "bool | int | float | complex | str | bytes | Sequence[Encodable] | None"
)
Decoded: TypeAlias = "bool | int | float | complex | str | bytes | list[Decoded] | None"

NONE, FALSE, TRUE, INTEGER, NUMBER, TEXT, BYTES, LIST, COMPLEX = range(9)


def encode(value: Encodable) -> bytes:
    """The bytes of ``value``; tuples become lists."""
    out = bytearray()
    _write(value, out)
    return bytes(out)


def _write(value: Encodable, out: bytearray) -> None:
    if value is None:
        out.append(NONE)
    elif value is True or value is False:
        out.append(TRUE if value else FALSE)
    elif isinstance(value, int):
        out.append(INTEGER)
        _write_unsigned(_zigzag(value), out)
    elif isinstance(value, float):
        out.append(NUMBER)
        out += struct.pack("<d", value)
    elif isinstance(value, complex):
        out.append(COMPLEX)
        out += struct.pack("<dd", value.real, value.imag)
    elif isinstance(value, str):
        _write_block(TEXT, value.encode(), out)
    elif isinstance(value, (bytes, bytearray)):
        _write_block(BYTES, bytes(value), out)
    else:
        out.append(LIST)
        _write_unsigned(len(value), out)
        for item in value:
            _write(item, out)


def _zigzag(value: int) -> int:
    if not -(1 << 63) <= value < 1 << 63:
        raise OverflowError(f"{value} does not fit into 64 bits")
    return value << 1 if value >= 0 else (-value << 1) - 1


def _write_unsigned(value: int, out: bytearray) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _write_block(tag: int, block: bytes, out: bytearray) -> None:
    out.append(tag)
    _write_unsigned(len(block), out)
    out += block


def decode(data: bytes) -> Decoded:
    """The value that ``data`` encodes; ValueError where it is damaged."""
    try:
        value, end = _read(data, 0)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise ValueError("the encoded data ends early or is damaged") from error
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes follow the encoded value")
    return value


def _read(data: bytes, at: int) -> tuple[Decoded, int]:
    tag, at = data[at], at + 1
    if tag in (NONE, FALSE, TRUE):
        return (None, False, True)[tag], at
    if tag == NUMBER:
        return struct.unpack_from("<d", data, at)[0], at + 8
    if tag == COMPLEX:
        return complex(*struct.unpack_from("<dd", data, at)), at + 16
    size, at = _read_unsigned(data, at)
    if tag == INTEGER:
        return (size >> 1) ^ -(size & 1), at
    if tag == LIST:
        items: list[Decoded] = []
        for _ in range(size):
            item, at = _read(data, at)
            items.append(item)
        return items, at
    block = data[at : at + size]
    if tag not in (TEXT, BYTES) or len(block) != size:
        raise ValueError("the encoded data ends early or is damaged")
    return (block.decode() if tag == TEXT else block), at + size


def _read_unsigned(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
