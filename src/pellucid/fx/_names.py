"""Names in graphs: of nodes, of values used by generated code, of types.

Generated code looks like PyTorch's: a function of Pellucid has its name under
``torch``. Used by ``node.py``, ``graph.py`` and ``_codegen.py``.
"""

from __future__ import annotations

import builtins
import inspect
import keyword
import re
import types
import typing
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import _C

_TENSOR_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType)
_ILLEGAL = re.compile("[^0-9a-zA-Z_]+")
_NUMBERED = re.compile(r"(.*)_(\d+)$")
_SNAKE = re.compile(r"(?<=[a-z])([A-Z])")
_PACKAGE = re.compile(r"\bpellucid\b")


class CustomBuiltin(typing.NamedTuple):
    """A name that generated code may use: the import statement and the object."""

    import_str: str
    obj: Any


custom_builtins: dict[str, CustomBuiltin] = {}


def register_custom_builtin(name: str, import_str: str, obj: Any) -> None:
    """Makes generated code use ``name`` for ``obj``."""
    custom_builtins[name] = CustomBuiltin(import_str, obj)


def snake_case(name: str) -> str:
    """``MyModule`` as ``my_module``"""
    return _SNAKE.sub(r"_\1", name).lower()


def as_torch(name: str) -> str:
    """The public form of a name of this package."""
    return _PACKAGE.sub("torch", name)


class Namespace:
    """The names that one graph uses."""

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = defaultdict(int)

    def create_name(self, candidate: str, obj: Any) -> str:
        """A unique name based on ``candidate``; the same for the same ``obj``."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = _ILLEGAL.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = _NUMBERED.match(candidate)
        base, number = (match[1], int(match[2])) if match else (candidate, None)
        if candidate in self._used_names and not number:
            number = self._base_count[base]
            candidate = f"{base}_{number}" if number else candidate
        while candidate in self._used_names or self._is_illegal_name(candidate, obj):
            number = number + 1 if number else 1
            candidate = f"{base}_{number}"
        self._used_names.add(candidate)
        self._base_count[base] = number or 0
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Gives ``obj`` a name that is already in use."""
        if self._obj_to_name.setdefault(obj, name) != name:
            raise AssertionError(f"the object has the name {self._obj_to_name[obj]}")

    def _is_illegal_name(self, name: str, obj: Any) -> bool:
        if keyword.iskeyword(name):
            return True
        if name in builtins.__dict__:
            return obj is not builtins.__dict__[name]
        if name in custom_builtins:
            return obj is not custom_builtins[name].obj
        return False

    def _rename_object(self, obj: Any, name: str) -> None:
        if obj not in self._obj_to_name:
            raise AssertionError(f"{obj} has no name to replace")
        self._obj_to_name[obj] = name
        self._used_names.add(name)


def module_of(function: Callable[..., Any]) -> str:
    """The module in which a function can be looked up by its name."""
    module = getattr(function, "__module__", None)
    if module is not None:
        return str(module)
    name = function.__name__
    for guess in (pellucid, pellucid.nn.functional):
        if getattr(guess, name, None) is function:
            return guess.__name__
    raise RuntimeError(f"cannot find module for {function}")


def qualified_name(function: Callable[..., Any]) -> str:
    """A function's qualified name in generated code: ``torch.nn.functional.relu``."""
    if isinstance(function, _C._OpOverloadBase):
        return f"torch.ops.{function}"
    name = getattr(function, "__name__", None) or type(function).__name__
    if getattr(builtins, name, None) is function:
        return name
    is_method = isinstance(function, _TENSOR_METHODS)
    if is_method and function is getattr(pellucid.Tensor, name, None):
        return f"torch.Tensor.{name}"
    if name == "<lambda>":
        source = inspect.getsource(function).strip()
        raise RuntimeError(
            f"Unable to represent a lambda function in generated code: {source}"
        )
    if isinstance(function, _op_packets()):
        return f"torch.ops.{function}"
    return f"{as_torch(module_of(function))}.{name}"


def _op_packets() -> Any:
    from pellucid._ops import OpOverloadPacket

    return OpOverloadPacket


def is_from_torch(obj: Any) -> bool:
    """Whether generated code accesses it through ``torch``."""
    module = getattr(obj, "__module__", None)
    if module is not None:
        return str(module).partition(".")[0] in ("pellucid", "torch")
    name = getattr(obj, "__name__", None)
    if name is not None and name != "torch":
        for space in (pellucid, pellucid.nn.functional, pellucid.ops):
            if getattr(space, name, None) is obj:
                return True
    return isinstance(obj, _C._OpOverloadBase)


def type_repr(kind: Any) -> str:
    """A type as annotations write it: ``int``, ``torch.Tensor``,
    ``typing.List[int]``
    """
    if isinstance(kind, type) and not isinstance(kind, types.GenericAlias):
        if kind.__module__ == "builtins":
            return kind.__qualname__
        return as_torch(f"{kind.__module__}.{kind.__qualname__}")
    if kind is ...:
        return "..."
    if isinstance(kind, types.FunctionType):
        return kind.__name__
    return as_torch(repr(kind))
