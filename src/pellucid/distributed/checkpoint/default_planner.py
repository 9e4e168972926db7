"""Planners, which match a state and a checkpoint: the ``planner`` of ``save`` and
``load``. Subclasses that override the planning are refused.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pellucid as torch
from pellucid.distributed.checkpoint._flatten import Path, flatten
from pellucid.distributed.checkpoint.metadata import Metadata, TensorStorageMetadata

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]


class _Planner:
    """``flatten_state_dict``: values inside dicts and lists are stored separately."""

    flatten_state_dict: bool

    def values_of(
        self, state: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Path]]:
        """The values to store or fill by their names, and their paths."""
        if self.flatten_state_dict:
            return flatten(state)
        return dict(state), {name: (name,) for name in state}


class DefaultSavePlanner(_Planner):
    """Stores each value once, a DTensor's parts by the processes that have them."""

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict


class DefaultLoadPlanner(_Planner):
    """Fills the state's values; with ``allow_partial_load`` those in the checkpoint."""

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.allow_partial_load = allow_partial_load

    def prepare(self, state: dict[str, Any], metadata: Metadata) -> None:
        """Called before the state is read: does nothing."""


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Loads the checkpoint into an empty dict, or only the values named by ``keys`` and
    the dicts around them.
    """

    def __init__(self, keys: set[str] | None = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.keys = keys

    def prepare(self, state: dict[str, Any], metadata: Metadata) -> None:
        if state:
            raise AssertionError("the state to load everything into must be empty")
        paths = metadata.planner_data or {}
        for name, described in metadata.state_dict_metadata.items():
            path = paths.get(name, (name,))
            if not self._takes(name, path):
                continue
            value = None
            if isinstance(described, TensorStorageMetadata):
                value = torch.empty(described.size, dtype=described.properties.dtype)
            _insert(state, path, value)

    def _takes(self, name: str, path: Path) -> bool:
        if self.keys is None or name in self.keys:
            return True
        parts = [str(part) for part in path]
        around = {".".join(parts[: k + 1]) for k in range(len(parts))}
        return not around.isdisjoint(self.keys)


def _insert(state: Any, path: Path, value: Any) -> None:
    """Sets a value; creates dicts, and lists for numbers, along the path."""
    for key, following in pairwise(path):
        made: Any = [] if isinstance(following, int) else {}
        if isinstance(state, list):
            state.extend([None] * (key + 1 - len(state)))
            state[key] = made if state[key] is None else state[key]
            state = state[key]
        else:
            state = state.setdefault(key, made)
    if isinstance(state, list):
        state.extend([None] * (path[-1] + 1 - len(state)))
    state[path[-1]] = value


def checked(planner: Any, kind: type[_Planner]) -> Any:
    """The planner, or a default one; NotImplementedError for plans of other classes."""
    if planner is None:
        return kind()
    if type(planner) not in _OWN or not isinstance(planner, kind):
        raise NotImplementedError(
            f"{type(planner).__name__} overrides planning, which is refused: give a "
            f"{kind.__name__} or leave planner out"
        )
    return planner


_OWN = (DefaultSavePlanner, DefaultLoadPlanner, _EmptyStateDictLoadPlanner)
