"""``OpOverload._schema``: an op's schema taken apart, as PyTorch's objects show it.

Made from what the runtime parsed and prints (``runtime/python/op_listing.cpp``). Used
by ``_ops/__init__.py``.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

# Number for "Tensor|Scalar", a symbolic size for "int|SymInt": PyTorch knows neither.
_ALSO_TAKEN = re.compile(r"\|(Scalar|SymInt)")


class AliasInfo(NamedTuple):
    """Which memory an argument or result shares, and whether the op writes it."""

    before_set: frozenset[str]
    after_set: frozenset[str]
    is_write: bool

    @staticmethod
    def read(annotation: str) -> AliasInfo | None:
        """Of ``"a"``, ``"a!"``, ``"a -> *"``; None where there is none."""
        if not annotation:
            return None
        before, _, after = annotation.replace("!", "").partition("->")
        names = frozenset(part.strip() for part in before.split("|"))
        later = frozenset(part.strip() for part in after.split("|")) if after else names
        return AliasInfo(names, later, "!" in annotation)


class Argument(NamedTuple):
    """One argument or result. ``default_value`` has PyTorch's number of a dtype, a
    layout or a memory format, ``default`` the object that a call takes.
    """

    name: str
    type: str
    alias_info: AliasInfo | None
    default_value: Any = None
    default: Any = None
    has_default: bool = False
    kwarg_only: bool = False
    N: int | None = None

    @staticmethod
    def read(
        name: str,
        kind: str,
        alias: str,
        optional: bool,
        size: int,
        number: Any,
        default: Any,
        has_default: bool,
        keyword_only: bool,
    ) -> Argument:
        """From what ``_C._op_schema`` gives of an argument."""
        type_text = _ALSO_TAKEN.sub("", kind)
        info = AliasInfo.read(alias)
        return Argument(
            *(name, type_text, info, number, default, has_default, keyword_only),
            size or None,
        )

    def has_default_value(self) -> bool:
        """Whether a call may leave it out."""
        return self.has_default

    @property
    def is_write(self) -> bool:
        """Whether the op writes it."""
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def is_out(self) -> bool:
        """Whether it is where a result goes."""
        return self.kwarg_only and self.is_write


class FunctionSchema(NamedTuple):
    """``add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor``."""

    name: str
    overload_name: str
    arguments: list[Argument]
    returns: list[Argument]
    text: str

    @staticmethod
    def read(parts: tuple[Any, ...]) -> FunctionSchema:
        """From what ``_C._op_schema`` gives."""
        namespace, name, overload, arguments, returns, text = parts
        full_name = f"{namespace}::{name}" if namespace else name
        return FunctionSchema(
            full_name,
            overload,
            [Argument.read(*entry) for entry in arguments],
            [
                Argument(given, kind, AliasInfo.read(alias))
                for given, kind, alias in returns
            ],
            f"{full_name}.{overload}{text}" if overload else f"{full_name}{text}",
        )

    @property
    def is_mutable(self) -> bool:
        """Whether the op writes an argument."""
        return any(argument.is_write for argument in self.arguments)

    def __str__(self) -> str:
        return self.text
