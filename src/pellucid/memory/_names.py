"""Names of objects: the variable, attribute or list that refers to them.

What refers to an object is found by reading all objects of the process, so `Names`
looks up many at once and stores what it found.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from types import CellType, FrameType, ModuleType
from typing import Any

_MOST_REFERRERS = 200
_DEPTH = 3
_TOGETHER = 64  # objects looked up at once; each costs a comparison per reference


class _Found(list[Any]):
    """A list that refers to objects for this package alone: see `_is_report`."""


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


def _variables() -> dict[int, list[str]]:
    """By an object's id, the local variables of the functions that run."""
    found: dict[int, list[str]] = {}
    for frame in running_frames():
        if not _is_ours(frame) and frame.f_locals is not frame.f_globals:
            for name, value in frame.f_locals.items():
                found.setdefault(id(value), []).append(f"{name} ({_place(frame)})")
    return found


def _place(frame: FrameType) -> str:
    file = frame.f_code.co_filename.rpartition("/")[2]
    return f"{file}:{frame.f_lineno}, {frame.f_code.co_name}"


class Names:
    """What the program calls objects; ``targets``: the first that are needed.
    For objects and variables as they are when this is made.
    """

    def __init__(self, targets: Sequence[Any] = ()) -> None:
        self._variables = _variables()
        self._referrers: dict[int, _Found] = {}
        self._known: dict[tuple[int, int], list[str]] = {}
        # Alive, so that ids stay theirs.
        self._targets = own = _Found(
            {id(target): target for target in targets}.values()
        )
        for start in range(0, len(own), _TOGETHER):
            self._look_up(_Found(own[start : start + _TOGETHER]))

    def of(self, target: Any, depth: int = _DEPTH) -> list[str]:
        """How the program refers to it: ``self.running (train.py:24)``,
        ``losses[3]``.
        """
        key = id(target), depth
        if key not in self._known:
            self._targets.append(target)
            own = self._variables.get(id(target), [])
            found = [*own, *self._in_objects(target, depth)]
            self._known[key] = list(dict.fromkeys(found))
        return self._known[key]

    def _look_up(self, targets: _Found) -> None:
        wanted = {id(target): _Found() for target in targets}
        self._referrers.update(wanted)
        for holder in _Found(gc.get_referrers(*targets)):
            for number in wanted.keys() & map(id, gc.get_referents(holder)):
                wanted[number].append(holder)

    def _referrers_of(self, target: Any) -> _Found:
        if id(target) not in self._referrers:
            self._look_up(_Found([target]))
        return self._referrers[id(target)]

    def _in_objects(self, target: Any, depth: int) -> Iterator[str]:
        found = self._referrers_of(target)
        referrers = _Found(holder for holder in found if not _is_report(holder))
        if len(referrers) > _MOST_REFERRERS:
            return
        for holder in referrers:
            if isinstance(holder, dict):
                for key, value in list(holder.items()):  # other threads change it
                    if value is target:
                        yield from self._of_dict(holder, key, depth)
            elif isinstance(holder, CellType):
                yield from self._of_cell(holder, depth)
            elif isinstance(holder, list | tuple | set):
                yield from self._of_sequence(holder, target, depth)
            elif not isinstance(holder, FrameType | ModuleType):
                for name, value in _attributes(holder):
                    if value is target:
                        yield f"{type(holder).__name__}.{name}"

    def _of_dict(self, holder: dict[Any, Any], key: Any, depth: int) -> Iterator[str]:
        for name, module in list(sys.modules.items()):
            if getattr(module, "__dict__", None) is holder:
                if not name.startswith("pellucid"):
                    yield str(key) if name == "__main__" else f"{name}.{key}"
                return
        owners = [
            owner
            for owner in self._referrers_of(holder)
            if getattr(owner, "__dict__", None) is holder
        ]
        if any(map(_is_report, owners)):
            return
        for owner in owners:
            yield f"{type(owner).__name__}.{key}"
        if not owners and depth > 1:
            for name in self.of(holder, depth - 1):
                yield f"{_base(name)}[{key!r}]{_tail(name)}"

    def _of_cell(self, cell: CellType, depth: int) -> Iterator[str]:
        """The functions whose closure has a cell, by what holds them."""
        closures = [c for c in self._referrers_of(cell) if isinstance(c, tuple)]
        for closure in closures if depth > 1 else ():
            for function in self._referrers_of(closure):
                if getattr(function, "__closure__", None) is closure:
                    for name in self.of(function, depth - 1):
                        inside = f"closure of {function.__name__}"
                        yield f"{_base(name)} ({inside})"

    def _of_sequence(self, holder: Any, target: Any, depth: int) -> Iterator[str]:
        names = self.of(holder, depth - 1) if depth > 1 else []
        if names:
            place = next((k for k, value in enumerate(holder) if value is target), 0)
            for name in names:
                yield f"{_base(name)}[{place}]{_tail(name)}"


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


def _base(name: str) -> str:
    return name.partition(" (")[0]


def _tail(name: str) -> str:
    _, bracket, rest = name.partition(" (")
    return bracket + rest
