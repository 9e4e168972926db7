"""Sessions of the timeline, and the log that one leaves.

    session = Session(Watch.LINES | Watch.MEMORY)
    session.start()
    model(x)
    log = session.stop()

What an event's pointer means, lines and modules are looked up when a session ends,
never while it runs. A log is columns (`columns.py`); objects of events are made when
they are needed.
"""

from __future__ import annotations

import gc
import os
import sys
from enum import IntEnum, IntFlag
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

import pellucid
from pellucid import _C
from pellucid.profiler._timeline.columns import LAYOUT, Array, Columns
from pellucid.profiler._timeline.facts import read_facts


class Watch(IntFlag):
    """What a session records besides calls, nodes and ranges (``watch.h``)."""

    CALLS = 2
    MEMORY = 4
    FACTS = 8
    LINES = 16
    STEPS = 32
    MODULES = 64
    BLOCKS = 128
    STACKS = 256
    NOTES = 512


class Kind(IntEnum):
    """What an event tells of (``events.h``)."""

    CALL = 0
    NODE = 1
    STEP = 2
    SHARE = 3
    PREPARE = 4
    READ = 5
    RANGE = 6
    MODULE = 7
    COLLECT = 8
    MAKE = 9
    FREE = 10
    TAKE_BLOCK = 11
    GIVE_BLOCK = 12
    NOTE = 13


# The drivers of products, and when each runs (``runtime/timeline/routes.h``).
ROUTES, ROUTE_REASONS = zip(*_C._timeline_routes(), strict=True)
_KEYS: tuple[str, ...] = _C._timeline_keys()
_REPEATED, _OWNER = 1, 8
_FOLDERS = (
    os.path.dirname(pellucid.__file__) + os.sep,
    os.path.join(os.path.dirname(os.path.dirname(pellucid.__file__)), "")
    + "pellucid_compiler"
    + os.sep,
    os.path.dirname(os.__file__) + os.sep,  # the standard library
)


_KINDS = list(Kind)


class Line(NamedTuple):
    """A frame of Python: ``caller`` is the number of the frame around it, or 0."""

    file: str
    function: str
    number: int
    caller: int

    @property
    def is_user(self) -> bool:
        """Whether it is outside of the package and of the standard library, in which
        other libraries are installed (as in ``python/call_lines.cpp``).
        """
        return not self.file.startswith("<") and not any(
            self.file.startswith(folder)
            and "-packages/" not in self.file[len(folder) :]
            for folder in _FOLDERS
        )

    def __str__(self) -> str:
        return f"{_shortened(self.file)}({self.number}): {self.function}"


@lru_cache(maxsize=1024)
def _shortened(file: str) -> str:
    """A path below a folder of ``sys.path``, from there."""
    folders = [os.path.join(folder, "") for folder in sys.path if folder]
    found = [folder for folder in folders if file.startswith(folder)]
    return file.removeprefix(max(found, key=len)) if found else file


class Event:
    """Something that ran. ``begin`` and ``end`` are nanoseconds of the clock of
    ``time.perf_counter_ns``; ``parent`` is the event of the same thread around it.
    ``extra``: of a node when its own computation ended, in ticks; of a module its
    number in `Log.modules`; of a call the set of `keys`; ``detail`` of a step: the
    driver of its product, a place in `ROUTES`; ``sequence``: -1 of nodes that belong to
    leaves.
    """

    __slots__ = (
        *("kind", "name", "begin", "end", "bytes", "sequence", "extra", "address"),
        *("row", "line", "is_repeated", "is_owner", "detail", "thread", "_outer"),
    )
    row: int
    kind: Kind
    name: str
    begin: float
    end: float
    bytes: int
    sequence: int
    extra: int
    address: int
    line: int
    is_repeated: bool
    is_owner: bool
    detail: int
    thread: Thread
    _outer: int

    @property
    def duration(self) -> float:
        """In nanoseconds."""
        return self.end - self.begin

    @property
    def call(self) -> Event | None:
        """The innermost call around."""
        event = self.parent
        while event is not None and event.kind is not Kind.CALL:
            event = event.parent
        return event

    @property
    def parent(self) -> Event | None:
        """The event around; None for an outermost one."""
        return self.thread.log.event(self._outer) if self._outer >= 0 else None

    @property
    def keys(self) -> list[str]:
        """The dispatch keys whose handlers a call passed, the first one first."""
        found = [name for bit, name in enumerate(_KEYS) if self.extra >> bit & 1]
        return found[::-1]

    @property
    def arguments(self) -> list[Any]:
        """What the call was given, as `facts.TensorFacts` and numbers; empty where
        facts were not recorded.
        """
        return self.thread.log.arguments(self.row)

    def __repr__(self) -> str:
        return f"<{self.kind.name.lower()} {self.name}: {self.duration / 1000:.3f} us>"


class Thread:
    """A thread that ran something."""

    def __init__(self, log: Log, number: int, system_id: int, python_id: int) -> None:
        self.log, self.number = log, number
        self.system_id = system_id
        self.python_id = python_id

    @property
    def events(self) -> list[Event]:
        """Its own, in the order in which they began."""
        return self.log.events_at(self.rows)

    @property
    def rows(self) -> Array:
        """Its rows in the log's columns."""
        return np.flatnonzero(self.log.columns.thread == self.number)


