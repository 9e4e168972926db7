"""The tagged binary encoding of the frozen file, of plans and of trace requests.

A value is one tag byte and its payload; lists nest. It is the only format that passes
between Python and the runtime: ``tools/freeze.py`` and ``pellucid._C._runtime.tracing``
write it, ``runtime/plan/decode.h`` reads and writes the same bytes. A part to be
decoded later is encoded on its own and stored as bytes. Read next: fields.py and
plan.py (the encoded records).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from pellucid_compiler.abi.codes import TAG

Encodable: TypeAlias = (
    "bool | int | float | complex | str | bytes | Sequence[Encodable] | None"
)
Decoded: TypeAlias = "bool | int | float | complex | str | bytes | list[Decoded] | None"

NONE, FALSE, TRUE, INTEGER, NUMBER, TEXT, BYTES, LIST, COMPLEX = (
    TAG[name]
    for name in (
        *("none", "false", "true", "integer", "number"),
        *("text", "bytes", "list", "complex"),
    )
)


def encode(value: Encodable) -> bytes:
    """Encode ``value``; tuples become lists."""
    out = bytearray()
    _write(value, out)
    return bytes(out)


def _write(value: Encodable, out: bytearray) -> None:
    if value is None:
        out.append(NONE)
    elif value is True or value is False:
        out.append(TRUE if value else FALSE)
    elif isinstance(value, int):
        out += _integer(value)
    elif isinstance(value, str):
        out += _text(value)
    elif isinstance(value, (list, tuple)):
        out.append(LIST)
        out += _unsigned(len(value))
        for item in value:
            if type(item) is int:  # the common case, without a call
                out += _integer(item)
            else:
                _write(item, out)
    elif isinstance(value, (bytes, bytearray)):
        out.append(BYTES)
        out += _unsigned(len(value))
        out += value
    elif isinstance(value, float):
        out.append(NUMBER)
        out += struct.pack("<d", value)
    elif isinstance(value, complex):
        out.append(COMPLEX)
        out += struct.pack("<dd", value.real, value.imag)
    else:
        raise TypeError(f"{value!r} has no encoding")


# The same few numbers and words occur many thousands of times.
@lru_cache(4096)
def _integer(value: int) -> bytes:
    if not -(1 << 63) <= value < 1 << 63:
        raise OverflowError(f"{value} does not fit into 64 bits")
    return bytes([INTEGER]) + _unsigned(value << 1 if value >= 0 else (-value << 1) - 1)


@lru_cache(4096)
def _text(value: str) -> bytes:
    block = value.encode()
    return bytes([TEXT]) + _unsigned(len(block)) + block


@lru_cache(4096)
def _unsigned(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode(data: bytes) -> Decoded:
    """Decode ``data``; ValueError if it is damaged."""
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
