"""PyTorch's schema language: ``add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)
-> Tensor``.

``parse_schema`` returns the arguments with their types and defaults. ``int``, ``bool``,
``str``, ``ScalarType`` and whether an argument is None are *static*: part of the
specialisation key. ``SymInt``, ``float`` and ``Scalar`` are *symbolic*: numbers known
when the op runs. ``abi/schema_types.py`` has the types, and says why the runtime has a
parser too.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from pellucid_compiler.abi.dtypes import NUMBERS
from pellucid_compiler.abi.schema_types import (
    IGNORED_WORDS,
    NAMED_DEFAULTS,
    STATIC_WORDS,
    WORDS,
)

_HEAD: Final = re.compile(
    r"^(?:(?P<name_space>\w+)::)?(?P<name>\w+)(?:\.(?P<overload>\w+))?"
    r"\((?P<args>.*)\)\s*->\s*"
)
_TYPE: Final = re.compile(
    r"^(?P<base>Dict\([^)]*\)|\w+)(?:\((?P<alias>[^)]*)\))?(?P<inner>\?)?"
    r"(?:\[(?P<length>\d*)\])?(?P<outer>\?)?$"
)
_CONSTANTS: Final = {"None": None, "True": True, "False": False}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}
_DTYPES: Final = {number: name for name, number in NUMBERS.items()}


class Argument(NamedTuple):
    """One argument of an op.

    ``length`` is None for a single value, 0 for a list of any length, n for ``T[n]``,
    where one value means n equal ones. ``mutated``: the op writes it
    (``Tensor(a!)``).
    """

    name: str
    type: str
    optional: bool
    length: int | None
    element_optional: bool
    mutated: bool
    keyword_only: bool
    has_default: bool
    default: Any
    text: str

    @property
    def is_tensor(self) -> bool:
        return self.type == "Tensor"

    @property
    def is_static(self) -> bool:
        return self.type in STATIC_WORDS or self.type == "Generator"  # no number

    @property
    def is_ignored(self) -> bool:
        """Whether no plan depends on it."""
        return self.type in IGNORED_WORDS

    @property
    def is_list(self) -> bool:
        return self.length is not None


class Return(NamedTuple):
    name: str | None
    type: str
    is_list: bool
    alias: str | None


class Schema(NamedTuple):
    """``name_space`` is empty for PyTorch's ops, which are in ``aten`` at run time."""

    text: str
    name_space: str
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]

    @property
    def op_name(self) -> str:
        """The name that the overloads share: ``add``, ``pellucid::_gru``."""
        return f"{self.name_space}::{self.name}" if self.name_space else self.name

    @property
    def full_name(self) -> str:
        return f"{self.op_name}.{self.overload}" if self.overload else self.op_name

    def with_symbolic(self, names: tuple[str, ...]) -> Schema:
        """The schema with these ``int`` arguments symbolic; its text is unchanged."""
        for name in names:
            if self.argument(name).type != "int":
                raise ValueError(f"{self.full_name}: {name} is not an int")
        arguments = (
            a._replace(type="SymInt") if a.name in names else a for a in self.arguments
        )
        return self._replace(arguments=tuple(arguments))

    def argument(self, name: str) -> Argument:
        return next(a for a in self.arguments if a.name == name)


def parse_schema(text: str) -> Schema:
    """The parts of a schema; ``ValueError`` names what cannot be read."""
    head = _HEAD.match(text)
    if head is None:
        raise ValueError(f"not a schema: {text!r}")
    arguments: list[Argument] = []
    keyword_only = False
    for part in _split(head["args"]):
        if part == "*":
            keyword_only = True
            continue
        argument = _argument(part, keyword_only)
        follows_default = arguments and arguments[-1].has_default
        if follows_default and not keyword_only and not argument.has_default:
            raise ValueError(
                f"not a schema: {argument.name!r} needs a default, as the argument "
                f"before has one: {text!r}"
            )
        arguments.append(argument)
    returns = tuple(_return(part) for part in _split(_unwrap(text[head.end() :])))
    return Schema(
        text,
        head["name_space"] or "",
        head["name"],
        head["overload"] or "",
        tuple(arguments),
        returns,
    )


def _split(text: str) -> list[str]:
    """``text`` at its top-level commas."""
    parts, depth, start = [], 0, 0
    for found in re.finditer(r"""[(\[)\],]|"(?:\\.|[^"])*"|'(?:\\.|[^'])*'""", text):
        token = found[0]
        depth += (token in "([") - (token in ")]")
        if token == "," and depth == 0:
            parts.append(text[start : found.start()].strip())
            start = found.end()
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _unwrap(text: str) -> str:
    text = text.strip()
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def _parse_type(text: str) -> re.Match[str]:
    found = _TYPE.match(text)
    if found is None or found["base"] not in WORDS:
        raise ValueError(f"not a type of the schema language: {text!r}")
    return found


def _argument(text: str, keyword_only: bool) -> Argument:
    declared, _, default = text.partition("=")
    type_text, _, name = declared.strip().rpartition(" ")
    found = _parse_type(type_text.strip())
    is_list = found["length"] is not None
    return Argument(
        name=name,
        type=found["base"],
        optional=bool(found["outer"] if is_list else found["inner"] or found["outer"]),
        length=int(found["length"] or 0) if is_list else None,
        element_optional=is_list and bool(found["inner"]),
        mutated="!" in (found["alias"] or ""),
        keyword_only=keyword_only,
        has_default=bool(default),
        default=_default(default.strip(), found["base"]) if default else None,
        text=text,
    )


def _default(text: str, base: str) -> Any:
    """The value that ``text`` means; of dtypes the name, of layouts and memory
    formats the text.
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text.startswith("[") and text.endswith("]"):
        return [_default(part, base) for part in _split(text[1:-1])]
    if text[0] in "'\"":
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1])
    if base == "ScalarType":
        return _DTYPES[NAMED_DEFAULTS[text] if text in NAMED_DEFAULTS else int(text)]
    if text in NAMED_DEFAULTS and base in ("int", "SymInt"):
        return NAMED_DEFAULTS[text]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _return(text: str) -> Return:
    type_text, closing, rest = text.rpartition(")")  # Dict(Tensor, Tensor)
    last, _, name = rest.partition(" ")
    found = _parse_type(type_text + closing + last)
    return Return(
        name or None, found["base"], found["length"] is not None, found["alias"]
    )
