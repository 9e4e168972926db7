"""The state of a compiled callable: its region, its first call, and when to stop.

In a region the runtime (runtime/record) records elementwise ops and runs them in
groups; everything else runs immediately. If several calls had too little to group, or a
trial (trial.py) found them faster without a region, later calls run without one: they
are replayed (replays.py) if possible, and some are tried again in a region, so that a
compiled callable is never slower.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pellucid import _C
from pellucid._compile import background, state
from pellucid._compile.replays import Call, Replayer
from pellucid._compile.settings import Settings
from pellucid._compile.trial import Trial, working_time

# Calls with too little to group before calls run without a region, and for how many.
_PATIENCE: Final = 4
_SHORTEST_PAUSE, _LONGEST_PAUSE = 16, 4096
# Calls with enough to group between trials: first, and at most.
_TRUST, _LONGEST_TRUST = 8, 8192
# Costs in ns: a pass over one cached element, a recorded op, a region.
_ELEMENT, _RECORD, _REGION = 0.05, 60, 1000


class Event(NamedTuple):
    """What happened in the first call: ``kind`` is "recorded", "ran" or "flushed"."""

    kind: str
    op: str | None
    number: int  # of elements, or of ops that ran
    reason: str
    place: str


class Compilation(_C.CompilationBase):
    """The state of one compiled callable."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.settings = settings
        self.reset()
        state.note_compilation(self)

    def reset(self) -> None:
        """Resets the state to that before the first call."""
        self.graphs: Any = None  # passes graphs to the user's backend
        self.forced: Compilation | None = None  # with the stance's backend
        self.calls = 0
        self.fruitless = 0
        self.pause = _SHORTEST_PAUSE
        # Calls that run without a region; 0 for fullgraph, which always uses one.
        self.left = 0
        # Of the first call: what _C._describe_events describes; None before it.
        self.recorded: Any = None
        self.region_lost = False  # there was too little to group, or it was slower
        self.trial: Trial | None = None
        self.trust = _TRUST
        self.until_trial = _TRUST
        self.replays: tuple[Any, ...] | None = None
        self.replayer: Replayer | None = None

    def run(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Calls ``fn`` in a region."""
        forced = state.forced_backend()
        if forced is not None and forced is not self.settings.backend:
            return self._with_backend(forced).run(fn, args, kwargs)
        settings = self.settings
        records = settings.backend == "inductor" or settings.fullgraph
        takes_graphs = settings.takes_graphs
        is_off = state.stance() == "force_eager" or _is_disabled()
        if is_off or not (records or takes_graphs):
            return fn(*args, **kwargs)
        if takes_graphs:
            return self._backend().run(fn, args, kwargs)
        self.calls += 1
        if self.recorded is None:
            return self._run_watched(fn, args, kwargs)
        replayer = self.replayer
        if replayer and _C._region_depth() == 0 and replayer.wants(self):
            return replayer.run(self, Call(fn, args, kwargs))
        trial = self.trial
        if trial and trial.is_without_region() and _C._region_depth() == 0:
            return self._run_without_region(trial, fn, args, kwargs)
        before = _C._recording_counts()
        start = working_time() if trial else 0
        _C._enter_region(self.settings.fullgraph)
        try:
            return fn(*args, **kwargs)
        finally:
            _C._leave_region()
            if _C._region_depth() == 0:
                time = working_time() - start if trial else None
                self._learn(before, _C._recording_counts(), time)

    def events(self) -> list[Event] | None:
        """What happened in the first call; None before it."""
        if self.recorded is None:
            return None
        found = _C._describe_events(self.recorded) if self.recorded else []
        return [Event(*event) for event in found]

    def _with_backend(self, backend: Any) -> Compilation:
        if self.forced is None or self.forced.settings.backend is not backend:
            settings = replace(self.settings, backend=backend, mode=None, options={})
            self.forced = Compilation(self.name, settings)
        return self.forced

    def _backend(self) -> Any:
        from pellucid._compile.capture.backends import Backend

        if self.graphs is None:
            self.graphs = Backend(self.name, self.settings)
        return self.graphs

    def _run_watched(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        frames = state.counters()["frames"]
        frames["total"] += 1
        self.recorded = ()
        settings = self.settings
        if settings.backend == "inductor" and (replays := settings.replays) != "never":
            self.replayer = Replayer(settings, is_forced=replays == "always")
        outermost = _C._region_depth() == 0
        _C._enter_region(settings.fullgraph)
        if outermost:
            _C._watch_recording(True)
        try:
            result = fn(*args, **kwargs)
            frames["ok"] += 1
            return result
        finally:
            try:
                _C._leave_region()
            finally:
                if outermost:
                    self.recorded = _C._recording_events()
                    _C._watch_recording(False)

    def _run_without_region(
        self, trial: Trial, fn: Callable[..., Any], args: Any, kwargs: Any
    ) -> Any:
        start = working_time()
        result = fn(*args, **kwargs)
        trial.add(working_time() - start, without=True)
        return result

    def _learn(
        self, before: tuple[int, ...], after: tuple[int, ...], time: int | None
    ) -> None:
        recorded, spared = after[0] - before[0], after[4] - before[4]
        gains = _ELEMENT * spared > _RECORD * recorded + _REGION
        if self.settings.fullgraph:  # only a region detects reads of values
            self.region_lost = not gains
            return
        if gains:
            self.fruitless = 0
            self._continue_trial(time)
            return
        self.fruitless += 1
        if self.fruitless >= _PATIENCE:
            self.fruitless = _PATIENCE - 1
            self._leave_alone()

    def _continue_trial(self, time: int | None) -> None:
        """Records that a call in a region with enough to group took ``time``
        nanoseconds; None if it was not timed.
        """
        trial = self.trial
        if trial:
            if time is None:  # another thread began the trial meanwhile
                return
            trial.add(time, without=False)
            if trial.is_done():
                self._judge(trial)
            return
        self.until_trial -= 1
        if self.until_trial <= 0 and background.is_idle():
            self.trial = Trial()

    def _judge(self, trial: Trial) -> None:
        if trial.is_won():
            self.region_lost = False
            self.pause = _SHORTEST_PAUSE
            self.trial, self.until_trial = None, self.trust
            self.trust = min(2 * self.trust, _LONGEST_TRUST)
        else:
            self.trial, self.trust = Trial(), _TRUST
            self._leave_alone()

    def _leave_alone(self) -> None:
        self.region_lost = True
        self.left = self.pause
        self.pause = min(2 * self.pause, _LONGEST_PAUSE)
        if self.replayer:
            self.left = self.replayer.spare(self.left)


def _is_disabled() -> bool:
    return bool(state.config().disable)
