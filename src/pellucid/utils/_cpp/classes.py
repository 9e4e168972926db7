"""Types for classes and enumerations of C++, and ``torch.classes``.

Called by ``include/pellucid/torch/classes.h``, which adds members to them.
"""

from __future__ import annotations

import re
from functools import partialmethod
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

from pellucid import _C
from pellucid._package.calls import offered
from pellucid.utils._cpp import loading


class Instance:
    """An object of C++, which ``_held`` owns."""

    _held: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError(f"{type(self).__name__} has no constructor in C++")


def make_class(name: str, module: str, doc: str, bases: tuple[type, ...]) -> type:
    """A type whose members C++ adds."""
    members = {"__module__": module, "__doc__": doc or None}
    made = type(name, bases or (Instance,), members)
    if module.startswith(f"{__name__}."):
        space = module.rpartition(".")[2]
        type.__setattr__(made, "__reduce__", partialmethod(_reduced, space))
        setattr(getattr(classes, space), name, made)
    return made


def _reduced(instance: Any, space: str) -> tuple[Any, ...]:
    """How an object of ``torch.classes`` is pickled and copied."""
    name = type(instance).__name__
    if not hasattr(instance, "__setstate__"):
        raise RuntimeError(
            f"objects of {space}.{name} cannot be stored: give the class def_pickle"
        )
    return _restored, (space, name, instance.__getstate__())


def _restored(space: str, name: str, state: Any) -> Any:
    kind = getattr(getattr(classes, space), name)
    made = kind.__new__(kind)
    made.__setstate__(state)
    return made


class Enumeration:
    """A value of an enumeration of C++."""

    __members__: ClassVar[dict[str, Enumeration]]

    def __init__(self, value: int) -> None:
        self.value = value
        self.name = next(
            (name for name, each in self.__members__.items() if each.value == value),
            "???",
        )

    @classmethod
    def _add(cls, name: str, value: int) -> None:
        made = cls(value)
        made.name = name
        cls.__members__[name] = made
        setattr(cls, name, made)

    @classmethod
    def _of(cls, value: int) -> Enumeration:
        return cls(value)

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __repr__(self) -> str:
        return f"<{self}: {self.value}>"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.value == other.value

    def __hash__(self) -> int:
        return self.value

    def __int__(self) -> int:
        return self.value

    __index__ = __int__


def make_enum(name: str, module: str, doc: str) -> type:
    """An enumeration without values."""
    members: dict[str, Any] = {"__module__": module, "__doc__": doc or None}
    members["__members__"] = {}
    return type(name, (Enumeration,), members)


