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
_ESCAPES = str.maketrans(
    {"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t", "\r": r"\r"}
)
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


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
        f"{where} has unsupported type {annotation}: an op takes Tensor, int, float, "
        "bool, str, dtype, device, lists of these and None beside them"
    )


def _default(name: str, value: Any) -> str:
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, pellucid.device):
        return f'"{value}"'
    if isinstance(value, pellucid.dtype):
        return str(value).partition(".")[2]
    if value is None or isinstance(value, (bool, int, float)):
        return str(value)
    raise ValueError(
        f"Parameter {name} has an unsupported default value type {type(value)}: a "
        "default is a number, a str, None, a dtype or a device"
    )


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except NameError as error:
        raise ValueError(
            f"Unsupported type annotation: {error}\nAnnotations given as strings must "
            "name what the function's module knows."
        ) from error


def _argument(
    parameter: inspect.Parameter, hint: Any, number: int, is_written: bool
) -> str:
    name = parameter.name
    word = _word(hint, f"Parameter {name}")
    if is_written:
        if not word.startswith("Tensor"):
            raise ValueError(
                f"Parameter {name} is in mutable_args but only Tensors or collections "
                "of Tensors can be mutated"
            )
        word = word.replace("Tensor", f"Tensor(a{number}!)", 1)
    if parameter.default is parameter.empty:
        return f"{word} {name}"
    return f"{word} {name}={_default(name, parameter.default)}"


def inferred_schema(
    function: Callable[..., Any], mutates_args: str | Iterable[str]
) -> str:
    """``"(Tensor x, SymInt n=1) -> Tensor"``.

    ValueError, which names the parameter, for annotations that no op has.
    """
    signature = inspect.signature(function)
    parameters = signature.parameters
    try:
        return _schema_of(function, parameters, mutates_args)
    except ValueError as error:
        raise ValueError(
            f"infer_schema(func): {error}\nGot func with signature {signature}"
        ) from error


def _schema_of(
    function: Callable[..., Any],
    parameters: typing.Mapping[str, inspect.Parameter],
    mutates_args: str | Iterable[str],
) -> str:
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that "
            f"are mutated or the string 'unknown', not {mutates_args!r}"
        )
    unknown = set(mutates_args) - set(parameters)
    if mutates_args != "unknown" and unknown:
        raise ValueError(
            f"{', '.join(sorted(unknown))} in mutates_args were not found in the "
            "names of the args"
        )
    hints = _hints(function)
    words: list[str] = []
    for number, (name, parameter) in enumerate(parameters.items()):
        if parameter.kind not in _NAMED:
            raise ValueError(
                "We do not support positional-only args, varargs, or varkwargs."
            )
        if name not in hints:
            raise ValueError(f"Parameter {name} must have a type annotation.")
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        is_tensor = _word(hints[name], f"Parameter {name}").startswith("Tensor")
        is_written = is_tensor if mutates_args == "unknown" else name in mutates_args
        words.append(_argument(parameter, hints[name], number, is_written))
    return f"({', '.join(words)}) -> {_results(hints.get('return'))}"


def _results(annotation: Any) -> str:
    if annotation is None or annotation is type(None):
        return "()"
    if typing.get_origin(annotation) is tuple:
        kinds = typing.get_args(annotation)
        return f"({', '.join(_word(kind, 'Return') for kind in kinds)})"
    return _word(annotation, "Return")
