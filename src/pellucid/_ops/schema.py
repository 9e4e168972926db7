"""``OpOverload._schema``: an op's schema taken apart, as PyTorch's objects show it.

Made from what the runtime parsed (``runtime/python/op_listing.cpp``), so schemas have
one parser. Used by ``_ops/__init__.py``.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

# "float eps=1e-05" of a schema's text: type, name, default.
_DEFAULT = re.compile(r"(\S+) (\w+)=(\[[^]]*\]|'[^']*'|\"[^\"]*\"|[^,)]+)")
# Number for "Tensor|Scalar", a symbolic size for "int|SymInt": PyTorch knows neither.
_ALSO_TAKEN = re.compile(r"\|(Scalar|SymInt)")
_NAMED_DEFAULTS = {"Mean": "1", "contiguous_format": "0", "long": "4"}


def _printed(argument: re.Match[str]) -> str:
    """An argument with its default as PyTorch prints it: parsed, then written again."""
    kind, name, default = argument.groups()
    size = re.fullmatch(r"(int|SymInt)\[(\d+)\]", kind)
    if default[0] == "'":
        default = f'"{default[1:-1]}"'
    elif size and default[0] != "[" and (size[1] == "SymInt" or size[2] == "1"):
        default = f"[{', '.join([default] * int(size[2]))}]"
    elif kind.startswith("float") or (kind == "Scalar" and "." in default):
        default = _printed_float(default)
    return f"{kind} {name}={_NAMED_DEFAULTS.get(default, default)}"


def _printed_float(text: str) -> str:
    """Seventeen digits, and a point behind an integer."""
    if text in ("None", "True", "False") or text[0] == "[":
        return text
    digits = f"{float(text):.17g}"
    return digits if set(digits) & set(".en") else f"{digits}."


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
    """One argument or result."""

    name: str
    type: str
    alias_info: AliasInfo | None
    default_value: Any = None
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
        default: Any,
        has_default: bool,
        keyword_only: bool,
    ) -> Argument:
        """From what ``_C._op_schema`` gives of an argument."""
        type_text = _ALSO_TAKEN.sub("", kind)
        info = AliasInfo.read(alias)
        return Argument(
            name, type_text, info, default, has_default, keyword_only, size or None
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
        return FunctionSchema(
            f"{namespace}::{name}",
            overload,
            [Argument.read(*entry) for entry in arguments],
            [
                Argument(given, kind, AliasInfo.read(alias))
                for given, kind, alias in returns
            ],
            f"{namespace}::{_DEFAULT.sub(_printed, _ALSO_TAKEN.sub('', text))}",
        )

    @property
    def is_mutable(self) -> bool:
        """Whether the op writes an argument."""
        return any(argument.is_write for argument in self.arguments)

    def __str__(self) -> str:
        return self.text
