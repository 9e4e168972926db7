"""``mode="reduce-overhead"``: calls that run again without Python.

A callable is analysed in three calls. First ``read_set.py`` finds what Python can read
in a call. Then two calls are captured (runtime/record/capture.h): their ops, with the
source of each operand. If both captures are equal, changed nothing that Python can
read, have results that can be rebuilt, and a ``_C.Replay`` is faster than Python, it
runs later calls as long as arguments, tensors and the read set are unchanged. Other
calls run Python, as do all calls if a step fails: ``explain`` shows the reason.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Final

from pellucid import _C, Tensor
from pellucid._compile.read_set import Reads, Unreadable, Watch
from pellucid._compile.settings import memory_budget
from pellucid._compile.trial import GAIN, Trial, working_time

_WARM_UP: Final = 1
_FIRST_PAUSE, _LONGEST_PAUSE = 4, 4096
_MOST_REPLAYS: Final = 16
_RUNS_TO_WARM_UP: Final = 4
"""In which a replay prepares its ops and joins them."""
_LEAST_OPS: Final = 6
"""Of fewer ops, comparing what a call reads costs as much as Python."""
_LESS_MEMORY: Final = 0.9
_GAIN_OF_LESS_MEMORY: Final = 1.0
"""A replay that needs less of the peak memory must not be slower than Python."""


class Replayer:
    """The replays of one compiled callable, and the analysis that creates them.

    One thread at a time analyses calls; those of other threads run normally.
    """

    def __init__(self, compilation: Any) -> None:
        self.compilation = compilation
        self.reason: str | None = None  # why the last attempt failed
        self._lock = threading.Lock()
        self._until = _WARM_UP  # calls that run normally before the next attempt
        self._pause = _FIRST_PAUSE
        self._reads: Reads | None = None
        self._known: Any = None  # its state when it was found
        self._objects: list[Any] = []  # the arguments that led to it
        self._first: Any = None  # the first of two captures
        self._candidate: Any = None  # the replay being timed, and its arguments
        self._trial = Trial()

    def wants(self) -> bool:
        """Whether to analyse the next call: if regions gain nothing."""
        if not (self.compilation.region_lost or self._is_forced()):
            return False
        if self._until > 0:
            self._until -= 1
            return False
        return sys.getprofile() is None and sys.gettrace() is None

    def _is_forced(self) -> bool:
        return bool(self.compilation.settings.replays == "always")

    def is_looking(self) -> bool:
        """Whether it has not failed yet, or is analysing calls."""
        return self.reason is None

    def run(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Runs a call in Python and analyses it."""
        if not self._lock.acquire(blocking=False):
            return fn(*args)
        try:
            if self._candidate is not None:
                return self._try(self._candidate, fn, args)
            if self._reads is None:
                return self._find_reads(fn, args)
            return self._capture(self._reads, fn, args)
        finally:
            self._lock.release()

    def _find_reads(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        self._forget_stale()
        with Watch() as watch:
            result = fn(*args)
        try:
            self._objects = _objects_of(args)
            reads = Reads(watch, [fn, *self._objects])
            self._known = _C.ReadSet(reads.entries)
            self._reads = reads
        except (Unreadable, TypeError, ValueError) as error:
            self._fail(str(error))
        return result

    def _capture(
        self, reads: Reads, fn: Callable[..., Any], args: tuple[Any, ...]
    ) -> Any:
        known = self._known
        # Changes since it was found may make other objects reachable.
        if known.difference() or not _same_objects(self._objects, _objects_of(args)):
            return self._find_reads(fn, args)
        watch = Watch()
        _C._enter_region(False)
        try:
            _C._begin_call_capture(args, reads.tensors)
            try:
                with watch:
                    result = fn(*args)
                found = _C._end_call_capture(
                    result, reads.entries, reads.handles_errors
                )
            finally:
                _C._abort_call_capture()
        except BaseException:
            self._fail("the call raised an exception")
            raise
        finally:
            _C._leave_region()
        changed = known.difference()
        if isinstance(found, str):
            self._fail(found)
        elif watch.refused:
            self._fail(watch.refused)
        elif not reads.covers(watch):
            self._fail("calls run different functions")
        elif changed:
            self._fail(f"the call changes {changed}")
        elif len(found.facts()[0]) < _LEAST_OPS:
            self._pause = _LONGEST_PAUSE
            self._fail("it has so few ops that a replay would gain nothing")
        elif self._first is None:
            self._first = found
        elif not self._first.same_as(found):
            self._fail("two calls did different things")
        else:
            found.recompute(memory_budget())
            if self._is_forced():
                self._publish(found)
            else:
                self._candidate, self._trial = found, Trial()
        return result

    def _try(self, replay: Any, fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Alternates Python and the replay, and keeps the faster one."""
        trial = self._trial
        is_warm = replay.facts()[3] >= _RUNS_TO_WARM_UP
        by_python = is_warm and trial.is_without_region()
        start = working_time()
        found = None if by_python else replay.run(args)
        if found is None and not by_python:
            self._fail("the call's read set has changed")
            return fn(*args)
        result = fn(*args) if found is None else found[0]
        if is_warm:
            trial.add(working_time() - start, without=by_python)
        if trial.is_done():
            if trial.is_won(_GAIN_OF_LESS_MEMORY if _saves_memory(replay) else GAIN):
                self._publish(replay)
            else:
                self._pause = _LONGEST_PAUSE
                self._fail("a replay is not faster than Python")
        return result

    def _publish(self, replay: Any) -> None:
        known = self.compilation.replays or ()
        self.compilation.replays = (replay, *known[: _MOST_REPLAYS - 1])
        self._reads = self._first = self._candidate = self.reason = None
        self._until, self._pause = 0, _FIRST_PAUSE

    def _fail(self, reason: str) -> None:
        self.reason = reason
        self._reads = self._first = self._candidate = None
        self._until = self._pause
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    def _forget_stale(self) -> None:
        """Removes replays whose read set has changed."""
        known = self.compilation.replays or ()
        self.compilation.replays = tuple(r for r in known if r.difference() is None)


def _saves_memory(replay: Any) -> bool:
    _, before, after = replay.recomputed()
    return bool(after <= _LESS_MEMORY * before)


def _objects_of(args: tuple[Any, ...]) -> list[Any]:
    return [a for a in args if type(a) is not Tensor]


def _same_objects(known: list[Any], now: list[Any]) -> bool:
    return len(known) == len(now) and all(
        a is b or (type(a) is type(b) and type(a) in (int, str) and a == b)
        for a, b in zip(known, now, strict=True)
    )
