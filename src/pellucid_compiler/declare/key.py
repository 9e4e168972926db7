"""Specialisation keys: the facts of a call's arguments that determine its Graph.

Per argument a key has the dtype and rank of a tensor, the length of a list, whether it
is None, and static values; numbers appear only by kind. ``specialise`` splits a call
into its key, arrays and numbers; ``traced_argument`` builds what the body sees.

Names: the d-th size of tensor ``self`` is the symbol ``self.d``; the k-th element of a
list argument ``size`` is ``size[k]``, and the sizes of a tensor there ``tensors[k].d``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from pellucid_compiler.declare.schema import Argument, Schema
from pellucid_compiler.declare.tensor import Tensor
from pellucid_compiler.ir.dtypes import is_float
from pellucid_compiler.ir.expr import sym
from pellucid_compiler.ir.graph import Graph


class TensorKey(NamedTuple):
    dtype: str
    rank: int

    @property
    def is_floating(self) -> bool:
        return is_float(self.dtype)


class NumberKey(NamedTuple):
    """A symbolic number; ``dtype`` is int64 for SymInt, otherwise weak or bool."""

    dtype: str


class StaticKey(NamedTuple):
    value: Any


class ListKey(NamedTuple):
    items: tuple[ArgumentKey, ...]


ArgumentKey: TypeAlias = "TensorKey | NumberKey | StaticKey | ListKey"
Key: TypeAlias = "tuple[ArgumentKey, ...]"


class Call(NamedTuple):
    """A call split into its key, its arrays in order, and its sizes and numbers by
    name.
    """

    key: Key
    tensors: list[Any]
    env: dict[str, Any]


def bind_arguments(
    schema: Schema, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[Any]:
    """One value per argument of the schema, defaults filled in."""
    if len(args) > len(schema.arguments):
        raise TypeError(
            f"{schema.name}() takes {len(schema.arguments)} arguments, {len(args)} "
            f"were given: {schema.text}"
        )
    unknown = set(kwargs) - {a.name for a in schema.arguments[len(args) :]}
    if unknown:
        raise TypeError(
            f"{schema.name}() got unexpected arguments {sorted(unknown)}: {schema.text}"
        )
    values = list(args)
    for argument in schema.arguments[len(args) :]:
        if argument.name in kwargs:
            values.append(kwargs[argument.name])
        elif argument.has_default or argument.optional:
            values.append(argument.default)
        else:
            raise TypeError(
                f"{schema.name}() lacks the argument {argument.name!r}: {schema.text}"
            )
    return values


def specialise(
    schema: Schema,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    numbers: Sequence[str] = (),
) -> Call:
    """Split a call with arrays in place of tensors.

    ``numbers`` are the tensor arguments that also take a number.
    """
    tensors: list[Any] = []
    env: dict[str, Any] = {}
    values = bind_arguments(schema, args, kwargs)
    for argument, value in zip(schema.arguments, values, strict=True):
        if argument.name not in numbers:
            _refuse_number(argument, value)
    key = tuple(
        _argument_key(argument, argument.name, value, tensors, env)
        for argument, value in zip(schema.arguments, values, strict=True)
    )
    return Call(key, tensors, env)


def _argument_key(
    argument: Argument, name: str, value: Any, tensors: list[Any], env: dict[str, Any]
) -> ArgumentKey:
    if value is None:
        _refuse_none(argument, name)
        return StaticKey(None)
    if argument.length and not isinstance(value, (list, tuple)):
        value = [value] * argument.length
    if isinstance(value, (list, tuple)):
        item_of = argument._replace(length=None, optional=argument.element_optional)
        return ListKey(
            tuple(
                _argument_key(item_of, f"{name}[{k}]", item, tensors, env)
                for k, item in enumerate(value)
            )
        )
    if hasattr(value, "ndim") and hasattr(value, "dtype"):
        tensors.append(value)
        env.update((f"{name}.{d}", n) for d, n in enumerate(value.shape))
        return TensorKey(str(value.dtype), value.ndim)
    if argument.is_static or isinstance(value, str):
        return StaticKey(value)
    env[name] = value
    return NumberKey(_number_dtype(argument, value))


def _refuse_number(argument: Argument, value: Any) -> None:
    if argument.is_tensor and isinstance(value, (bool, int, float, complex)):
        raise TypeError(
            f"argument {argument.name!r} must be a Tensor, not {type(value).__name__}"
        )


def _refuse_none(argument: Argument, name: str) -> None:
    absent = argument.optional or argument.has_default or argument.element_optional
    if argument.is_tensor and not absent:
        raise TypeError(f"argument {name!r} must be a Tensor, not None")


def _number_dtype(argument: Argument, value: Any) -> str:
    if argument.type == "SymInt":
        return "int64"
    if isinstance(value, bool):
        return "bool"
    if argument.type == "float" or isinstance(value, float):
        return "weakfloat"
    return "weakcomplex" if isinstance(value, complex) else "weakint"


def numbered(stem: str, *, tensor: int, number: int) -> Callable[..., str]:
    """A ``node=`` for ops of two operands: its number depends on whether the second
    one, ``other``, is a tensor or a number.
    """

    def node_name(_: ArgumentKey, other: ArgumentKey, *rest: ArgumentKey) -> str:
        return f"{stem}Backward{number if isinstance(other, NumberKey) else tensor}"

    return node_name


def traced_argument(graph: Graph, key: ArgumentKey, name: str) -> Any:
    """What an op's body receives for an argument of this key; tensors become inputs."""
    if isinstance(key, StaticKey):
        return key.value
    if isinstance(key, ListKey):
        return [
            traced_argument(graph, item, f"{name}[{k}]")
            for k, item in enumerate(key.items)
        ]
    if isinstance(key, NumberKey):
        return sym(name, key.dtype)
    shape = [sym(f"{name}.{d}") for d in range(key.rank)]
    return Tensor(graph.input(shape, key.dtype, name))
