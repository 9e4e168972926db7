"""Serializes structures: JSON with the protocol's number first."""

from __future__ import annotations

import json
from typing import Any

from pellucid.utils._pytree._nodes import (
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    SUPPORTED_SERIALIZED_TYPES,
)
from pellucid.utils._pytree._trees import LeafSpec, TreeSpec

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """The structure as text, which ``treespec_loads`` reads.

    TypeError for another type than TreeSpec, ValueError for an unknown protocol,
    NotImplementedError for a type that was registered without a name.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "treespec_dumps(treespec, protocol): Expected `treespec` to be instance of "
            f"TreeSpec but got item of type {type(treespec)}."
        )
    number = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol
    _check_protocol(number)
    return json.dumps((number, _stored(treespec)))


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that ``treespec_dumps`` wrote."""
    number, stored = json.loads(serialized)
    _check_protocol(number)
    return _read(stored)


pytree_to_str, str_to_pytree = treespec_dumps, treespec_loads


def _check_protocol(number: Any) -> None:
    if number != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(
            f"Unknown protocol {number}. Available protocols: "
            f"[{DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL}]"
        )


def _stored(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    known = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if known is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found; give "
            "register_pytree_node a serialized_type_name"
        )
    write = known.to_dumpable_context or json.dumps
    try:
        context = write(spec.context)
    except TypeError as error:
        raise TypeError(
            f"the context of {spec.type} has no JSON form: {spec.context}; register "
            "the type with to_dumpable_context and from_dumpable_context"
        ) from error
    return {
        "type": known.serialized_type_name,
        "context": context,
        "children_spec": [_stored(child) for child in spec.children_specs],
    }


def _read(stored: dict[str, Any]) -> TreeSpec:
    name = stored["type"]
    if name is None:
        return LeafSpec()
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Deserializing {name} in pytree is not registered; import what does it"
        )
    cls = SERIALIZED_TYPE_TO_PYTHON_TYPE[name]
    read = SUPPORTED_SERIALIZED_TYPES[cls].from_dumpable_context or json.loads
    children = [_read(child) for child in stored["children_spec"]]
    return TreeSpec(cls, read(stored["context"]), children)
