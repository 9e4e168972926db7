"""The op of a recorded call, at the key of its arguments, as the runtime asks for it.

The arguments that the timeline recorded become the items of the runtime's own request
(``runtime/ops/trace.cpp``), so what is found is what ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import _C
from pellucid.profiler._timeline.facts import (
    IGNORED,
    UNRECORDED,
    DTypeName,
    TensorFacts,
)


def op_of(name: str, arguments: Sequence[Any]) -> Any:
    """The `KeyedOp` of a call. NotImplementedError of composites, of kernels written by
    hand, and where an argument is not recorded.
    """
    import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
    from pellucid_compiler.declare.op import REGISTRY
    from pellucid_compiler.declare.tracing import with_default_dtype
    from pellucid_compiler.specialise.answer import resolve

    if UNRECORDED in arguments:
        raise NotImplementedError(f"{name} has an argument that is not recorded")
    default = str(pellucid.get_default_dtype()).removeprefix("torch.")
    with with_default_dtype(default):
        if name.startswith("derivative::"):
            return resolve(_C._derivative_origin(name), request_items(arguments))
        declared = _functional(name, REGISTRY)
        count = len(REGISTRY[declared].schema.arguments)
        if count and not arguments:
            raise NotImplementedError(f"the arguments of {name} are not recorded")
        return resolve(declared, request_items(arguments[:count]))


def is_of_sizes(name: str) -> bool:
    """Whether only the sizes and types of an op's arguments decide what it computes and
    moves: of views, and of ops on elements.
    """
    import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
    from pellucid_compiler.declare.op import REGISTRY, SCALAR_KINDS

    try:
        kind = REGISTRY[_functional(name, REGISTRY)].kind
    except NotImplementedError:
        return False
    return kind == "view" or kind in SCALAR_KINDS


def _functional(name: str, registry: Any) -> str:
    """The declared op that an op is a variant of: ``add.Tensor`` of ``add_.Tensor``."""
    base, _, overload = name.removeprefix("aten::").partition(".")
    for candidate in (base, base.removesuffix("_")):
        full = f"{candidate}.{overload}" if overload else candidate
        if full in registry:
            return full
    raise NotImplementedError(f"{name} is not declared")


def request_items(arguments: Sequence[Any]) -> list[Any]:
    """Recorded arguments as a request has them (``pellucid_compiler/abi/items.py``)."""
    from pellucid_compiler.abi.items import REQUEST

    return [REQUEST.encode(_item(argument)) for argument in arguments]


def _item(argument: Any) -> Any:
    from pellucid_compiler.abi.items import DTypeItem, Ignored, ListItem, TensorLike

    if argument is IGNORED:
        return Ignored()
    if isinstance(argument, TensorFacts):
        return TensorLike(argument.dtype, argument.shape)
    if isinstance(argument, DTypeName):
        return DTypeItem(str(argument))
    if isinstance(argument, list):
        return ListItem(tuple(map(_item, argument)))
    return argument
