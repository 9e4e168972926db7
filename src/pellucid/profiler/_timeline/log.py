"""Sessions of the timeline, and the log that one leaves.

    session = Session(Watch.LINES | Watch.MEMORY)
    session.start()
    model(x)
    log = session.stop()

The layout of events is that of ``runtime/timeline/events.h``. What an event's pointer
means, lines and modules are looked up when a session ends, never while it runs.
"""

from __future__ import annotations

import gc
import os
import struct
import sys
from enum import IntEnum, IntFlag
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import pellucid
from pellucid import _C
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


# The drivers of products (``runtime/timeline/routes.h``).
ROUTES: tuple[str, ...] = _C._timeline_routes()
_REPEATED, _OWNER = 1, 8
_NONE = 0xFFFFFFFF
_UNNUMBERED = (1 << 64) - 1  # the sequence of nodes that belong to leaves
_LAYOUT = struct.Struct("<QQQqQQIIIBBH")
_FOLDERS = (
    os.path.dirname(pellucid.__file__) + os.sep,
    os.path.join(os.path.dirname(os.path.dirname(pellucid.__file__)), "")
    + "pellucid_compiler"
    + os.sep,
)


class Line(NamedTuple):
    """A frame of Python: ``caller`` is the number of the frame around it, or 0."""

    file: str
    function: str
    number: int
    caller: int

    @property
    def is_user(self) -> bool:
        """Whether it is outside of the package."""
        return not self.file.startswith((*_FOLDERS, "<"))

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
    number in `Log.modules`; ``detail`` of a step: the driver of its product, a place in
    `ROUTES`.
    """

    __slots__ = (
        *("kind", "name", "begin", "end", "bytes", "sequence", "extra", "address"),
        *("parent", "line", "facts", "is_repeated", "is_owner", "detail", "thread"),
    )
    kind: Kind
    name: str
    begin: float
    end: float
    bytes: int
    sequence: int
    extra: int
    address: int
    parent: Event | None
    line: int
    facts: int
    is_repeated: bool
    is_owner: bool
    detail: int
    thread: Thread

    @property
    def duration(self) -> float:
        """In nanoseconds."""
        return self.end - self.begin

    def __repr__(self) -> str:
        return f"<{self.kind.name.lower()} {self.name}: {self.duration / 1000:.3f} us>"


class Thread:
    """The events of one thread, in the order in which they began."""

    def __init__(self, system_id: int, python_id: int, facts: bytes) -> None:
        self.system_id = system_id
        self.python_id = python_id
        self.events: list[Event] = []
        self._facts = memoryview(facts).cast("Q")
        self._read: dict[int, list[Any]] = {}

    def arguments(self, event: Event) -> list[Any]:
        """What the call was given, as `facts.TensorFacts` and numbers; empty where
        facts were not recorded.
        """
        place = event.facts
        if not place:
            return []
        found = self._read.get(place)
        if found is None:
            count = self._facts[place]
            found = read_facts(self._facts[place + 1 : place + count])
            self._read[place] = found
        return found


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
        kinds = list(Kind)
        self.threads = [self._thread(thread, names, kinds) for thread in threads]

    def moment(self, tick: int) -> float:
        """A tick in nanoseconds."""
        return self.begin + (tick - self._first_tick) * self._rate

    def _thread(self, found: Any, names: dict[Any, str], kinds: list[Kind]) -> Thread:
        system_id, python_id, events, facts = found
        thread = Thread(system_id, python_id, facts)
        made = thread.events
        rate, first, start = self._rate, self._first_tick, self.begin
        for fields in _LAYOUT.iter_unpack(events):
            event = Event()
            begin, end, what, event.bytes, event.sequence, event.extra = fields[:6]
            parent, event.line, event.facts, kind, flags, event.detail = fields[6:]
            event.begin = start + (begin - first) * rate
            event.end = start + (end - first) * rate
            event.kind = kinds[kind]
            event.name = names.get((kind, what), "")
            if event.sequence == _UNNUMBERED:
                event.sequence = -1
            event.address = what
            event.parent = None if parent == _NONE else made[parent]
            event.is_repeated = bool(flags & _REPEATED)
            event.is_owner = bool(flags & _OWNER)
            event.thread = thread
            made.append(event)
        return thread

    @cached_property
    def events(self) -> list[Event]:
        """Those of all threads, in the order in which they began."""
        every = [event for thread in self.threads for event in thread.events]
        return sorted(every, key=lambda event: event.begin)

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