class Namespace:
    """The classes of one ``TORCH_LIBRARY``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(
            f"Class {name} not registered with 'TORCH_LIBRARY({self._name}, m)': load "
            "the library that registers it (torch.classes.load_library)"
        )


class Classes(ModuleType):
    """``torch.classes``: the classes of C++ libraries, by namespace and name."""

    def load_library(self, path: str) -> None:
        """Loads a library, which registers its classes."""
        loading.load_library(path)

    def __getattr__(self, name: str) -> Namespace:
        if name.startswith("__"):
            raise AttributeError(name)
        made = Namespace(name)
        setattr(self, name, made)
        return made


classes = offered.value(Classes(f"{__name__}.classes"))


# ------------------------------------------------------ ops and boxed kernels

_PLAIN_TYPES = frozenset(("Tensor", "int", "float", "bool", "str", "Scalar"))
_BETWEEN_TYPES = re.compile(r", (?![^(]*\))")


def op_schema(name: str) -> tuple[str, str, list[tuple[str, str]]]:
    """Name, overload and arguments (names and types) of an op; RuntimeError without
    one."""
    if not is_op(name):
        raise RuntimeError(f"there is no op {name}")
    space, plain, overload, arguments, _, _ = _C._op_schema(name)
    return f"{space}::{plain}", overload, [(row[0], row[1]) for row in arguments]


def is_op(name: str) -> bool:
    """Whether an overload of this name is registered."""
    try:
        _C._op_schema(name)
    except RuntimeError:
        return False
    return True


def _overload(name: str) -> Any:
    space, _, rest = name.partition("::")
    plain, _, overload = rest.partition(".")
    packet = getattr(getattr(import_module("pellucid").ops, space), plain)
    return getattr(packet, overload or "default")


def call_op(name: str, arguments: list[Any]) -> tuple[Any, ...]:
    """The results of an op, given all its arguments in order."""
    op_schema(name)  # raises without one
    schema = _C._op_schema(name)[3]
    keywords = {
        row[0]: value for row, value in zip(schema, arguments, strict=True) if row[-1]
    }
    results = _overload(name)(*arguments[: len(schema) - len(keywords)], **keywords)
    if results is None:
        return ()
    return results if isinstance(results, tuple) else (results,)


def in_order(
    name: str, args: tuple[Any, ...], keywords: dict[str, Any] | None, skipped: int
) -> list[Any]:
    """All arguments of a call of an op in order, defaults included."""
    given = list(args[skipped:])
    for row in _C._op_schema(name)[3][len(given) :]:
        given.append((keywords or {}).get(row[0], row[6]))
    return given


def define(library: Any, schema: str, tags: list[str]) -> None:
    """Adds an op with tags of these names."""
    known = import_module("pellucid").Tag
    library.define(schema, tags=tuple(getattr(known, tag) for tag in tags))


def add_kernel(library: Any, name: str, kernel: Any, key: str, inferred: str) -> None:
    """Registers a kernel; None is one that falls through.

    RuntimeError if the op is defined and its schema is not the ``inferred`` one.
    """
    full_name = f"{library.ns}::{name}"
    if inferred and is_op(full_name):
        _check_kernel(full_name, inferred)
    library.impl(name, library._FALLTHROUGH if kernel is None else kernel, key)


def _check_kernel(name: str, inferred: str) -> None:
    """Compares the types of a C++ function with the schema of its op."""
    _, _, _, declared, returned, _ = _C._op_schema(name)
    given, _, result = inferred.rpartition(" -> ")
    results = result[1:-1] if result.startswith("(") else result
    takes = [_plain(text) for text in re.findall(r"([^ (][^_]*?) _\d+", given)]
    gives = [_plain(text) for text in _BETWEEN_TYPES.split(results) if text]
    wanted = [_plain(row[1]) for row in declared]
    returns = [_plain(row[1]) for row in returned]
    if _differ(takes, wanted) or _differ(gives, returns):
        raise RuntimeError(
            f"{name}: the C++ kernel has other types than the op's schema\n"
            f"the function is {inferred}\nthe op takes ({', '.join(wanted)}) and "
            f"returns ({', '.join(returns)})\nchange the function or the schema"
        )


def _differ(types: list[str], wanted: list[str]) -> bool:
    """Whether two lists of types differ in length, or in types that C++ has."""
    return len(types) != len(wanted) or any(
        a != b and {a.rstrip("[]?"), b.rstrip("[]?")} <= _PLAIN_TYPES
        for a, b in zip(types, wanted, strict=True)
    )


def _plain(text: str) -> str:
    """A schema's type without aliases and sizes."""
    plain = re.sub(r"\(.*?\)|\d", "", text).strip(" ,")
    for word in ("SymInt", "ScalarType", "Layout", "MemoryFormat"):
        plain = plain.replace(word, "int")
    return plain


def add_fallback(library: Any, kernel: Any, key: str) -> None:
    """Registers the kernel of all ops at a key: it takes an op's name first."""
    if kernel is None:
        library.fallback(library._FALLTHROUGH, key)
        return

    def run(op: Any, *args: Any, **kwargs: Any) -> Any:
        return kernel(op._name, *args, **kwargs)

    library.fallback(run, key)
