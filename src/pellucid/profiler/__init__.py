"""``torch.profiler``: which ops ran, how often and for how long.

Times are wall times on the thread that entered the profiler, of every op that runs
below autograd, forward and backward, and of the ranges named by ``record_function``.
The ops are those that run without a profiler, so that gradients are the same bits;
derivative ops have PyTorch's names where it has one op for them.
Each op passes through Python while it is watched, which adds some microseconds to the
time of what is around it. Memory, stacks and FLOPs are not recorded: asking for them
warns (see ``utils.flop_counter``). Imported lazily. Read next:
``events.py``.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from types import TracebackType
from typing import Any, Self

from pellucid.profiler.events import EventList, FunctionEvent
from pellucid.profiler.recording import Recorder, record_function

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(Enum):
    """Where work is done."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """What a profiler does in one step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """The CPU's."""
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """True: profiles have steps, schedules and traces, as PyTorch's by Kineto do."""
    return True


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """What to do at each step: wait, warm up, record, and so on, ``repeat`` times (0:
    for ever), after ``skip_first`` steps.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise ValueError(
            "schedule: the counts of steps are 0 or more, and `active` 1 or more; got "
            f"wait={wait}, warmup={warmup}, active={active}, repeat={repeat}, "
            f"skip_first={skip_first}"
        )

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if skip_first_wait:
            step += wait
        cycle, place = divmod(step, wait + warmup + active)
        if step < 0 or (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        is_last = place == wait + warmup + active - 1
        return ProfilerAction.RECORD_AND_SAVE if is_last else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """An ``on_trace_ready`` that writes a trace into a directory for each cycle."""

    def write(profiler: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{os.uname().nodename}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        profiler.export_chrome_trace(os.path.join(dir_name, name))

    return write


class profile:
    """Records the ops that run while it is on.

    ``schedule`` says for each step, which ``step()`` ends, whether to record;
    ``on_trace_ready`` is called with the profiler when a cycle of it is complete, and
    without a schedule at the end. Memory, stacks, operations and modules are not
    recorded: asking for them warns.

    Example::

        with torch.profiler.profile(record_shapes=True) as p:
            model(x).sum().backward()
        print(p.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        acc_events: bool = False,
    ) -> None:
        asked = {
            "profile_memory": profile_memory,
            "with_stack": with_stack,
            "with_flops": with_flops,
            "with_modules": with_modules,
        }
        if left_out := [f"{option}=True" for option, on in asked.items() if on]:
            warnings.warn(
                f"profile({', '.join(left_out)}): times and shapes alone are recorded",
                stacklevel=2,
            )
        self.activities = set(activities or supported_activities())
        self.schedule = schedule
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.acc_events = acc_events
        self.step_num = 0
        self._recorder: Recorder | None = None
        self._events: list[FunctionEvent] = []

    @property
    def current_action(self) -> ProfilerAction:
        """What is done in this step."""
        if self.schedule is None:
            return ProfilerAction.RECORD
        return self.schedule(self.step_num)

    def start(self) -> None:
        """Begin with the first step."""
        self._begin_step()

    def stop(self) -> None:
        """End; what was recorded since the last complete cycle is ready."""
        self._end_recording()
        if self.schedule is None or self.current_action in _RECORDS:
            self._ready()

    def step(self) -> None:
        """The next step begins."""
        ended = self.current_action
        self.step_num += 1
        if ended is ProfilerAction.RECORD_AND_SAVE:
            self._end_recording()
            self._ready()
        self._begin_step()

    def _begin_step(self) -> None:
        if self.current_action not in _RECORDS:
            self._end_recording()
        elif self._recorder is None:
            if not self.acc_events:
                self._events = []
            self._recorder = Recorder(self.record_shapes)
            self._recorder.start()

    def _end_recording(self) -> None:
        if self._recorder is not None:
            self._events += self._recorder.stop()
            self._recorder = None

    def _ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self.stop()

    def events(self) -> EventList:
        """Every call recorded, in the order in which they began."""
        return EventList(self._events)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0
    ) -> EventList:
        """The calls by name, and by the shapes of their arguments if requested."""
        return self.events().key_averages(group_by_input_shape)

    def export_chrome_trace(self, path: str) -> None:
        """Write what was recorded in the format of Chrome's and Perfetto's viewers."""
        self.events().export_chrome_trace(path)
