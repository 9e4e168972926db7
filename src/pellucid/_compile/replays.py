"""Calls of compiled callables that run again without Python.

A callable is analysed in three calls. First ``read_set.py`` finds what Python can read
in a call. Then two calls are captured (runtime/record/capture.h): their ops, with the
source of each operand. If both captures are equal, changed nothing that Python can
read, have results that can be rebuilt, and a ``_C.Replay`` is faster than Python, it
runs later calls as long as arguments, tensors and the read set are unchanged. Other
calls run Python, as do all calls if a step fails: ``explain`` shows the reason.

Analysing a call takes some milliseconds. Attempts that fail are repeated so rarely that
they take a small share of the time of the calls, and so are those that led to replays
which saved less time than they took to find.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from pellucid import _C, Tensor
from pellucid._compile import state
from pellucid._compile.read_set import Reads, Unreadable, Watch
from pellucid._compile.settings import Settings, memory_budget
from pellucid._compile.trial import GAIN, Trial, working_time

_WARM_UP: Final = 1
_FIRST_PAUSE, _LONGEST_PAUSE = 4, 4096
_WHILE_OBSERVED: Final = 64
"""Calls that run normally while something observes calls."""
_MOST_REPLAYS: Final = 16
_MOST_STALE: Final = 2
"""Replays that are kept although numbers that they read have changed, for programs that
alternate between two states."""
_MOST_LOOKS: Final = 3
"""At read sets in one attempt: each change of what a call reads needs another one."""
_RUNS_TO_WARM_UP: Final = 4
"""In which a replay prepares its ops and joins them."""
_LEAST_OPS: Final = 6
"""Of fewer ops, comparing what a call reads costs as much as Python."""
_LESS_MEMORY: Final = 0.9
_TIME_OF_LESS_MEMORY: Final = 1.03
"""The fraction of Python's time that a replay may take if it needs less memory."""
_SHARE: Final = 0.1
"""Of the time of calls, which attempts to replay them may take at most."""


