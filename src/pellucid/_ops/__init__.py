"""``torch.ops``: every op by namespace, name and overload.

``torch.ops.aten.add.Tensor(a, b)`` calls one overload, ``torch.ops.aten.add(a, b)``
whichever fits. Objects are made when first asked for; an overload is one object for
good, so ``func is torch.ops.aten.add.Tensor`` works in ``__torch_dispatch__``. Calls
are C++ (``runtime/python/op_overload.cpp``). Read next: ``schema.py``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from functools import cached_property
from importlib import import_module
from typing import Any

from pellucid import _C
from pellucid._ops.absent import define as define_absent
from pellucid._ops.schema import FunctionSchema


class Tag(Enum):
    """What can be said of an op without running it."""

    pointwise = "pointwise"
    nondeterministic_seeded = "nondeterministic_seeded"
    data_dependent_output = "data_dependent_output"
    inplace_view = "inplace_view"


# Compiled libraries, by folder and name, and the module that defines their ops instead.
_OWN_LIBRARIES = {
    ("torchvision", "_C"): "pellucid._vision.regions",
    ("torchvision", "image"): "pellucid._vision.images",
}
_TAGS_OF_KINDS = {
    "pointwise": [Tag.pointwise],
    "random": [Tag.nondeterministic_seeded],
    "data_dependent": [Tag.data_dependent_output],
}


class OpOverload(_C._OpOverloadBase):
    """One overload of an op: ``torch.ops.aten.add.Tensor``."""

    @cached_property
    def _schema(self) -> FunctionSchema:
        return FunctionSchema.read(self._schema_parts)

    @property
    def _opname(self) -> str:
        return self._schema.name.partition("::")[2]

    @property
    def _overloadname(self) -> str:
        return self._schema.overload_name or "default"

    @property
    def namespace(self) -> str:
        """The part before the ``::`` of its name."""
        return self._schema.name.partition("::")[0]

    @property
    def __name__(self) -> str:
        return f"{self._opname}.{self._overloadname}"

    @property
    def op(self) -> Callable[..., Any]:
        """What a call runs: the overload itself."""
        return self

    @cached_property
    def overloadpacket(self) -> OpOverloadPacket:
        """All overloads of the name."""
        packet: OpOverloadPacket = getattr(getattr(ops, self.namespace), self._opname)
        return packet

    @cached_property
    def tags(self) -> list[Tag]:
        """What is known of the op."""
        kinds = {entry[0]: entry[1] for entry in _C._list_ops()}
        return _TAGS_OF_KINDS.get(kinds[self._full_name], [])

    @property
    def is_view(self) -> bool:
        """Whether a result shares an argument's memory without writing it."""
        arguments = self._schema.arguments
        return any(a.alias_info and not a.alias_info.is_write for a in arguments)

    def name(self) -> str:
        """``"aten::add.Tensor"``."""
        return self._full_name

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __repr__(self) -> str:
        return (
            f"<OpOverload(op='{self.namespace}.{self._opname}', "
            f"overload='{self._overloadname}')>"
        )

    def __hash__(self) -> int:
        return id(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> OpOverload:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _named_overload, (self._full_name,)


def _named_overload(full_name: str) -> Any:
    """An overload by its full name; what pickles call."""
    name, _, overload = full_name.partition(".")
    return _C._overloads(name)[overload or "default"]


class OpOverloadPacket:
    """The overloads of one op name, as attributes; a call takes the first that fits."""

    def __init__(self, name: str, overloads: dict[str, Any]) -> None:
        self._qualified_op_name = name
        self.__name__ = name.partition("::")[2]
        self._overloads = overloads

    def overloads(self) -> list[str]:
        """The overloads' names."""
        return list(self._overloads)

    def __getattr__(self, overload: str) -> Any:
        known = self.__dict__.get("_overloads", {})
        if known and overload not in known and not overload.startswith("__"):
            known.update(_C._overloads(self._qualified_op_name))
        if overload in known:
            return known[overload]
        raise AttributeError(
            f"the op {self._qualified_op_name} has no overload {overload!r}; it has "
            f"{', '.join(self._overloads)}"
        )

    def __iter__(self) -> Any:
        return iter(self._overloads)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        mismatch: TypeError | None = None
        for function in self._overloads.values():
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                mismatch = mismatch or error
        assert mismatch is not None
        raise mismatch

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class _OpNamespace:
    """The ops of one namespace, as attributes."""

    def __init__(self, name: str) -> None:
        self._namespace = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        full_name = f"{self._namespace}::{name}"
        overloads = None if name.startswith("__") else _C._overloads(full_name)
        if not overloads and self._namespace == "aten":
            define_absent(name)
            overloads = _C._overloads(full_name)
        if not overloads:
            raise AttributeError(f"there is no op {full_name}")
        packet = OpOverloadPacket(full_name, overloads)
        setattr(self, name, packet)
        return packet


class _Ops:
    """``torch.ops``: the namespaces, as attributes."""

    def __init__(self) -> None:
        self.loaded_libraries: set[str] = set()

    def __getattr__(self, name: str) -> _OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = _OpNamespace(name)
        setattr(self, name, namespace)
        return namespace

    def load_library(self, path: str) -> None:
        """The ops of a library that Pellucid has itself; OSError for others, which are
        built against PyTorch's binary.
        """
        folder, file = os.path.split(path)
        name = os.path.basename(folder), file.partition(".")[0]
        own = _OWN_LIBRARIES.get(name)
        if own is None:
            raise OSError(
                f"{path} cannot be loaded: libraries of ops are built against "
                "PyTorch's binary\nDefine the ops in Python (torch.library), or build "
                "them with pellucid/extension.h."
            )
        if own not in self.loaded_libraries:
            import_module(own).define()
            self.loaded_libraries.add(own)


ops = _Ops()
