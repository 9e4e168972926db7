"""The graph of pipes: which pipes a pipe reads."""

from __future__ import annotations

from typing import Any

from pellucid.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]

DataPipe = IterDataPipe[Any] | MapDataPipe[Any]
DataPipeGraph = dict[int, tuple[Any, Any]]


def traverse_dps(datapipe: Any) -> DataPipeGraph:
    """``{id: (pipe, the same of the pipes that it reads)}``."""
    return _traversed(datapipe, set())


def traverse(datapipe: Any, only_datapipe: bool | None = None) -> DataPipeGraph:
    """``traverse_dps``, under its former name."""
    return traverse_dps(datapipe)


def _traversed(datapipe: Any, seen: set[int]) -> DataPipeGraph:
    if not isinstance(datapipe, (IterDataPipe, MapDataPipe)):
        raise RuntimeError(
            f"Expected `IterDataPipe` or `MapDataPipe`, but {type(datapipe)} is found"
        )
    if id(datapipe) in seen:
        return {}
    seen = seen | {id(datapipe)}
    below: DataPipeGraph = {}
    for held in _held_by(datapipe):
        below.update(_traversed(held, seen))
    return {id(datapipe): (datapipe, below)}


def _held_by(datapipe: Any) -> list[Any]:
    """The pipes among the attributes of a pipe, at any depth of lists and objects."""
    found: dict[int, Any] = {}
    visited: set[int] = set()

    def visit(value: Any) -> None:
        if id(value) in visited:
            return
        visited.add(id(value))
        if isinstance(value, (IterDataPipe, MapDataPipe)) and value is not datapipe:
            found[id(value)] = value
        elif isinstance(value, dict):
            for item in value.values():
                visit(item)
        elif isinstance(value, (list, tuple, set)):
            for item in value:
                visit(item)
        elif type(value).__module__.startswith("pellucid.utils.data"):
            visit(vars(value))

    visit(vars(datapipe))
    return list(found.values())