class Call(NamedTuple):
    """A call of the callable as written."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def run(self) -> Any:
        return self.function(*self.args, **self.kwargs)

    def arguments(self) -> tuple[Any, ...]:
        """All arguments, the last of which have the names ``kwargs``."""
        return (*self.args, *self.kwargs.values())

    def objects(self) -> list[Any]:
        """The arguments that are not plain tensors."""
        return [a for a in self.arguments() if type(a) is not Tensor]


@dataclass
class _Attempt:
    """What is known in an attempt to replay a callable."""

    usual: int | None = None  # nanoseconds of a call in Python
    cost: int = 0  # nanoseconds beyond that
    looks: int = 0
    reads: Reads | None = None
    known: Any = None  # its state when it was found
    objects: list[Any] = field(default_factory=list)  # the arguments that led to it
    first: Any = None  # the first of two captures
    candidate: Any = None  # the replay being timed
    trial: Trial = field(default_factory=Trial)


class _Found(NamedTuple):
    """A replay, the nanoseconds that a run of it saves, and what finding it cost; the
    gain is None if it was not timed.
    """

    replay: Any
    gain: float | None
    cost: int

    def has_paid(self) -> bool:
        runs = self.replay.facts()[3]
        return bool(runs if self.gain is None else runs * self.gain >= self.cost)


class Replayer:
    """The analysis of one compiled callable's calls, which creates its replays.

    One thread at a time analyses calls; those of other threads run normally. ``owner``
    is always the callable's compilation.
    """

    def __init__(self, settings: Settings, *, is_forced: bool) -> None:
        self.reason: str | None = None  # why the last attempt failed
        self._is_forced = is_forced
        self._may_keep_arguments = settings.keeps_arguments
        self._lock = threading.Lock()
        self._until = _WARM_UP  # calls that run normally before the next attempt
        self._pause = _FIRST_PAUSE
        self._attempt: _Attempt | None = None
        self._last: _Found | None = None
        _watch_collections()

    def wants(self, owner: Any) -> bool:
        """Whether to analyse the next call: if regions gain nothing."""
        if not (owner.region_lost or self._is_forced):
            return False
        if self._until > 0:
            self._until -= 1
            return False
        if _is_observed():
            self._until = _WHILE_OBSERVED
            return False
        return self._attempt is not None or self._has_paid()

    def spare(self, most: int) -> int:
        """How many of the next ``most`` calls are not analysed, and need not ask."""
        calls = min(most, self._until)
        self._until -= calls
        return calls

    def _has_paid(self) -> bool:
        """Whether the last replay has saved the time that it took to find."""
        last, self._last = self._last, None
        if last is None:
            return True
        if last.has_paid():
            self._pause = _FIRST_PAUSE
            return True
        self._rest(last.cost, None)
        return False

    def run(self, owner: Any, call: Call) -> Any:
        """Runs a call in Python and analyses it."""
        if not self._lock.acquire(blocking=False):
            return call.run()
        try:
            attempt = self._attempt = self._attempt or _Attempt()
            if attempt.candidate is not None:
                return self._try(owner, attempt, call)
            start = working_time()
            if attempt.usual is None and not self._is_forced:
                result = call.run()
                attempt.usual = working_time() - start
                return result
            try:
                if attempt.reads is None:
                    return self._find_reads(owner, attempt, call)
                return self._capture(owner, attempt, attempt.reads, call)
            finally:
                attempt.cost += working_time() - start - (attempt.usual or 0)
        finally:
            self._lock.release()

    def _find_reads(self, owner: Any, attempt: _Attempt, call: Call) -> Any:
        _forget_stale(owner)
        attempt.looks += 1
        attempt.first = None
        with Watch() as watch:
            result = call.run()
        try:
            attempt.objects = call.objects()
            reads = Reads(watch, call.function, attempt.objects)
            if reads.unowned and not self._may_keep_arguments:
                kind = type(reads.unowned[0]).__name__
                raise Unreadable(f"a replay would keep an argument alive, a {kind}")
            attempt.known = _C.ReadSet(reads.entries)
            attempt.reads = reads
        except (Unreadable, TypeError, ValueError) as error:
            self._fail(attempt, str(error))
        return result

    def _capture(self, owner: Any, attempt: _Attempt, reads: Reads, call: Call) -> Any:
        known = attempt.known
        # Changes since it was found may make other objects reachable.
        changed = known.difference()
        if changed or not _same_objects(attempt.objects, call.objects()):
            if attempt.looks < _MOST_LOOKS:
                return self._find_reads(owner, attempt, call)
            self._fail(attempt, f"{changed or 'an argument'} changes between calls")
            return call.run()
        watch = Watch()
        _C._enter_region(False)
        try:
            _C._begin_call_capture(call.arguments(), reads.tensors)
            try:
                with watch:
                    result = call.run()
                found = _C._end_call_capture(
                    result,
                    tuple(call.kwargs),
                    reads.entries,
                    reads.known,
                    reads.classes,
                    reads.handles_errors,
                )
            finally:
                _C._abort_call_capture()
        except BaseException:
            self._fail(attempt, "the call raised an exception")
            raise
        finally:
            _C._leave_region()
        changed = known.difference()
        if isinstance(found, str):
            self._fail(attempt, found)
        elif watch.refused:
            self._fail(attempt, watch.refused)
        elif not reads.covers(watch):
            self._fail(attempt, "calls run different functions")
        elif changed:
            self._fail(attempt, f"the call changes {changed}")
        elif len(found.facts()[0]) < _LEAST_OPS:
            self._pause = _LONGEST_PAUSE
            self._fail(attempt, "it has so few ops that a replay would gain nothing")
        elif attempt.first is None:
            attempt.first = found
        elif not attempt.first.same_as(found):
            self._fail(attempt, "two calls did different things")
        else:
            found.recompute(memory_budget())
            if self._is_forced:
                self._publish(owner, found, attempt)
            else:
                attempt.candidate = found
        return result

    def _try(self, owner: Any, attempt: _Attempt, call: Call) -> Any:
        """Alternates Python and the replay, and keeps the faster one."""
        trial, replay = attempt.trial, attempt.candidate
        is_warm = replay.facts()[3] >= _RUNS_TO_WARM_UP
        by_python = is_warm and trial.is_without_region()
        start = working_time()
        found = None
        if not by_python:
            found = replay.run(call.arguments(), tuple(call.kwargs))
            if found is None:
                self._fail(attempt, _why_not(replay))
                return call.run()
        result = call.run() if found is None else found[0]
        if is_warm:
            trial.add(working_time() - start, without=by_python)
        if trial.is_done():
            if trial.is_won(_TIME_OF_LESS_MEMORY if _saves_memory(replay) else GAIN):
                self._publish(owner, replay, attempt)
            else:
                self._pause = _LONGEST_PAUSE
                self._fail(attempt, "a replay is not faster than Python")
        return result

    def _publish(self, owner: Any, replay: Any, attempt: _Attempt) -> None:
        owner.replays = (replay, *(owner.replays or ())[: _MOST_REPLAYS - 1])
        gain = None if self._is_forced else attempt.trial.gain()
        self._last = _Found(replay, gain, attempt.cost)
        self._attempt = self.reason = None
        self._until = 0

    def _fail(self, attempt: _Attempt, reason: str) -> None:
        self.reason = reason
        self._attempt = None
        self._rest(attempt.cost, attempt.usual)

    def _rest(self, cost: int, usual: int | None) -> None:
        """Runs calls normally: so many that the cost is a small share of their time."""
        calls = int(cost / (_SHARE * max(usual, 1))) if usual else 0
        self._until = max(self._pause, min(calls, _LONGEST_PAUSE))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    def drop_replaced(self, owner: Any) -> None:
        """Releases objects that only replays, or an attempt, keep alive."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            for replay in owner.replays or ():
                replay.drop_if_replaced()
            attempt = self._attempt
            if attempt and attempt.known and attempt.known.difference():
                self._attempt = None
        finally:
            self._lock.release()


