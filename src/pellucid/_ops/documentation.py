"""Docstrings of ``torch.ops.aten.add``: what the declaration of the op says.

They are read off the frozen file when somebody asks for them. Marks the classes of
``__init__.py``.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pellucid import _C

_Class = TypeVar("_Class", bound=type)


class _Docstring:
    """The class's docstring; of its instances that of their op, if it is declared."""

    def __init__(self, of_class: str | None) -> None:
        self.of_class = of_class

    def __get__(self, op: Any, owner: type | None = None) -> str | None:
        if op is None:
            return self.of_class
        namespace, name, *_ = str(op).split(".")
        known = name if namespace == "aten" else f"{namespace}::{name}"
        return _C._op_documentation(known) or self.of_class


def documented_by_declarations(cls: _Class) -> _Class:
    """A class of ops, whose instances are shown as ``aten.add`` or ``aten.add.out``."""
    docstring: Any = _Docstring(cls.__doc__)
    cls.__doc__ = docstring
    return cls