class Log:
    """What a session recorded. ``begin`` and ``end``: nanoseconds, as events have."""

    def __init__(self, found: Any) -> None:
        self.begin: float
        self.end: float
        clocks, threads, names, (first_line, lines), modules, lost = found
        first_tick, self.begin, last_tick, self.end = clocks
        self._rate: float = (self.end - self.begin) / max(last_tick - first_tick, 1)
        self._first_tick: int = first_tick
        self._first_line = first_line
        self._lines = [Line(*line) for line in lines]
        self._user_lines: dict[int, Line | None] = {}
        self.modules: list[Any] = modules
        self.lost: int = lost
        self.columns = Columns(
            [np.frombuffer(events, LAYOUT) for _, _, events, _ in threads],
            [facts for *_, facts in threads],
            (first_tick, self.begin, self._rate),
            names,
        )
        self.threads = [
            Thread(self, number, system_id, python_id)
            for number, (system_id, python_id, *_) in enumerate(threads)
        ]
        self._made: dict[int, Event] = {}
        self._read: dict[int, list[Any]] = {}

    def moment(self, tick: int) -> float:
        """A tick in nanoseconds."""
        return self.begin + (tick - self._first_tick) * self._rate

    def event(self, row: int) -> Event:
        """The event of a row of the columns; always the same object."""
        found = self._made.get(row)
        return found if found is not None else self.events_at(np.array([row]))[0]

    def events_at(self, rows: Array) -> list[Event]:
        """The events of rows."""
        c, made, threads = self.columns, self._made, self.threads
        fields = (
            *(c.begin, c.end, c.bytes, c.sequence, c.extra, c.address, c.parent),
            *(c.line, c.kind, c.flags, c.detail, c.name, c.thread),
        )
        found = []
        for row, *values in zip(
            rows.tolist(), *(field[rows].tolist() for field in fields), strict=True
        ):
            event = made.get(row)
            if event is None:
                event = made[row] = Event()
                event.row = row
                event.begin, event.end, event.bytes, event.sequence = values[:4]
                event.extra, event.address, event._outer, event.line = values[4:8]
                kind, flags, event.detail, name, thread = values[8:]
                event.kind, event.name = _KINDS[kind], c.names[name]
                event.is_repeated = bool(flags & _REPEATED)
                event.is_owner = bool(flags & _OWNER)
                event.thread = threads[thread]
            found.append(event)
        return found

    @cached_property
    def events(self) -> list[Event]:
        """Those of all threads, in the order in which they began."""
        return self.events_at(np.arange(len(self.columns)))

    def events_of(self, *kinds: Kind) -> list[Event]:
        """Those of some kinds."""
        return self.events_at(self.columns.rows_of(*kinds))

    def arguments(self, row: int) -> list[Any]:
        """What the call at a row was given; empty where facts were not recorded."""
        numbers, _ = self.columns.arguments
        number = int(numbers[row])
        return self.arguments_of(number) if number >= 0 else []

    def arguments_of(self, number: int) -> list[Any]:
        """The arguments of a number of `Columns.arguments`."""
        found = self._read.get(number)
        if found is None:
            words = memoryview(self.columns.arguments[1][number]).cast("Q")
            found = self._read[number] = read_facts(words)
        return found

    def frames(self, line: int) -> list[Line]:
        """An event's frames, the innermost first."""
        found = []
        while 0 <= (place := line - self._first_line) < len(self._lines):
            found.append(self._lines[place])
            line = found[-1].caller
        return found

    def user_line(self, line: int) -> Line | None:
        """The innermost of the frames outside of the package."""
        if line not in self._user_lines:
            frames = self.frames(line)
            found = next((frame for frame in frames if frame.is_user), None)
            self._user_lines[line] = found
        return self._user_lines[line]

    def user_lines(self, rows: Array) -> tuple[Array, list[Line]]:
        """Of rows: the number of each one's line of the program, -1 without, and the
        lines. One file's line is one, whatever called it.
        """
        values, inverse = np.unique(self.columns.line[rows], return_inverse=True)
        numbers: dict[tuple[str, int], int] = {}
        lines: list[Line] = []
        own = []
        for value in values.tolist():
            line = self.user_line(value)
            if line is None:
                own.append(-1)
                continue
            key = line.file, line.number
            if key not in numbers:
                numbers[key] = len(lines)
                lines.append(line)
            own.append(numbers[key])
        return np.array(own, np.int64)[inverse], lines


class Session:
    """From `start` to `stop` the runtime records, on every thread."""

    def __init__(self, what: Watch = Watch.CALLS) -> None:
        self.what = what
        self._number: int | None = None

    def start(self) -> None:
        """Record from now on."""
        if _C._timeline_note_collection not in gc.callbacks:
            gc.callbacks.append(_C._timeline_note_collection)
        self._number = _C._timeline_start(int(self.what), _FOLDERS)

    def stop(self) -> Log:
        """Record no more; what was recorded."""
        if self._number is None:
            raise RuntimeError("stop(): the session was not started")
        number, self._number = self._number, None
        found = _C._timeline_stop(number)
        if not _C._timeline_is_on() and _C._timeline_note_collection in gc.callbacks:
            gc.callbacks.remove(_C._timeline_note_collection)
        return Log(found)
