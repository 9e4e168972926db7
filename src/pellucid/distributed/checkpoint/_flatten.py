"""Flattens nested states to one dict with PyTorch's dotted names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pellucid as torch

Path = tuple[Any, ...]


def _is_leaf(value: Any) -> bool:
    """Whether a list or tuple is stored as one value."""
    for item in value:
        if isinstance(item, (Mapping, torch.Tensor)):
            return False
        if isinstance(item, (list, tuple)) and not _is_leaf(item):
            return False
    return True


def flatten(state: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Path]]:
    """Values by name, and their paths."""
    values: dict[str, Any] = {}
    paths: dict[str, Path] = {}

    def visit(path: Path, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, item in value.items():
                visit((*path, key if isinstance(key, str) else str(key)), item)
        elif isinstance(value, (list, tuple)) and not _is_leaf(value):
            for number, item in enumerate(value):
                visit((*path, number), item)
        else:
            name = ".".join(map(str, path))
            if name in values:
                raise ValueError(f"two values of the state have the name {name}")
            values[name], paths[name] = value, path

    visit((), state)
    return values, paths


def put(state: Any, path: Path, value: Any) -> None:
    """Sets the value at a path of a nested state."""
    for key in path[:-1]:
        state = state[_own_key(state, key)]
    if isinstance(state, tuple):
        raise TypeError(f"the state has a tuple at {path}, which cannot be changed")
    state[_own_key(state, path[-1])] = value


def _own_key(state: Any, key: Any) -> Any:
    if isinstance(state, Mapping) and key not in state:
        return next(own for own in state if str(own) == key)
    return key