def _watch_collections() -> None:
    if _drop_replaced not in gc.callbacks:
        gc.callbacks.append(_drop_replaced)


def _drop_replaced(phase: str, info: dict[str, int]) -> None:
    """Before a full collection, so that this frees what nothing else refers to."""
    if phase != "start" or info["generation"] < 2:
        return
    for compilation in state.in_use():
        if compilation.replayer:
            compilation.replayer.drop_replaced(compilation)


def _forget_stale(owner: Any) -> None:
    """Removes replays of other states of the read set, but the last ones."""
    stale = [r for r in owner.replays or () if r.difference() is not None]
    old = {id(r) for r in stale if not r.facts()[0]}
    old.update(map(id, [r for r in stale if id(r) not in old][_MOST_STALE:]))
    owner.replays = tuple(r for r in owner.replays or () if id(r) not in old)


def _is_observed() -> bool:
    """Whether modes are active in which no replay runs, or a profiler or tracer of
    Python, in which no call is analysed.
    """
    is_traced = sys.getprofile() is not None or sys.gettrace() is not None
    return is_traced or _C.is_anomaly_enabled() or bool(_C._torch_function_modes())


def _why_not(replay: Any) -> str:
    """Why a replay did not run a call."""
    changed = replay.difference()
    if changed:
        return f"{changed} changes between calls"
    return "arguments, tensors or modes change between calls"


def _saves_memory(replay: Any) -> bool:
    _, before, after = replay.recomputed()
    return bool(after <= _LESS_MEMORY * before)


def _same_objects(known: list[Any], now: list[Any]) -> bool:
    """Whether the same objects can be reached from both: plain ones lead nowhere."""
    return len(known) == len(now) and all(
        a is b or (type(a) is type(b) and type(a) in (bool, int, float, str))
        for a, b in zip(known, now, strict=True)
    )
