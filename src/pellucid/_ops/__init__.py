"""``torch.ops``: every op by namespace, name and overload.

``torch.ops.aten.add.Tensor(a, b)`` calls one overload, ``torch.ops.aten.add(a, b)``
whichever fits. Objects are made at first use; an overload is one object for
good, so ``func is torch.ops.aten.add.Tensor`` works in ``__torch_dispatch__``. Calls
are C++ (``runtime/python/op_overload.cpp``). Read next: ``schema.py``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

from pellucid import _C
from pellucid._ops.documentation import documented_by_declarations
from pellucid._ops.higher_order import HigherOrderOperator as HigherOrderOperator
from pellucid._ops.higher_order import by_name
from pellucid._ops.schema import FunctionSchema
from pellucid._ops.tags import TAGS_OF_LIBRARIES
from pellucid._ops.tags import Tag as Tag
from pellucid._ops.waiting import keys_waiting_for
from pellucid._package.calls import offered

_ALL_KEYS = 2**64 - 1
# Compiled libraries, by folder and name, and the module that defines their ops instead.
_OWN_LIBRARIES = {
    ("torchvision", "_C"): "pellucid._library.vision.regions",
    ("torchvision", "image"): "pellucid._library.vision.images",
    ("lib", "_torchaudio"): "pellucid._library.audio.queries",
    ("lib", "libtorchaudio"): "pellucid._library.audio.filters",
}


@documented_by_declarations
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
        """The callable of the op: the overload itself."""
        return self

    @cached_property
    def overloadpacket(self) -> OpOverloadPacket:
        """All overloads of the name."""
        packet: OpOverloadPacket = getattr(getattr(ops, self.namespace), self._opname)
        return packet

    @property
    def _overloadpacket(self) -> OpOverloadPacket:
        """The same, as tables of subclasses name it."""
        return self.overloadpacket

    @property
    def tags(self) -> list[Tag]:
        """The tags of the op."""
        if self._full_name in TAGS_OF_LIBRARIES:
            return list(TAGS_OF_LIBRARIES[self._full_name])
        _, declared = _C._op_facts(self._full_name)
        found = [Tag.pt2_compliant_tag, *(Tag[name] for name in declared.split())]
        if any(a.is_out for a in self._schema.arguments):
            found.append(Tag.out)
        elif self._schema.is_mutable and self._opname.endswith("_"):
            found.append(Tag.inplace)
        return sorted(found, key=lambda tag: tag.value)

    @property
    def is_view(self) -> bool:
        """Whether a result shares an argument's memory without writing it."""
        arguments = self._schema.arguments
        return any(a.alias_info and not a.alias_info.is_write for a in arguments)

    def name(self) -> str:
        """``"aten::add.Tensor"``."""
        return self._full_name

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Whether the op has a kernel of its own at a dispatch key."""
        return _C._dispatch_has_kernel_for_dispatch_key(self._full_name, key)

    def has_kernel_for_any_dispatch_key(self, keys: Any) -> bool:
        """Whether it has one at a key of a DispatchKeySet."""
        return any(self.has_kernel_for_dispatch_key(key) for key in keys)

    def redispatch(self, keyset: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A call that only the keys of ``keyset`` see, and what it calls likewise."""
        others = _C.DispatchKeySet.from_raw_repr(~keyset.raw_repr() & _ALL_KEYS)
        with _C._ForceDispatchKeyGuard(_C.DispatchKeySet.from_raw_repr(0), others):
            return self(*args, **kwargs)

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
    return _C._overload(full_name)


@documented_by_declarations
class OpOverloadPacket:
    """The overloads of one op name, as attributes; a call selects the first match."""

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
        for a in args:  # objects that are not tensors see the op as it was called
            if hasattr(a, "__torch_function__") and not isinstance(a, _C.TensorBase):
                return a.__torch_function__(self, (type(a),), args, kwargs)
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


class _OpNamespace(ModuleType):
    """The ops of one namespace, as attributes."""

    __file__ = "torch.ops"

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self.name = self._namespace = name

    def __getattr__(self, name: str) -> Any:
        if self._namespace == "higher_order" and not name.startswith("__"):
            return by_name(name)
        if self._namespace == "quantized" and not name.startswith("__"):
            registry = import_module("pellucid.ao._quantized.registry")
            if (found := registry.by_name(name)) is not None:
                return found
        full_name = f"{self._namespace}::{name}"
        overloads = None if name.startswith("__") else _C._overloads(full_name)
        if not overloads:
            keys = ", ".join(keys_waiting_for(full_name))
            waiting = f"\nIt has kernels for {keys} but no schema" if keys else ""
            raise AttributeError(
                f"'_OpNamespace' '{self._namespace}' object has no attribute "
                f"'{name}'{waiting}"
            )
        packet = OpOverloadPacket(full_name, overloads)
        setattr(self, name, packet)
        return packet


class _Ops(ModuleType):
    """``torch.ops``: the namespaces, as attributes."""

    __file__ = "_ops.py"

    def __init__(self) -> None:
        super().__init__("torch.ops")
        self.loaded_libraries: set[str] = set()

    def __getattr__(self, name: str) -> _OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = _OpNamespace(name)
        setattr(self, name, namespace)
        return namespace

    def load_library(self, path: str) -> None:
        """Loads a library, whose TORCH_LIBRARYs add ops; those of libraries that
        Pellucid has itself by their names. OSError for a file that cannot be loaded, as
        one that is built against PyTorch's binary.
        """
        folder, file = os.path.split(path)
        name = os.path.basename(folder), file.partition(".")[0]
        own = _OWN_LIBRARIES.get(name)
        if own is None:
            from pellucid.utils._cpp.loading import load_library

            return load_library(path)
        if own not in self.loaded_libraries:
            import_module(own).define()
            self.loaded_libraries.add(own)


ops = offered.value(_Ops())


def packet_named(name: str) -> Any:
    """The op that a function has the name of, PyTorch's or our own; None of others."""
    return getattr(ops.aten, name, None) or getattr(ops.pellucid, name, None)
