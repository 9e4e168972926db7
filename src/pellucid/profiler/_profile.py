"""The profiler: sessions of the timeline by steps, and the analysis of their logs."""

from __future__ import annotations

import json
import os
import time
import uuid
import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pellucid._package.lazy_exports import take_offers
from pellucid.profiler._actions import (
    ProfilerAction,
    ProfilerActivity,
    supported_activities,
)
from pellucid.profiler._build import Builder
from pellucid.profiler._chrome_trace import trace_of, write_json
from pellucid.profiler._event_list import EventList
from pellucid.profiler._function_events import FunctionEvent
from pellucid.profiler._ranges import record_function
from pellucid.profiler._timeline.log import Log, Session, Watch

_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """An ``on_trace_ready`` that writes a trace into a directory for each cycle, where
    TensorBoard's profiler plugin and Holistic Trace Analysis look for it.
    """

    def write(profiler: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{os.uname().nodename}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        profiler.export_chrome_trace(os.path.join(dir_name, name))

    return write


class profile:
    """Records what runs while it is active, on every thread.

    ``schedule`` says for each step, which ``step()`` ends, whether to record;
    ``on_trace_ready`` is called with the profiler when a cycle of it is complete, and
    without a schedule at the end. ``record_shapes`` notes the arguments of calls,
    ``profile_memory`` the storages made and freed, ``with_stack`` the frames of
    Python, ``with_modules`` calls of modules. ``with_flops`` counts floating-point
    operations from the loops of the ops, of products and convolutions 2 for each
    multiplication that is summed, as PyTorch does.

    Example::

        with torch.profiler.profile(record_shapes=True) as p:
            model(x).sum().backward()
        print(p.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        if use_cuda is not None:
            warnings.warn(
                "profile(use_cuda=...) is deprecated: name the activities instead",
                FutureWarning,
                stacklevel=2,
            )
        asked = set(activities or supported_activities())
        if not asked & supported_activities():
            raise RuntimeError(
                f"profile(): none of the activities {sorted(map(str, asked))} is "
                "recorded in this build; give ProfilerActivity.CPU"
            )
        self.activities: set[ProfilerActivity] = asked
        self.schedule = schedule
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.experimental_config = experimental_config
        self.execution_trace_observer = execution_trace_observer
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.step_num = 0
        self.current_action = self._action(0)
        self._metadata: dict[str, Any] = {}
        self._preset: dict[str, Any] = {}
        self._trace_id = ""
        self._session: Session | None = None
        self._step_range: record_function | None = None
        self._log: Log | None = None
        self._events: list[FunctionEvent] | None = None
        self._earlier: list[FunctionEvent] = []

    def _action(self, step: int) -> ProfilerAction:
        if self.schedule is None:
            return ProfilerAction.RECORD_AND_SAVE
        return self.schedule(step)

    def _watch(self) -> Watch:
        what = Watch.CALLS
        if self.record_shapes or self.with_flops:
            what |= Watch.FACTS
        if self.profile_memory:
            what |= Watch.MEMORY
        if self.with_stack:
            what |= Watch.STACKS
        if self.with_modules:
            what |= Watch.MODULES
        return what

    def start(self) -> None:
        """Starts the first step."""
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.start()
        self._begin_step()

    def stop(self) -> None:
        """Stops; the recording since the last complete cycle is available."""
        self._end_step_range()
        was_recording = self._session is not None
        self._end_recording()
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.stop()
        if was_recording:
            self._ready()

    def step(self) -> None:
        """Starts the next step."""
        self._end_step_range()
        ended = self.current_action
        self.step_num += 1
        self.current_action = self._action(self.step_num)
        if ended is ProfilerAction.RECORD_AND_SAVE and self.schedule is not None:
            self._end_recording()
            self._ready()
        self._begin_step()

    def _begin_step(self) -> None:
        if self.current_action not in _RECORDS:
            self._end_recording()
        elif self._session is None:
            if self.acc_events and self._log is not None:
                self._earlier = list(self.events())
            self._trace_id = self._new_trace_id()
            self._session = Session(self._watch())
            self._session.start()
        if self.schedule is not None and self._session is not None:
            self._step_range = record_function(f"ProfilerStep#{self.step_num}")
            self._step_range.__enter__()

    def _end_step_range(self) -> None:
        if self._step_range is not None:
            self._step_range.__exit__(None, None, None)
            self._step_range = None

    def _end_recording(self) -> None:
        if self._session is not None:
            self._log = self._session.stop()
            self._events = None
            self._session = None
            if self._log.lost:
                warnings.warn(
                    f"profile: {self._log.lost} events were lost, for want of room; "
                    "record fewer steps with a schedule",
                    stacklevel=3,
                )

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

    # What was recorded

    def _recorded(self) -> Log:
        if self._log is None:
            raise AssertionError(
                "the profiler has recorded nothing yet: enter it, or call start(), "
                "and read it after stop()"
            )
        return self._log

    def events(self) -> EventList:
        """Every event, in the order in which they began."""
        log = self._recorded()
        if self._events is None:
            self._events = Builder(log, self).build()
        return EventList(
            [*self._earlier, *self._events],
            profile_memory=self.profile_memory,
            with_flops=self.with_flops,
        )

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events by name; told apart by the shapes of their arguments, by their
        innermost frames, and by overload, if requested.
        """
        return self.events().key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def export_chrome_trace(self, path: str) -> None:
        """Write what was recorded in the format of Chrome's and Perfetto's viewers;
        compressed for ``.gz``.
        """
        options = {
            "record_shapes": self.record_shapes,
            "profile_memory": self.profile_memory,
            "with_stack": self.with_stack,
            "with_flops": self.with_flops,
            "with_modules": self.with_modules,
        }
        metadata: dict[str, Any] = {"trace_id": self._trace_id}
        metadata |= {name: int(on) for name, on in options.items() if on}
        metadata |= {**self._preset, **self._metadata, "traceName": path}
        write_json(trace_of(self.events(), self._recorded(), metadata), path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks with the sum of ``metric`` each, for flame graphs; needs
        ``with_stack=True``.
        """
        self.events().export_stacks(path, metric)

    if TYPE_CHECKING:  # implemented in diagnose/page.py

        def export_html(self, path: str, only: str = "") -> None: ...

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Write the bytes in use by what they are for, as they change: ``.html`` gives
        a page, ``.json`` and ``.json.gz`` give ``[times, sizes]``, ``.raw.json.gz``
        each change. Needs ``profile_memory=True``. Raises ValueError for another
        ending.
        """
        from pellucid.profiler._memory_timeline import write_memory_timeline

        if not self.profile_memory:
            raise ValueError(
                "export_memory_timeline needs profile(profile_memory=True)"
            )
        if device is not None and not device.startswith("cpu"):
            raise ValueError(f"device {device!r}: memory is recorded of 'cpu' alone")
        if path.endswith(".html"):
            return self.export_html(path, only="memory")
        write_memory_timeline(self._recorded(), path)

    # Metadata

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the trace."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add a value to the trace, given as JSON."""
        self._metadata[key] = json.loads(value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Add a value to this trace and later ones, given as JSON."""
        self._preset[key] = json.loads(value)

    def _new_trace_id(self) -> str:
        if self.custom_trace_id_callback is not None:
            return self.custom_trace_id_callback()
        return uuid.uuid4().hex.upper()

    def get_trace_id(self) -> str | None:
        """The name of the current or last trace."""
        return self._trace_id or None

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Names later traces by the result of ``callback``."""
        self.custom_trace_id_callback = callback

    # The halves of `start` and `stop`, for programs that call them.

    def prepare_trace(self) -> None:
        """Does nothing: no preparation is needed."""

    def start_trace(self) -> None:
        """Starts recording."""
        self._begin_step()

    def stop_trace(self) -> None:
        """Stops recording."""
        self._end_recording()

    def toggle_collection_dynamic(
        self, enable: bool, activities: Iterable[ProfilerActivity]
    ) -> None:
        """Pauses or resumes; no effect for activities that are not recorded."""
        raise NotImplementedError(
            "toggle_collection_dynamic: a session records from start to stop; give a "
            "schedule, which leaves steps out"
        )


take_offers("profiler._profile.profile", profile)
