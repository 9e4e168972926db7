"""Records: dataclasses and named tuples, whose annotations say how each field is
encoded and decoded.

A field's annotation determines how Python writes and reads it (``encoded``,
``decoded``), the C++ type in the generated struct, the expression that reads it there,
the statement that writes it (``headers.py``), and the description on the format's page
(``pages.py``). ``str``, ``bool`` and ``bytes`` are self-explanatory; ``tuple[X, ...]``
is a list, ``tuple[X, Y]`` a list of two, ``X | None`` may be absent, and a dataclass is
a list of its fields. Everything else is ``Annotated[type, Field]`` with one of the
fields below. Read next: ``plan.py``.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import zlib
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import (
    Annotated,
    Any,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pellucid_compiler.abi.codes import Codes
from pellucid_compiler.abi.dtypes import CODES, DTYPES
from pellucid_compiler.abi.encode import Encodable, encode

Encoder: TypeAlias = Callable[[Any], Encodable]
Decoder: TypeAlias = Callable[[Any], Any]
Record = TypeVar("Record")


@dataclasses.dataclass(frozen=True, eq=False)
class Field:
    """One kind of field: its C++ type, the expression that reads it there, its name on
    the page, how Python writes and reads it (None: the value is encoded unchanged),
    and, for records that the runtime writes, the C++ statement that writes it.
    """

    cpp: str
    read: str
    shown: str
    encoded: Encoder | None = None
    decoded: Decoder | None = None
    write: Callable[[str], str] = str


def writer(function: str) -> Callable[[str], str]:
    """The statement that calls a function of the encoder."""
    return lambda name: f"out.{function}({name});"


def integer(cpp: str) -> Field:
    """An integer; a decoder refuses one that does not fit into ``cpp``."""
    return Field(
        cpp,
        f"in.integer_as<{cpp}>()",
        cpp.removesuffix("_t"),
        write=writer("integer"),
    )


def code(codes: Codes) -> Field:
    """A member of an enumeration, by its name in Python."""
    name = codes.name
    return Field(
        name,
        f"in.code<{name}>()",
        f"{name} code",
        codes.__getitem__,
        codes.names.__getitem__,
        writer("code"),
    )


def spliced(
    shown: str, encoded: Encoder | None = None, decoded: Decoder | None = None
) -> Field:
    """Values that the reader in C++ decodes later, and the writer appends itself."""
    return Field(
        "Decoder", "in.nested()", shown, encoded, decoded, lambda name: f"{name}(out);"
    )


KIND = Field("", "", "")
"""Not encoded: it is the code before the record."""
FLAT = Field("", "", "")
"""Marks ``tuple[tuple[X, Y], ...]`` whose pairs are flattened into one list."""
NESTED = Field("", "", "")
"""Marks a record that is encoded on its own, to be decoded later."""

UInt8 = Annotated[int, integer("uint8_t")]
UInt16 = Annotated[int, integer("uint16_t")]
UInt32 = Annotated[int, integer("uint32_t")]
Int8 = Annotated[int, integer("int8_t")]
Int16 = Annotated[int, integer("int16_t")]
Int32 = Annotated[int, integer("int32_t")]
Int64 = Annotated[int, integer("int64_t")]
Bits = Annotated[
    int,
    Field("uint64_t", "in.bits()", "bits of an int64", write=writer("integer")),
]
Register = Annotated[
    int, Field("uint16_t", "in.register_number()", "register, or -1 for none")
]
ValueNumber = Annotated[int, Field("uint16_t", "in.integer_as<uint16_t>()", "value")]
KernelId = Annotated[bytes, Field("KernelId", "in.kernel_id()", "kernel id")]
Compressed = Annotated[
    bytes,
    Field(
        "Compressed",
        "in.compressed()",
        "[size, bytes compressed by zlib]",
        lambda data: [len(data), zlib.compress(data, 9) if data else b""],
        lambda pair: zlib.decompress(pair[1]) if pair[0] else b"",
    ),
]
"""A block that is inflated when it is first needed."""
DTypeName = Annotated[
    str,
    Field(
        "DType",
        "in.code<DType>()",
        "DType code",
        CODES.__getitem__,
        lambda code: DTYPES[code].name,
        writer("code"),
    ),
]
Nested = Annotated[bytes, Field("std::string_view", "", "bytes", write=writer("bytes"))]
"""A value encoded on its own, in a record that the runtime writes."""
LITERAL = Field("Literal", "in.literal()", "none, bool, integer, number, complex, text")


@dataclasses.dataclass(frozen=True)
class NamedField:
    name: str
    field: Field


@functools.cache
def fields_of(record: type) -> tuple[NamedField, ...]:
    """The encoded fields of a record, in order."""
    hints = get_type_hints(record, include_extras=True)
    found = (NamedField(name, field_of(hint)) for name, hint in hints.items())
    return tuple(item for item in found if item.field is not KIND)


def field_of(hint: Any) -> Field:
    """The field of an annotation."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        (field,) = (f for f in hint.__metadata__ if isinstance(f, Field))
        special = {FLAT: _flat, NESTED: _nested}.get(field)
        return special(arguments[0]) if special else field
    if origin is tuple and arguments[-1] is Ellipsis:
        return list_of(field_of(arguments[0]))
    if origin is tuple:
        return _pair(*map(field_of, arguments))
    if origin in (Union, types.UnionType) and type(None) in arguments:
        (present,) = (a for a in arguments if a is not type(None))
        return optional(field_of(present))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return record_field(hint)
    return _PLAIN[hint]


