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


class DTypeName(str):
    """A dtype that was given as an argument."""

    __slots__ = ()


class _Stand(NamedTuple):
    """In the place of an argument of which the event has no value."""

    reason: str


UNRECORDED = _Stand("too long")
IGNORED = _Stand("a device, a layout, a generator or an object")
# The tags of `runtime/core/value.h`.
_TAGS = _C._timeline_tags()
_DTYPES: tuple[str, ...] = _C._timeline_dtypes()
_INTEGERS = {"IntList", "BoolList"}
_ITEMS = {"TensorList", "OptionalTensorList", "ScalarList"}


def _number(word: int) -> float:
    return float(struct.unpack("<d", word.to_bytes(8, "little"))[0])


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def read_facts(words: Sequence[int]) -> list[Any]:
    """One entry for each argument: `TensorFacts`, a number, a list of either, a string,
    a `DTypeName`, None for what is absent, `IGNORED` for what no computation depends
    on, or `UNRECORDED`.
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
    if tag in _ITEMS:
        items: list[Any] = []
        while len(items) < length and place < len(words):
            item, place = _read(words, place)
            items.append(item)
        is_whole = len(items) == length and UNRECORDED not in items
        return items if is_whole else UNRECORDED, place
    if tag in _INTEGERS:
        end = place + length
        return [_signed(word) for word in words[place:end]], end
    if tag == "String":
        end = place + (length + 7) // 8
        text = b"".join(word.to_bytes(8, "little") for word in words[place:end])
        return text[:length].decode(errors="replace"), end
    if tag == "FloatList":
        end = place + length
        return list(map(_number, words[place:end])), end
    if tag == "Object":
        return UNRECORDED if length else IGNORED, place
    if not length:
        return None, place
    word = words[place]
    if tag == "Float":
        return _number(word), place + 1
    if tag == "Complex":
        return complex(_number(word), _number(words[place + 1])), place + 2
    if tag == "DType":
        return DTypeName(_DTYPES[word]), place + 1
    return bool(word) if tag == "Bool" else _signed(word), place + 1
