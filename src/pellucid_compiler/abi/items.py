"""The items that describe a call's arguments, in requests and in keys.

A *request* describes tensors by dtype and sizes, and has numbers by value. A *key*
describes tensors by dtype and rank, numbers by their kind, and has static values; an
*operand* is an argument in the key of a pointwise op, after promotion. An item is its
``ItemKind`` and the fields of a record, as a list; none, bools, numbers and texts stand
for themselves.

``headers.py`` writes runtime/plan/items.h from these: functions that write the items of
requests, and records of the items of keys with their readers and their words
(runtime/plan/key.h). A new fact of an argument is a field here: neither side can then
make the item without it. ``specialise/requests.py`` makes them in Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

from pellucid_compiler.abi.codes import ITEM, NUMBER
from pellucid_compiler.abi.encode import Decoded, Encodable
from pellucid_compiler.abi.fields import (
    DTypeName,
    Field,
    UInt8,
    code,
    encode_record,
    read_record,
    spliced,
)


class Items:
    """The items of one place: records by the names of their codes."""

    def __init__(self, name: str, records: Mapping[str, type]) -> None:
        self.name, self.records = name, records
        self._codes = {record: ITEM[kind] for kind, record in records.items()}
        self._records = {code: record for record, code in self._codes.items()}

    def encode(self, item: Any) -> Encodable:
        """A record as a list, another value unchanged."""
        code = self._codes.get(type(item))
        if code is not None:
            return [code, *encode_record(item)]
        assert item is None or isinstance(item, _PLAIN), (self.name, item)
        return item

    def decode(self, item: Decoded) -> Any:
        """The inverse of ``encode``."""
        if not isinstance(item, list):
            return item
        code, *fields = item
        return read_record(self._records[code], fields)  # type: ignore[index]


_PLAIN: Final = (bool, int, float, complex, str)


def _items(group: str) -> Field:
    """A list of items of one of the ``GROUPS``."""
    return spliced(
        f"list of {group} items",
        lambda items: [GROUPS[group].encode(item) for item in items],
        lambda items: tuple(GROUPS[group].decode(item) for item in items),
    )


RequestItems: TypeAlias = Annotated[Sequence[Any], _items("request")]
KeyItems: TypeAlias = Annotated[Sequence[Any], _items("key")]
OperandItems: TypeAlias = Annotated[Sequence[Any], _items("operand")]

# ------------------------------------------------------------------ requests and keys


@dataclass(frozen=True)
class Ignored:
    """An argument that no plan depends on: a device, a layout, a generator."""


class DTypeItem(NamedTuple):
    """A dtype given as an argument."""

    dtype: DTypeName


# --------------------------------------------------------------------------- requests

_SIZES: Final = Field(
    "std::span<const int64_t>",
    "",
    "list of int64",
    list,
    tuple,
    lambda name: f"out.list_of({name}, [&](int64_t size) {{ out.integer(size); }});",
)


@dataclass(frozen=True)
class TensorLike:
    """A tensor argument without its data."""

    dtype: DTypeName
    shape: Annotated[tuple[int, ...], _SIZES]

    @property
    def ndim(self) -> int:
        return len(self.shape)


class ListItem(NamedTuple):
    """A list given as an argument."""

    items: RequestItems


REQUEST: Final = Items(
    "request",
    {"tensor": TensorLike, "dtype": DTypeItem, "list": ListItem, "ignored": Ignored},
)

# ------------------------------------------------------------------------------- keys

NumberKind: TypeAlias = Annotated[str, code(NUMBER)]


class TensorItem(NamedTuple):
    """A tensor. In keys of pointwise ops' derivatives rank 1 means any rank but 0."""

    dtype: DTypeName
    rank: UInt8


class NumberItem(NamedTuple):
    """A symbolic number."""

    kind: NumberKind


class UnitItem(NamedTuple):
    """A factor of a pointwise op that is 1, its default."""

    kind: NumberKind


class KeyListItem(NamedTuple):
    """A list: an item per element."""

    items: KeyItems


KEY: Final = Items(
    "key",
    {
        "tensor": TensorItem,
        "number": NumberItem,
        "unit": UnitItem,
        "dtype": DTypeItem,
        "list": KeyListItem,
        "ignored": Ignored,
    },
)

# ---------------------------------------------------------------------------- operands


class OperandTensor(NamedTuple):
    """A tensor in its compute dtype."""

    dtype: DTypeName


class OperandNumber(NamedTuple):
    """A number, which has the category of the common dtype."""


class OperandStatic(NamedTuple):
    """An argument whose value is part of the key: a key item in frozen.bin, a request
    item in requests.
    """

    item: Annotated[Encodable, spliced("item")]


OPERAND: Final = Items(
    "operand",
    {"tensor": OperandTensor, "number": OperandNumber, "static": OperandStatic},
)

GROUPS: Final = {group.name: group for group in (REQUEST, KEY, OPERAND)}
WRITTEN: Final = (REQUEST, OPERAND)
"""The groups whose items C++ writes."""
READ: Final = (KEY, OPERAND)
"""The groups whose items C++ reads."""
