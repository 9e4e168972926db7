"""What the methods and attributes of Tensor are: queries, ops, or neither.

Nothing is listed here that is known elsewhere: the runtime marks the queries where it
defines them, the op table knows the ops and what they return, and the class its
properties. Asked by ``read_set.py`` (does a call read only what a replay compares?) and
``capture/callables.py`` (is it part of a graph?).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, Final

from pellucid import _C, Tag, Tensor

QUERIES: Final = frozenset((*_C._tensor_queries(), "__len__", "dim_order"))
"""They depend on geometry, dtype, place and flags, not on elements: ``shape``."""

OF_PLACE: Final = frozenset(("storage_offset",))
"""Those of them that tell where in its memory a tensor is: replays accept arguments in
any place."""

ON_CPU: Final = {"is_cpu": True, "is_meta": False, "get_device": -1}
"""Those of them that tell the device, with the answers for the CPU; and ``device``."""

TENSOR_PROPERTIES: Final = frozenset(
    name
    for name, member in vars(Tensor).items()
    if isinstance(member, property)
    and member.fget is not None
    and member.fget.__annotations__.get("return") == "Tensor"
)
"""Attributes that are ops: ``T``, ``real``."""


@functools.cache
def method_ops() -> frozenset[str]:
    """The names of the methods that are ops."""
    return frozenset(
        name.rpartition("::")[2].partition(".")[0]
        for name, _, is_method, *_ in _C._list_ops()
        if is_method
    )


@functools.cache
def is_op(name: str) -> bool:
    """Whether a call of this name runs as an op, which the runtime sees."""
    return bool(_C._overloads(name))


@functools.cache
def ends_graph(name: str) -> bool:
    """Whether it is an op whose results are numbers, or that gives the tensor itself
    another geometry.
    """
    return any_ends_graph(_C._overloads(name).values())


def any_ends_graph(overloads: Iterable[Any]) -> bool:
    """Whether one of an op's overloads does."""
    overloads = list(overloads)
    results = [result.type for o in overloads for result in o._schema.returns]
    gives_numbers = bool(results) and not any("Tensor" in type_ for type_ in results)
    return gives_numbers or any(Tag.inplace_view in o.tags for o in overloads)
