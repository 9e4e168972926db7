"""``torch.fx.operator_schemas``: matches arguments of calls to signatures."""

from __future__ import annotations

import inspect
import numbers
import types
import typing
from collections.abc import Callable
from typing import Any, NamedTuple

import pellucid
from pellucid import _C
from pellucid.fx.node import Argument

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
    "type_matches",
]

_ANNOTATIONS = {
    "Tensor": pellucid.Tensor,
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "Device": pellucid.device,
    "ScalarType": int,
    "Layout": int,
    "MemoryFormat": int,
    "number": numbers.Number,
    "Scalar": numbers.Number,
    "SymInt": int,
    "Generator": _C.Generator,
}


class ArgsKwargsPair(NamedTuple):
    """Arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def _schemas_of(op: Any) -> list[Any]:
    is_overload = isinstance(op, _C._OpOverloadBase)
    if is_overload:
        return [op._schema]
    from pellucid._ops import OpOverloadPacket, packet_named

    if isinstance(op, OpOverloadPacket):
        return [getattr(op, name)._schema for name in op.overloads()]
    if not isinstance(op, types.BuiltinFunctionType | types.BuiltinMethodType):
        return []
    if not str(getattr(op, "__module__", "")).startswith("pellucid"):
        return []
    packet = packet_named(op.__name__)
    if packet is None:
        return []
    return [getattr(packet, name)._schema for name in packet.overloads()]


def _list_of(kind: Any) -> Any:
    made: Any = typing.List  # noqa: UP006 (what callers compare with)
    return made[kind]


def _annotation(type_: Any) -> Any:
    text = str(type_)
    if text.endswith("?"):
        return typing.Optional[_annotation(text[:-1])]  # noqa: UP045 (what callers compare with)
    if "[" in text and text.endswith("]"):
        return _list_of(_annotation(text[: text.index("[")]))
    return _ANNOTATIONS.get(text.partition("(")[0], Any)


def _signature_of(schema: Any) -> inspect.Signature:
    parameters = []
    for argument in schema.arguments:
        is_keyword = bool(getattr(argument, "kwarg_only", False))
        kind = (
            inspect.Parameter.KEYWORD_ONLY
            if is_keyword
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        has_default = argument.has_default_value()
        parameters.append(
            inspect.Parameter(
                "input" if argument.name == "self" else argument.name,
                kind,
                default=argument.default_value
                if has_default
                else inspect.Parameter.empty,
                annotation=_annotation(argument.type),
            )
        )
    return inspect.Signature(parameters)


def get_signature_for_torch_op(
    op: Callable[..., Any], return_schemas: bool = False
) -> Any:
    """The signatures of an op's overloads, or None for anything but an op."""
    schemas = _schemas_of(op)
    if not schemas:
        return (None, None) if return_schemas else None
    signatures = [_signature_of(schema) for schema in schemas]
    return (signatures, schemas) if return_schemas else signatures


def check_for_mutable_operation(
    target: Callable[..., Any], args: tuple[Argument, ...], kwargs: dict[str, Argument]
) -> None:
    """Raises RuntimeError if the call writes to an argument in place."""
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    for signature, schema in zip(signatures or (), schemas or (), strict=True):
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            continue
        if schema.is_mutable:
            raise RuntimeError(
                f"Tried to trace mutable operation {schema}. FX only supports "
                "functional code, so operations that mutate operands in-place (e.g. "
                "via "
                "`out` arguments) are not supported"
            )
        return


def create_type_hint(x: Any) -> Any:
    """The type of a container of types: ``List[int]`` of ``[int, int]``."""
    if isinstance(x, list | tuple):
        made: Any = typing.List if isinstance(x, list) else typing.Tuple  # noqa: UP006
        if not x:
            return made[Any] if isinstance(x, list) else made[Any, ...]
        base = x[0]
        for kind in x:
            if issubclass(base, kind):
                base = kind
            elif not issubclass(kind, base):
                base = Any
                break
        return made[base] if isinstance(x, list) else made[base, ...]
    return x


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether a value of ``argument_type`` is accepted by a parameter of
    ``signature_type``."""
    if signature_type is argument_type or signature_type is Any:
        return True
    origin = typing.get_origin(signature_type)
    if origin is typing.Union:
        return any(
            type_matches(kind, argument_type)
            for kind in typing.get_args(signature_type)
        )
    if signature_type == typing.List[int] and argument_type is int:  # noqa: UP006
        return True
    if origin is list:
        inner = typing.get_args(signature_type)[0]
        given = typing.get_args(argument_type)
        if typing.get_origin(argument_type) in (list, tuple):
            kinds = [kind for kind in given if kind is not ...]
            return all(type_matches(inner, kind) for kind in kinds)
        return False
    if signature_type is numbers.Number and argument_type in (int, float, complex):
        return True
    if inspect.isclass(argument_type) and inspect.isclass(signature_type):
        return issubclass(argument_type, signature_type)
    return False


def _signature_for(target: Any, args: Any, kwargs: Any, types_: Any) -> Any:
    signatures = get_signature_for_torch_op(target)
    if signatures is None:
        try:
            return inspect.signature(inspect.unwrap(target))
        except (TypeError, ValueError):
            return None
    fitting = []
    for signature in signatures:
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            continue
        fitting.append(signature)
    if len(fitting) > 1:
        if types_ is None:
            agreed = {tuple(s.parameters) for s in fitting}
            return fitting[0] if len(agreed) == 1 else None
        arg_types, kwarg_types = types_
        fitting = [s for s in fitting if _types_fit(s, arg_types, kwarg_types)]
    return fitting[0] if fitting else None


def _types_fit(signature: inspect.Signature, args: Any, kwargs: Any) -> bool:
    bound = signature.bind(*(args or ()), **(kwargs or {}))
    return all(
        type_matches(signature.parameters[name].annotation, kind)
        for name, kind in bound.arguments.items()
    )


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments with defaults, by the function's signature; all by name with
    ``normalize_to_only_use_kwargs``. None if the overload is ambiguous.
    """
    kwargs = kwargs or {}
    types_ = None
    if arg_types is not None or kwarg_types is not None:
        types_ = (arg_types, kwarg_types)
    signature = _signature_for(target, args, kwargs, types_)
    if signature is None:
        return None
    try:
        return _args_kwargs_to_normalized(
            signature, args, kwargs, normalize_to_only_use_kwargs
        )
    except TypeError:
        return None


def normalize_module(
    root: pellucid.nn.Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The same for the ``forward`` of a submodule."""
    module = root.get_submodule(target)
    signature = inspect.signature(inspect.unwrap(module.forward))
    return _args_kwargs_to_normalized(
        signature, args, kwargs or {}, normalize_to_only_use_kwargs
    )


def normalize_call(
    target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any] | None:
    """All arguments by name, including defaults; None if the signature is unknown."""
    if isinstance(target, str):
        return None
    pair = normalize_function(target, args, kwargs, normalize_to_only_use_kwargs=True)
    return None if pair is None else pair.kwargs


def _args_kwargs_to_normalized(
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    only_kwargs: bool,
) -> ArgsKwargsPair | None:
    kinds = {p.kind for p in signature.parameters.values()}
    supported = {
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.KEYWORD_ONLY,
    }
    if not kinds <= supported:
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    new_args, new_kwargs = [], {}
    for index, name in enumerate(signature.parameters):
        if not only_kwargs and index < len(args):
            new_args.append(bound.arguments[name])
        else:
            new_kwargs[name] = bound.arguments[name]
    return ArgsKwargsPair(tuple(new_args), new_kwargs)
