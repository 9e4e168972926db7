"""Requests and replies on a socket: a count, then each field's length and bytes."""

from __future__ import annotations

import socket
import struct

_LENGTH = struct.Struct("!Q")
LARGEST = 1 << 32  # limit of a message's size; larger ones are not from a store


def read_exactly(connection: socket.socket, nbytes: int) -> bytes:
    """Receives so many bytes; ConnectionError if the other side has closed."""
    memory = bytearray(nbytes)
    read_into(connection, memory)
    return bytes(memory)


def read_into(connection: socket.socket, memory: bytearray) -> None:
    """Fills the memory; ConnectionError if the other side has closed."""
    left = memoryview(memory)
    while left:
        count = connection.recv_into(left)
        if not count:
            raise ConnectionError("the other side has closed the connection")
        left = left[count:]


def send_fields(connection: socket.socket, fields: list[bytes]) -> None:
    """Writes a message."""
    body = b"".join(_LENGTH.pack(len(field)) + field for field in fields)
    connection.sendall(_LENGTH.pack(len(body)) + body)


def receive_fields(connection: socket.socket) -> list[bytes]:
    """Reads a message."""
    (total,) = _LENGTH.unpack(read_exactly(connection, _LENGTH.size))
    if total > LARGEST:
        raise ConnectionError("this is not a message of a store")
    body, fields, place = read_exactly(connection, total), [], 0
    while place < total:
        (length,) = _LENGTH.unpack_from(body, place)
        place += _LENGTH.size
        fields.append(body[place : place + length])
        place += length
    return fields
