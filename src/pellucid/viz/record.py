"""Names the module and the source line of each op during forward.

The timeline records the calls, their lines and the modules around them; a node's number
tells which call made it (``profiler/_timeline/makers.py``). Called by users around a
forward pass; collect.py asks for the notes.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from pellucid import _C
from pellucid.nn.modules._module_path import ModuleNames
from pellucid.profiler._timeline.log import Event, Kind, Session, Watch
from pellucid.profiler._timeline.makers import Makers
from pellucid.profiler._timeline.storages import ancestors


class Origin(NamedTuple):
    """Where an op was called; empty where that was not recorded."""

    module: str = ""
    source: str = ""


_MOST_LOGS = 64  # graphs of earlier recordings are drawn without modules and lines
_recorded: deque[tuple[Makers, ModuleNames]] = deque(maxlen=_MOST_LOGS)
_open: list[record] = []


class record:
    """A scope whose ops are drawn with the module and the line that called them.

    Module names are those of the outermost module called, with its class in front:
    ``Net.layers.0``.
    """

    def __init__(self) -> None:
        self._session = Session(Watch.LINES | Watch.MODULES)
        self._names = ModuleNames()

    def __enter__(self) -> record:
        self._session.start()
        _open.append(self)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        _open.remove(self)
        self._keep()

    def _keep(self) -> None:
        _C._timeline_end(_C._timeline_begin("viz.record"))  # later nodes are not its
        log = self._session.stop()
        for event in log.events_of(Kind.MODULE):  # the outermost first, which names all
            self._names.name_of(log.modules[event.extra])
        _recorded.append((Makers(log), self._names))

    def read(self) -> None:
        """Makes what was recorded so far known."""
        self._keep()
        self._session.start()


def read_recordings() -> None:
    """Called before `origin_of`, for graphs that are drawn within a recording."""
    for scope in _open:
        scope.read()


def origin_of(node: Any) -> Origin:
    """The module and the line of the call that made a node."""
    for makers, names in reversed(_recorded):
        call = makers.call_of(node._sequence_nr())
        if call is not None:
            return Origin(_module(call, names), _source(call))
    return Origin()


def _module(call: Event, names: ModuleNames) -> str:
    modules = call.thread.log.modules
    around = (e for e in ancestors(call) if e.kind is Kind.MODULE)
    found = next(around, None)
    return "" if found is None else names.name_of(modules[found.extra])


def _source(call: Event) -> str:
    line = call.thread.log.user_line(call.line)
    if line is None:
        return ""
    return f"{Path(line.file).name}:{line.number} {line.function}"


def is_leaf(node: Any) -> bool:
    """Whether it only adds to a leaf's ``.grad``."""
    return str(node.name()).endswith("AccumulateGrad")
