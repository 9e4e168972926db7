"""Container types: how each is flattened, unflattened and named.

``SUPPORTED_NODES`` has an entry for each; ``register_pytree_node`` adds one.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from pellucid import Size

PyTree = Any
Context = Any
FlattenFn = Callable[[PyTree], tuple[list[Any], Context]]
UnflattenFn = Callable[[Iterable[Any], Context], PyTree]
DumpableContext = Any
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """A path step from a sequence to an element."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """A path step from a mapping to a value."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """A path step from an object to an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


KeyEntry = Any
KeyPath = tuple[KeyEntry, ...]
FlattenWithKeysFn = Callable[[PyTree], tuple[list[tuple[KeyEntry, Any]], Context]]


class NodeDef(NamedTuple):
    """How a container type is flattened and unflattened."""

    type: Any
    flatten_fn: FlattenFn
    unflatten_fn: UnflattenFn
    flatten_with_keys_fn: FlattenWithKeysFn | None = None


class Stored(NamedTuple):
    """A type's serialized name, and how its context is written and read."""

    serialized_type_name: str
    to_dumpable_context: ToDumpableContextFn | None
    from_dumpable_context: FromDumpableContextFn | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[Any, Stored] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}
CONSTANT_NODES: set[type] = set()


def register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:
    """Registers ``cls``, whose instances become nodes.

    ``flatten_fn(node)`` returns the children and a context, from which
    ``unflatten_fn(children, context)`` rebuilds a node; ``flatten_with_keys_fn``
    gives each child with its key, for paths. The name and the two functions of the
    context are for ``treespec_dumps``. Raises ValueError if ``cls`` is registered.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _enter(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be "
            "None or registered."
        )
    if serialized_type_name is not None:
        _name(
            cls,
            Stored(serialized_type_name, to_dumpable_context, from_dumpable_context),
        )


def _enter(
    cls: Any,
    flatten: FlattenFn,
    unflatten: UnflattenFn,
    with_keys: FlattenWithKeysFn | None,
) -> None:
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten, unflatten, with_keys)


def _name(cls: Any, stored: Stored) -> None:
    SUPPORTED_SERIALIZED_TYPES[cls] = stored
    SERIALIZED_TYPE_TO_PYTHON_TYPE[stored.serialized_type_name] = cls


def _register_namedtuple(cls: type[Any], *, serialized_type_name: str) -> None:
    """Sets a named tuple's serialized name; it is a node anyway."""
    _name(cls, Stored(serialized_type_name, None, None))


# ---------------------------------------------------------- sequences and mappings


def _list_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), None


def _list_flatten_with_keys(
    d: Any,
) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(SequenceKey(i), value) for i, value in enumerate(d)], None


def _list_unflatten(values: Iterable[Any], context: Context) -> list[Any]:
    return list(values)


def _tuple_unflatten(values: Iterable[Any], context: Context) -> tuple[Any, ...]:
    return tuple(values)


def _size_unflatten(values: Iterable[Any], context: Context) -> Size:
    return Size(values)


_tuple_flatten, _tuple_flatten_with_keys = _list_flatten, _list_flatten_with_keys


def _dict_flatten(d: Mapping[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), list(d)


def _dict_flatten_with_keys(
    d: Mapping[Any, Any],
) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _ordereddict_unflatten(
    values: Iterable[Any], context: Context
) -> OrderedDict[Any, Any]:
    return OrderedDict(zip(context, values, strict=True))


_ordereddict_flatten = _dict_flatten
_ordereddict_flatten_with_keys = _dict_flatten_with_keys


def _defaultdict_flatten(d: defaultdict[Any, Any]) -> tuple[list[Any], Context]:
    values, keys = _dict_flatten(d)
    return values, [d.default_factory, keys]


def _defaultdict_flatten_with_keys(
    d: defaultdict[Any, Any],
) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    pairs, keys = _dict_flatten_with_keys(d)
    return pairs, [d.default_factory, keys]


def _defaultdict_unflatten(
    values: Iterable[Any], context: Context
) -> defaultdict[Any, Any]:
    factory, keys = context
    return defaultdict(factory, zip(keys, values, strict=True))


def _deque_flatten(d: deque[Any]) -> tuple[list[Any], Context]:
    return list(d), d.maxlen


def _deque_flatten_with_keys(
    d: deque[Any],
) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return _list_flatten_with_keys(d)[0], d.maxlen


def _deque_unflatten(values: Iterable[Any], context: Context) -> deque[Any]:
    return deque(values, maxlen=context)


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), type(d)


def _namedtuple_flatten_with_keys(
    d: Any,
) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    keys = map(GetAttrKey, type(d)._fields)
    return list(zip(keys, d, strict=True)), type(d)


def _namedtuple_unflatten(values: Iterable[Any], context: Context) -> Any:
    return context(*values)


def _namedtuple_serialize(context: Context) -> DumpableContext:
    if context not in SUPPORTED_SERIALIZED_TYPES:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context}: it has no name; "
            "give it one with _register_namedtuple(cls, serialized_type_name=...)"
        )
    return SUPPORTED_SERIALIZED_TYPES[context].serialized_type_name


def _namedtuple_deserialize(text: DumpableContext) -> Context:
    if text not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {text}: no class of that "
            "name is registered"
        )
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[text]


def _defaultdict_serialize(context: Context) -> DumpableContext:
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _defaultdict_deserialize(stored: DumpableContext) -> Context:
    from importlib import import_module

    module = import_module(stored["default_factory_module"])
    return [getattr(module, stored["default_factory_name"]), stored["dict_context"]]


