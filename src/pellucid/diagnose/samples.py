"""Which statements of the program Python's own time is spent on: samples of its stack.

A timer of the CPU's time interrupts the main thread; the handler notes the moment and
the program's lines. A sample belongs to Python if it falls into a gap between two calls
of the log, and not right behind the first, which the interrupt waited for. `hottest`
says which statement a rule is to name.
"""

from __future__ import annotations

import ast
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from pellucid import _C
from pellucid.diagnose.edits import enclosing, is_loop, statement_at
from pellucid.profiler._timeline.columns import Array
from pellucid.profiler._timeline.log import Line
from pellucid.profiler._timeline.shares import Shares

Place = tuple[str, int]
_PERIOD = 0.004  # seconds of the CPU
_BEHIND = 10_000  # nanoseconds after a call that the interrupt waited for
_MOST = 0.5  # of the samples at a statement, for it to be the cause
_LEAST = 5  # samples that show where time goes
_FULL = 1 << 19  # events of the main thread: what is recorded is analysed in seconds


class Samples:
    """From `start` to `stop`, samples of the main thread: ``moments`` in nanoseconds,
    and ``stacks`` of the program's lines, the innermost first. ``at_full`` is called
    once if the thread has recorded very many events.
    """

    def __init__(self, at_full: Callable[[], None] | None = None) -> None:
        self._at_full = at_full
        self.moments: list[int] = []
        self.stacks: list[tuple[Place, ...]] = []
        self._known: dict[str, bool] = {}
        self._previous: Any = None
        self._is_on = False

    def start(self) -> None:
        """Samples from now on; only the main thread can be interrupted."""
        self._is_on = threading.current_thread() is threading.main_thread()
        if self._is_on:
            self._previous = signal.signal(signal.SIGPROF, self._take)
            signal.setitimer(signal.ITIMER_PROF, _PERIOD, _PERIOD)

    def stop(self) -> None:
        """Samples no more."""
        if not self._is_on or signal.getsignal(signal.SIGPROF) != self._take:
            return  # the program has a use of its own for the signal
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, self._previous or signal.SIG_DFL)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.moments.append(time.perf_counter_ns())
        places = []
        while frame is not None:
            file = frame.f_code.co_filename
            if file not in self._known:
                is_user = Line(file, "", 0, 0).is_user
                self._known[file] = is_user and "-packages/" not in file
            if self._known[file] and frame.f_lineno is not None:
                places.append((file, frame.f_lineno))
            frame = frame.f_back
        self.stacks.append(tuple(places))
        if self._at_full is not None and _C._timeline_size() > _FULL:
            at_full, self._at_full = self._at_full, None
            at_full()

    def part(self, file: str, node: ast.AST) -> float:
        """Of the samples, those with a frame inside of a node of a syntax tree."""
        first, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        inside = sum(
            any(name == file and first <= line <= last for name, line in stack)
            for stack in self.stacks
        )
        return inside / max(len(self.stacks), 1)

    def rows(self, begin: Array, pieces: Shares) -> Array:
        """Of each sample the row of the event behind the gap that it falls into, -1 if
        it falls into none; ``begin``: of each row.
        """
        is_gap = pieces.is_python & (pieces.rows >= 0)
        rows, lengths = pieces.rows[is_gap], pieces.nanoseconds[is_gap]
        order = np.argsort(begin[rows], kind="stable")
        rows, lengths = rows[order], lengths[order]
        moments = np.array(self.moments, np.float64)
        if not len(rows) or not len(moments):
            return np.full(len(moments), -1)
        place = np.minimum(np.searchsorted(begin[rows], moments), len(rows) - 1)
        since = moments - (begin[rows] - lengths)[place]
        is_inside = (since > _BEHIND) & (moments < begin[rows][place])
        found: Array = np.where(is_inside, rows[place], -1)
        return found


def hottest(stacks: Sequence[tuple[Place, ...]]) -> Place | None:
    """The innermost statement in which most samples are: where a function spends its
    time in several statements, one of their loop or the one that calls it. None of too
    few samples.
    """
    if len(stacks) < _LEAST:
        return None
    left = [_statements(stack) for stack in stacks]
    found: Place | None = None
    for depth in range(max(map(len, left), default=0)):
        counts = Counter(stack[depth] for stack in left if len(stack) > depth)
        best, count = counts.most_common(1)[0]
        if count < _MOST * len(left):
            return _in_loop(counts, len(left)) or found
        found = best
        left = [s for s in left if len(s) > depth and s[depth] == best]
        if all(len(stack) == depth + 1 for stack in left):
            break
    return found


def _in_loop(counts: Counter[Place], total: int) -> Place | None:
    """The most frequent statement of the innermost loop that most samples are in."""
    loops: Counter[Place] = Counter()
    for (file, line), count in counts.items():
        for loop in enclosing(file, line, is_loop):
            loops[file, loop.lineno] += count
    most = [loop for loop, count in loops.items() if count >= _MOST * total]
    if not most:
        return None
    file, first = max(most, key=lambda place: place[1])
    inside = [p for p in counts if p[0] == file and p[1] >= first]
    return max(inside, key=lambda place: counts[place])


def _statements(stack: tuple[Place, ...]) -> list[Place]:
    """The statements of a stack, the outermost first."""
    found: list[Place] = []
    for file, line in reversed(stack):
        statement = statement_at(file, line)
        place = file, statement.lineno if statement is not None else line
        if found[-1:] != [place]:
            found.append(place)
    return found
