"""The arguments of a recorded call, from the words of ``core/call_event.cpp``."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from pellucid import _C


class TensorFacts(NamedTuple):
    """A tensor as it was given: its elements are not recorded."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


# In the place of an argument that is not recorded: a generator, a device, an object,
# and what is too long.
UNRECORDED = object()
# The tags of `runtime/core/value.h`.
_TAGS = _C._timeline_tags()
_DTYPES: tuple[str, ...] = _C._timeline_dtypes()
_INTEGERS, _TENSORS = {"IntList", "BoolList"}, {"TensorList", "OptionalTensorList"}


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def read_facts(words: Sequence[int]) -> list[Any]:
    """One entry for each argument: `TensorFacts`, a number, a list of either, a string,
    None for what is absent, or `UNRECORDED`.
    """
    values: list[Any] = []
    place = 0
    while place < len(words):
        value, place = _read(words, place)
        values.append(value)
    return values


def _read(words: Sequence[int], place: int) -> tuple[Any, int]:
    head = words[place]
    tag = _TAGS[head & 0xFF]
    ndim, length = head >> 16 & 0xFFFF, head >> 32
    place += 1
    if tag == "Tensor":
        numbers = [_signed(word) for word in words[place : place + 2 * ndim]]
        dtype = _DTYPES[head >> 8 & 0xFF]
        facts = TensorFacts(dtype, tuple(numbers[:ndim]), tuple(numbers[ndim:]))
        return facts, place + 2 * ndim
    if tag in _TENSORS:
        tensors: list[Any] = []
        while len(tensors) < length and place < len(words):
            tensor, place = _read(words, place)
            tensors.append(tensor)
        is_whole = len(tensors) == length and UNRECORDED not in tensors
        return tensors if is_whole else UNRECORDED, place
    if tag in _INTEGERS:
        end = place + length
        return [_signed(word) for word in words[place:end]], end
    if tag == "String":
        end = place + (length + 7) // 8
        text = b"".join(word.to_bytes(8, "little") for word in words[place:end])
        return text[:length].decode(errors="replace"), end
    if not length:
        return None if tag == "None" else UNRECORDED, place
    word = words[place]
    if tag == "Float":
        return struct.unpack("<d", word.to_bytes(8, "little"))[0], place + 1
    if tag == "DType":
        return _DTYPES[word], place + 1
    return bool(word) if tag == "Bool" else _signed(word), place + 1
