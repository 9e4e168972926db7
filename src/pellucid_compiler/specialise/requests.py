"""The arguments of requests, and keys as written in the frozen file.

``abi/items.py`` describes both; runtime/plan/key.cpp computes the same words from the
items of a key and from a call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from pellucid_compiler.abi.encode import Decoded, Encodable
from pellucid_compiler.abi.items import (
    REQUEST,
    DTypeItem,
    Ignored,
    KeyListItem,
    ListItem,
    NumberItem,
    TensorItem,
)
from pellucid_compiler.abi.items import TensorLike as TensorLike
from pellucid_compiler.declare.key import (
    ArgumentKey,
    Key,
    ListKey,
    NumberKey,
    TensorKey,
)
from pellucid_compiler.declare.schema import Argument, Schema
from pellucid_compiler.lower.registers import NumberSource, Source

_NUMBER_KINDS: Final = {
    "bool": "bool",
    "weakint": "int",
    "int64": "int",
    "weakfloat": "float",
    "weakcomplex": "complex",
}


def decode_argument(item: Decoded) -> Any:
    """An argument of a request: a TensorLike, a number, a static value or a list."""
    return _argument_of(REQUEST.decode(item))


def _argument_of(item: Any) -> Any:
    if isinstance(item, DTypeItem):
        return item.dtype
    if isinstance(item, ListItem):
        return [_argument_of(element) for element in item.items]
    return item


def encode_argument(value: Any, argument: Argument) -> Encodable:
    """The inverse of ``decode_argument``."""
    return REQUEST.encode(_request_item(value, argument))


def _request_item(value: Any, argument: Argument) -> Any:
    if isinstance(value, (list, tuple)):
        return ListItem(tuple(_request_item(v, argument) for v in value))
    if hasattr(value, "ndim") and hasattr(value, "dtype"):
        return TensorLike(str(value.dtype), tuple(int(n) for n in value.shape))
    return None if value is None else _static_item(value, argument)


def _static_item(value: Any, argument: Argument) -> Any:
    if isinstance(value, Ignored) or argument.is_ignored:
        return Ignored()
    is_dtype = argument.type == "ScalarType" and value is not None
    return DTypeItem(value) if is_dtype else value


def key_items(schema: Schema, key: Key, ranks: bool = True) -> list[Any]:
    """``key`` as in the frozen file; without ``ranks`` only 0-d or not counts."""
    pairs = zip(key, schema.arguments, strict=True)
    return [key_item(item, argument, ranks) for item, argument in pairs]


def key_item(key: ArgumentKey, argument: Argument, ranks: bool = True) -> Any:
    """One argument of a key as in the frozen file."""
    if isinstance(key, TensorKey):
        return TensorItem(key.dtype, key.rank if ranks else min(key.rank, 1))
    if isinstance(key, NumberKey):
        return NumberItem(_NUMBER_KINDS[key.dtype])
    if isinstance(key, ListKey):
        items = (key_item(item, argument, ranks) for item in key.items)
        return KeyListItem(tuple(items))
    return _static_item(key.value, argument)


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
