"""The arguments of requests, and keys as written in the frozen file.

A request describes arguments: tensors by dtype and sizes, numbers by value. A key in
the frozen file describes them by dtype and rank, by the kind of a number, and by static
values; runtime/plan/key.cpp computes the same words from both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pellucid_compiler.abi.codes import ITEM, NUMBER
from pellucid_compiler.abi.dtypes import CODES, DTYPES
from pellucid_compiler.abi.encode import Decoded, Encodable
from pellucid_compiler.declare.key import (
    ArgumentKey,
    Key,
    ListKey,
    NumberKey,
    StaticKey,
    TensorKey,
)
from pellucid_compiler.declare.schema import Argument, Schema
from pellucid_compiler.lower.registers import NumberSource, Source

_IGNORED_TYPES = ("Device", "Layout", "MemoryFormat", "Generator", "Stream")
_NUMBER_KINDS = {
    "bool": NUMBER["bool"],
    "weakint": NUMBER["int"],
    "int64": NUMBER["int"],
    "weakfloat": NUMBER["float"],
    "weakcomplex": NUMBER["complex"],
}
# The first item of the list that describes an argument.
TENSOR, NUMBER_ITEM, UNIT, STATIC, DTYPE, LIST, IGNORED = (
    ITEM[kind]
    for kind in ("tensor", "number", "one", "static", "dtype", "list", "ignored")
)


@dataclass(frozen=True)
class TensorLike:
    """A tensor argument without its data."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class Ignored:
    """An argument that no plan depends on: a device, a layout, a generator."""


def decode_argument(item: Decoded) -> Any:
    """An argument of a request: a TensorLike, a number, a static value or a list."""
    if not isinstance(item, list):
        return item
    kind, *rest = item
    if kind == TENSOR:
        code, shape = rest
        return TensorLike(DTYPES[code].name, tuple(shape))  # type: ignore[index,arg-type]
    if kind == DTYPE:
        return DTYPES[rest[0]].name  # type: ignore[index]
    if kind == LIST:
        return [decode_argument(element) for element in rest]
    return Ignored()


def encode_argument(value: Any, argument: Argument) -> Encodable:
    """The inverse of ``decode_argument``; also written by runtime/ops/trace.cpp."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [LIST, *(encode_argument(v, argument) for v in value)]
    if isinstance(value, Ignored) or argument.type in _IGNORED_TYPES:
        return [IGNORED]
    if hasattr(value, "ndim") and hasattr(value, "dtype"):
        return [TENSOR, CODES[str(value.dtype)], [int(n) for n in value.shape]]
    if argument.type == "ScalarType":
        return [DTYPE, CODES[value]]
    return value  # type: ignore[no-any-return]


def specification(schema: Schema, key: Key, ranks: bool = True) -> list[Encodable]:
    """``key`` as in the frozen file; without ``ranks`` only 0-d or not counts."""
    pairs = zip(key, schema.arguments, strict=True)
    return [specification_item(item, argument, ranks) for item, argument in pairs]


def specification_item(
    key: ArgumentKey, argument: Argument, ranks: bool = True
) -> Encodable:
    """One argument of a specification."""
    if isinstance(key, TensorKey):
        rank = key.rank if ranks else min(key.rank, 1)
        return [TENSOR, CODES[key.dtype], rank]
    if isinstance(key, NumberKey):
        return [NUMBER_ITEM, _NUMBER_KINDS[key.dtype]]
    if isinstance(key, ListKey):
        items = (specification_item(item, argument, ranks) for item in key.items)
        return [LIST, *items]
    assert isinstance(key, StaticKey)
    if isinstance(key.value, Ignored) or argument.type in _IGNORED_TYPES:
        return [IGNORED]
    if key.value is None:
        return None
    is_dtype = argument.type == "ScalarType"
    return [DTYPE, CODES[key.value]] if is_dtype else key.value


def number_sources(schema: Schema, key: Key) -> dict[str, Source]:
    """Where the runtime finds each number of the call, by the name of its symbol."""
    sources: dict[str, Source] = {}
    for position, (argument, item) in enumerate(
        zip(schema.arguments, key, strict=True)
    ):
        if isinstance(item, NumberKey):
            sources[argument.name] = NumberSource(position)
        elif isinstance(item, ListKey):
            for element, inner in enumerate(item.items):
                if isinstance(inner, NumberKey):
                    name = f"{argument.name}[{element}]"
                    sources[name] = NumberSource(position, element)
    return sources


class TensorPlace(NamedTuple):
    """A tensor argument: its position in the schema and its number for autograd.

    ``element`` is -1 unless the argument is a list. Autograd counts every tensor-typed
    argument, lists element by element, whether or not it has a tensor.
    """

    argument: int
    element: int
    number: int


def tensor_places(schema: Schema, key: Key) -> list[TensorPlace]:
    """The position of each input of the Graph in the call."""
    return list(_places(schema, key))


def _places(schema: Schema, key: Sequence[ArgumentKey]) -> Iterator[TensorPlace]:
    number = 0
    for position, (argument, item) in enumerate(
        zip(schema.arguments, key, strict=True)
    ):
        if not argument.is_tensor:
            continue
        if isinstance(item, ListKey):
            for element, inner in enumerate(item.items):
                if isinstance(inner, TensorKey):
                    yield TensorPlace(position, element, number)
                number += 1
            continue
        if isinstance(item, TensorKey):
            yield TensorPlace(position, -1, number)
        number += 1