_PLAIN = {
    str: Field("std::string_view", "in.text()", "text"),
    bool: Field("bool", "in.boolean()", "bool", write=writer("boolean")),
    bytes: Field("std::span<const uint8_t>", "in.bytes()", "bytes"),
}


def list_of(item: Field) -> Field:
    write, read = item.encoded, item.decoded or _itself
    return Field(
        f"std::vector<{item.cpp}>",
        f"in.list_of<{item.cpp}>([&] {{ return {item.read}; }})",
        f"list of {item.shown}",
        list if write is None else lambda values: [write(v) for v in values],
        lambda values: tuple(read(v) for v in values),
        lambda name: (
            f"out.list_of({name}, [&](auto& item) {{ {item.write('item')} }});"
        ),
    )


def optional(item: Field) -> Field:
    write, read = item.encoded or _itself, item.decoded or _itself
    return Field(
        f"std::optional<{item.cpp}>",
        f"in.optional<{item.cpp}>([&] {{ return {item.read}; }})",
        f"{item.shown}, or none",
        lambda value: None if value is None else write(value),
        lambda value: None if value is None else read(value),
        lambda name: f"if ({name}) {item.write('*' + name)} else out.none();",
    )


def _flat(hint: Any) -> Field:
    (pair, _) = get_args(hint)
    first, second = map(field_of, get_args(pair))
    assert first.encoded is None and second.encoded is None
    type_ = f"std::pair<{first.cpp}, {second.cpp}>"
    read = f"[&] {{ return {first.read}; }}, [&] {{ return {second.read}; }}"
    return Field(
        f"std::vector<{type_}>",
        f"in.flat_pairs<{type_}>({read})",
        f"list of {first.shown}, {second.shown}, flattened",
        lambda pairs: [number for pair in pairs for number in pair],
    )


def _pair(first: Field, second: Field) -> Field:
    write, write_second = first.encoded or _itself, second.encoded or _itself
    type_ = f"std::pair<{first.cpp}, {second.cpp}>"
    read = f"[&] {{ return {first.read}; }}, [&] {{ return {second.read}; }}"
    return Field(
        type_,
        f"in.pair<{type_}>({read})",
        f"[{first.shown}, {second.shown}]",
        lambda pair: [write(pair[0]), write_second(pair[1])],
    )


def record_field(record: type) -> Field:
    name = record.__name__
    return Field(
        name,
        f"in.record<{name}>()",
        name,
        encode_record,
        lambda values: read_record(record, values),
        writer("record"),
    )


def _nested(record: type) -> Field:
    plain = _PLAIN[bytes]
    shown = f"bytes of {record.__name__}"
    return dataclasses.replace(
        plain, shown=shown, encoded=lambda value: encode(encode_record(value))
    )


class Alternatives:
    """Records distinguished by a code that precedes them.

    ``name``: of the generated struct; ``records``: by the names of ``codes``.
    """

    def __init__(self, name: str, codes: Codes, records: Mapping[str, type]) -> None:
        assert set(records) == set(codes.names), name
        self.name, self.codes, self.records = name, codes, records

    def encode(self, kind: str, record: Any) -> Encodable:
        assert type(record) is self.records[kind], (kind, record)
        return [self.codes[kind], *encode_record(record)]

    def list(self, kind_of: Callable[[Any], str]) -> Field:
        """A list of them, whose kinds ``kind_of`` returns."""
        return Field(
            f"std::vector<{self.name}>",
            f"in.list_of<{self.name}>([&] {{ return {self.name}::read(in); }})",
            f"list of [{self.codes.name} code, fields of its record]",
            lambda items: [self.encode(kind_of(item), item) for item in items],
        )


def _itself(value: Encodable) -> Encodable:
    return value


def read_record(record: type[Record], values: Any) -> Record:
    """The record whose fields were encoded as ``values``; ValueError for a wrong number
    of fields.
    """
    kind: type = record
    pairs = zip(_readers(kind), values, strict=True)
    return record(*(v if read is None else read(v) for read, v in pairs))


@functools.cache
def _readers(record: type) -> tuple[Decoder | None, ...]:
    return tuple(item.field.decoded for item in fields_of(record))


@functools.cache
def _writers(record: type) -> tuple[tuple[Callable[[Any], Any], Encoder | None], ...]:
    fields = fields_of(record)
    return tuple((attrgetter(f.name), f.field.encoded) for f in fields)


def encode_record(value: Any) -> list[Encodable]:
    """The fields of a record, as read by the generated struct of the same name."""
    record: type = type(value)
    return [
        get(value) if write is None else write(get(value))
        for get, write in _writers(record)
    ]