for _cls, _functions, _stored in (
    (
        tuple,
        (_tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys),
        Stored("builtins.tuple", None, None),
    ),
    (
        Size,
        (_tuple_flatten, _size_unflatten, _tuple_flatten_with_keys),
        Stored("torch.Size", None, None),
    ),
    (
        list,
        (_list_flatten, _list_unflatten, _list_flatten_with_keys),
        Stored("builtins.list", None, None),
    ),
    (
        dict,
        (_dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
        Stored("builtins.dict", None, None),
    ),
    (
        namedtuple,
        (_namedtuple_flatten, _namedtuple_unflatten, _namedtuple_flatten_with_keys),
        Stored(
            "collections.namedtuple", _namedtuple_serialize, _namedtuple_deserialize
        ),
    ),
    (
        OrderedDict,
        (_ordereddict_flatten, _ordereddict_unflatten, _ordereddict_flatten_with_keys),
        Stored("collections.OrderedDict", None, None),
    ),
    (
        defaultdict,
        (_defaultdict_flatten, _defaultdict_unflatten, _defaultdict_flatten_with_keys),
        Stored(
            "collections.defaultdict", _defaultdict_serialize, _defaultdict_deserialize
        ),
    ),
    (
        deque,
        (_deque_flatten, _deque_unflatten, _deque_flatten_with_keys),
        Stored("collections.deque", None, None),
    ),
):
    _enter(_cls, *_functions)
    _name(_cls, _stored)

STANDARD_DICT_TYPES: frozenset[Any] = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES: frozenset[Any] = frozenset(SUPPORTED_NODES)


# ------------------------------------------------------------ the node of a value


def is_namedtuple_class(cls: type) -> bool:
    """Whether it is a class of named tuples."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(fields := getattr(cls, "_fields", None), tuple)
        and all(isinstance(field, str) for field in fields)
    )


def is_namedtuple_instance(obj: object) -> bool:
    """Whether it is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object | type) -> bool:
    """Whether it is a named tuple or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: type) -> bool:
    """Whether its values are results of ops with named fields."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(getattr(cls, "n_sequence_fields", None), int)
    )


def is_structseq_instance(obj: object) -> bool:
    """Whether it is a result of an op with named fields."""
    return is_structseq_class(type(obj))


def is_structseq(obj: object | type) -> bool:
    """Whether it is a result of an op with named fields, or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


@lru_cache(None)
def _structseq_node(cls: Any) -> NodeDef:
    """A result of an op takes its fields as one sequence."""
    return NodeDef(
        cls, _tuple_flatten, lambda values, _: cls(values), _tuple_flatten_with_keys
    )


def node_of(tree: PyTree) -> NodeDef | None:
    """The node definition of a value; None for a leaf."""
    cls: Any = type(tree)
    node = SUPPORTED_NODES.get(cls)
    if node is None and isinstance(tree, tuple):
        if is_namedtuple_class(cls):
            return SUPPORTED_NODES[namedtuple]
        if is_structseq_class(cls):
            return _structseq_node(cls)
    return node


def _get_node_type(tree: PyTree) -> Any:
    """The key of ``tree``'s type in ``SUPPORTED_NODES``, or the type itself."""
    node = node_of(tree)
    return type(tree) if node is None else node.type


# ------------------------------------------------------- dataclasses and constants


def register_dataclass(
    cls: type[Any],
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Registers a dataclass as a node, whose children are its fields other than None.

    ``field_names``: the fields, required for other classes than dataclasses;
    ``drop_field_names``: fields with defaults that are omitted.

    Example::

        @dataclass
        class Point:
            x: Tensor
            y: Tensor

        register_dataclass(Point)
    """
    names = _fields_of(cls, field_names, set(drop_field_names or ()))

    def flatten(obj: Any) -> tuple[list[Any], Context]:
        pairs, context = flatten_with_keys(obj)
        return [value for _, value in pairs], context

    def flatten_with_keys(obj: Any) -> tuple[list[tuple[KeyEntry, Any]], Context]:
        values = {name: getattr(obj, name) for name in names}
        there = [name for name in names if values[name] is not None]
        absent = [name for name in names if values[name] is None]
        return [(GetAttrKey(name), values[name]) for name in there], [there, absent]

    def unflatten(values: Iterable[Any], context: Context) -> Any:
        there, absent = context
        given = dict(zip(there, values, strict=True))
        return cls(**given, **dict.fromkeys(absent))

    register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )


def _fields_of(cls: type, given: list[str] | None, dropped: set[str]) -> list[str]:
    if not dataclasses.is_dataclass(cls):
        if given is None:
            raise ValueError(
                f"field_names must be specified with the names of all fields of {cls}: "
                "it is not a dataclass"
            )
        return [name for name in given if name not in dropped]
    known = [f.name for f in dataclasses.fields(cls) if f.init]
    left = [name for name in known if name not in dropped]
    if given is not None and set(given) != set(left):
        raise ValueError(
            f"field_names {sorted(given)} are not the fields of {cls}, which are "
            f"{sorted(left)}; name the others in drop_field_names"
        )
    return left if given is None else list(given)


class ConstantNode(NamedTuple):
    """The context of a constant: itself."""

    value: Any


def register_constant(cls: type[Any]) -> None:
    """Registers ``cls``, whose instances become part of the structure instead of
    leaves.

    The class defines ``__eq__`` and ``__hash__``; TypeError otherwise.
    """
    for name in ("__eq__", "__hash__"):
        if getattr(cls, name) in (None, getattr(object, name)):
            raise TypeError(
                f"register_constant(cls) expects {cls} to have a non-default "
                f"`{name}` implementation: structures are compared"
            )
    register_pytree_node(
        cls,
        lambda x: ([], ConstantNode(x)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda x: ([], ConstantNode(x)),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type[Any]) -> bool:
    """Whether it was registered by ``register_constant``."""
    return isinstance(cls, type) and cls in CONSTANT_NODES
