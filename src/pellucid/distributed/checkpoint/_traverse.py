"""Visits and sets the values of nested states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pellucid as torch

PATH_ITEM = str | int
OBJ_PATH = tuple[PATH_ITEM, ...]
STATE_DICT_ITEM = object

__all__ = ["get_element", "set_element", "traverse_state_dict"]

Visitor = Callable[[OBJ_PATH, Any], None]


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _contains(
    values: Any, keep_traversing: Callable[[Any], bool], enters: Callable[[Any], bool]
) -> bool:
    return any(
        (isinstance(value, Mapping | list) and enters(value)) or keep_traversing(value)
        for value in values
    )


def traverse_state_dict(
    state_dict: Mapping[str, Any],
    visitor: Visitor,
    keep_traversing: Callable[[Any], bool] = _is_tensor,
) -> None:
    """Calls ``visitor(path, value)`` for the values of a state: of all dicts in it, and
    of the lists that contain dicts, or values of which ``keep_traversing`` is true.
    """

    def enters(value: Any) -> bool:
        if isinstance(value, Mapping):
            return True
        is_list = isinstance(value, list)
        return is_list and _contains(value, keep_traversing, enters)

    _traverse(state_dict, visitor, enters)


def traverse_state_dict_v_2_3(
    state_dict: Mapping[str, Any],
    visitor: Visitor,
    keep_traversing: Callable[[Any], bool] = _is_tensor,
) -> None:
    """The same, as PyTorch 2.3 and earlier named values: also dicts are only entered
    for what they contain.
    """

    def enters(value: Any) -> bool:
        if not isinstance(value, Mapping | list):
            return False
        values = value.values() if isinstance(value, Mapping) else value
        return _contains(values, keep_traversing, enters)

    _traverse(state_dict, visitor, enters)


def _traverse(
    state: Mapping[str, Any], visitor: Visitor, enters: Callable[[Any], bool]
) -> None:
    pending: list[tuple[OBJ_PATH, Any]] = [((str(k),), v) for k, v in state.items()]
    pending.reverse()
    while pending:
        path, value = pending.pop()
        if not enters(value):
            visitor(path, value)
        elif isinstance(value, Mapping):
            inner = [((*path, str(key)), item) for key, item in value.items()]
            pending += reversed(inner)
        else:
            pending += reversed([((*path, k), v) for k, v in enumerate(value)])


def _own_key(container: Any, key: PATH_ITEM) -> Any:
    """The key of a container that a path names: numbers are texts there."""
    if (
        isinstance(container, Mapping)
        and isinstance(key, str)
        and key not in container
        and key.isdecimal()
        and int(key) in container
    ):
        return int(key)
    return key


def _reserve(container: Any, key: PATH_ITEM) -> None:
    if isinstance(container, list) and isinstance(key, int):
        container.extend([None] * (key + 1 - len(container)))


def set_element(root_dict: Any, path: OBJ_PATH, value: Any) -> None:
    """Sets the value at a path; creates the dicts, and lists for numbers, before it."""
    container = root_dict
    for key, following in pairwise(path):
        made: Any = [] if isinstance(following, int) else {}
        if isinstance(container, Mapping):
            container = container.setdefault(_own_key(container, key), made)  # type: ignore[attr-defined]
        else:
            _reserve(container, key)
            if container[key] is None:
                container[key] = made
            container = container[key]
    _reserve(container, path[-1])
    container[_own_key(container, path[-1])] = value


def get_element(root_dict: Any, path: OBJ_PATH, default_value: Any = None) -> Any:
    """The value at a path, or ``default_value``."""
    value = root_dict
    for part in path:
        if isinstance(part, int):
            if not isinstance(value, list) or len(value) <= part:
                return default_value
        else:
            part = _own_key(value, part)
            if not isinstance(value, Mapping) or part not in value:
                return default_value
        value = value[part]
    return value
