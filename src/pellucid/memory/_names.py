"""Names of objects: the variable, attribute or list that refers to them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import CellType, FrameType, ModuleType
from typing import Any

_MOST_REFERRERS = 200
_DEPTH = 3


def names_of(target: Any, depth: int = _DEPTH) -> list[str]:
    """How the program refers to it: ``self.running (train.py:24)``, ``losses[3]``."""
    found = [*_in_frames(target), *_in_objects(target, depth)]
    return list(dict.fromkeys(found))


def running_frames() -> Iterator[FrameType]:
    """Those of all threads, the innermost first."""
    for innermost in sys._current_frames().values():
        frame: FrameType | None = innermost
        while frame is not None:
            yield frame
            frame = frame.f_back


def _is_ours(frame: FrameType) -> bool:
    from pellucid.profiler._timeline.log import Line

    return not Line(frame.f_code.co_filename, "", 0, 0).is_user


def _in_frames(target: Any) -> Iterator[str]:
    """Local variables of the functions that run."""
    for frame in running_frames():
        if _is_ours(frame) or frame.f_locals is frame.f_globals:
            continue
        for name, value in frame.f_locals.items():
            if value is target:
                yield f"{name} ({_place(frame)})"


def _place(frame: FrameType) -> str:
    file = frame.f_code.co_filename.rpartition("/")[2]
    return f"{file}:{frame.f_lineno}, {frame.f_code.co_name}"


def _in_objects(target: Any, depth: int) -> Iterator[str]:
    referrers = gc.get_referrers(target)
    if len(referrers) > _MOST_REFERRERS:
        return
    for holder in referrers:
        if _is_report(holder):
            continue
        if isinstance(holder, dict):
            for key, value in list(holder.items()):
                if value is target:
                    yield from _of_dict(holder, key, depth)
        elif isinstance(holder, CellType):
            yield from _of_cell(holder, depth)
        elif isinstance(holder, list | tuple | set):
            yield from _of_sequence(holder, target, depth)
        elif not isinstance(holder, FrameType | ModuleType):
            for name, value in _attributes(holder):
                if value is target:
                    yield f"{type(holder).__name__}.{name}"


def _is_report(holder: Any) -> bool:
    """Whether it is one of the objects that this package makes of live storages.

    There may be thousands of them, and finding what refers to one reads all objects.
    """
    return type(holder).__module__.startswith("pellucid.memory")


def _attributes(holder: Any) -> list[tuple[str, Any]]:
    try:
        return list(vars(holder).items())
    except TypeError:
        return []


def _of_dict(holder: dict[Any, Any], key: Any, depth: int) -> Iterator[str]:
    for name, module in list(sys.modules.items()):
        if getattr(module, "__dict__", None) is holder:
            if not name.startswith("pellucid"):
                yield str(key) if name == "__main__" else f"{name}.{key}"
            return
    owners = [
        owner
        for owner in gc.get_referrers(holder)
        if getattr(owner, "__dict__", None) is holder
    ]
    if any(map(_is_report, owners)):
        return
    for owner in owners:
        yield f"{type(owner).__name__}.{key}"
    if not owners and depth > 1:
        for name in names_of(holder, depth - 1):
            yield f"{_base(name)}[{key!r}]{_tail(name)}"


def _of_cell(cell: CellType, depth: int) -> Iterator[str]:
    """The functions whose closure has a cell, by what holds them."""
    closures = [c for c in gc.get_referrers(cell) if isinstance(c, tuple)]
    for closure in closures if depth > 1 else ():
        for function in gc.get_referrers(closure):
            if getattr(function, "__closure__", None) is closure:
                for name in names_of(function, depth - 1):
                    inside = f"closure of {function.__name__}"
                    yield f"{_base(name)} ({inside})"


def _of_sequence(holder: Any, target: Any, depth: int) -> Iterator[str]:
    if depth <= 1:
        return
    place = next((k for k, value in enumerate(holder) if value is target), 0)
    for name in names_of(holder, depth - 1):
        yield f"{_base(name)}[{place}]{_tail(name)}"


def _base(name: str) -> str:
    return name.partition(" (")[0]


def _tail(name: str) -> str:
    _, bracket, rest = name.partition(" (")
    return bracket + rest
