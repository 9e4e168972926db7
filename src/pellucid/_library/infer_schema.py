"""The schema of an op from the annotations of its Python function.

Used by ``custom_ops.py``.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable
from collections.abc import Sequence as AnySequence
from typing import Any

import pellucid
from pellucid._tensor import Tensor

_TYPES = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    pellucid.dtype: "ScalarType",
    pellucid.device: "Device",
}


def _word(annotation: Any, where: str) -> str:
    """``Tensor?``, ``SymInt[]`` and their like."""
    if annotation in _TYPES:
        return _TYPES[annotation]
    origin, given = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        kinds = [kind for kind in given if kind is not type(None)]
        if set(kinds) <= {int, float, bool} and len(kinds) > 1:
            return "Scalar" + "?" * (len(kinds) < len(given))
        if len(kinds) == 1 and len(given) == 2:
            return _word(kinds[0], where) + "?"
    if origin in (list, AnySequence) and given:
        return _word(given[0], where) + "[]"
    raise ValueError(
        f"{where} has the annotation {annotation!r}; an op takes Tensor, int, float, "
        "bool, str, dtype, device, lists of these and None beside them"
    )


def _default(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def inferred_schema(
    function: Callable[..., Any], mutates_args: str | Iterable[str]
) -> str:
    """``"(Tensor x, SymInt n=1) -> Tensor"``."""
    hints = typing.get_type_hints(function)
    words: list[str] = []
    is_keyword = False
    parameters = inspect.signature(function).parameters
    written = set(parameters if mutates_args == "unknown" else mutates_args)
    for k, (name, parameter) in enumerate(parameters.items()):
        if name not in hints:
            raise ValueError(f"the argument {name!r} has no annotation: an op's type")
        word = _word(hints[name], f"the argument {name!r}")
        if name in written and word.startswith("Tensor"):
            word = word.replace("Tensor", f"Tensor(a{k}!)", 1)
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            is_keyword = True
            words.append("*")
        has_default = parameter.default is not parameter.empty
        words.append(
            f"{word} {name}" + (f"={_default(parameter.default)}" * has_default)
        )
    return f"({', '.join(words)}) -> {_results(hints.get('return'))}"


def _results(annotation: Any) -> str:
    if annotation is None or annotation is type(None):
        return "()"
    if typing.get_origin(annotation) is tuple:
        kinds = typing.get_args(annotation)
        return f"({', '.join(_word(kind, 'the result') for kind in kinds)})"
    return _word(annotation, "the result")
