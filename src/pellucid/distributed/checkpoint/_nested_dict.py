"""Flattens nested states to one dict with PyTorch's dotted names, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pellucid.distributed.checkpoint._traverse import (
    OBJ_PATH,
    set_element,
    traverse_state_dict,
    traverse_state_dict_v_2_3,
)

FLATTEN_MAPPING = dict[str, OBJ_PATH]

Flattened = tuple[dict[str, Any], FLATTEN_MAPPING]


def flatten_state_dict(state_dict: Mapping[str, Any]) -> Flattened:
    """The values by names such as ``"model.weight"``, and the paths of the names."""
    return _flattened(state_dict, traverse_state_dict)


def flatten_state_dict_v_2_3(state_dict: Mapping[str, Any]) -> Flattened:
    """The same, with the names of PyTorch 2.3 and earlier."""
    return _flattened(state_dict, traverse_state_dict_v_2_3)


def _flattened(state: Mapping[str, Any], traverse: Callable[..., None]) -> Flattened:
    values: dict[str, Any] = {}
    paths: FLATTEN_MAPPING = {}

    def visit(path: OBJ_PATH, value: Any) -> None:
        name = ".".join(map(str, path))
        if name in values:
            raise ValueError(f"duplicated flatten key {name}")
        values[name], paths[name] = value, path

    traverse(state, visit)
    return values, paths


def unflatten_state_dict(
    state_dict: Mapping[str, Any], mapping: FLATTEN_MAPPING
) -> dict[str, Any]:
    """The nested state of values by name, whose paths ``mapping`` has."""
    nested: dict[str, Any] = {}
    for name, value in state_dict.items():
        set_element(nested, mapping[name], value)
    return nested
