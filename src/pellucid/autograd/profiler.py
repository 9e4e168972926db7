"""``torch.autograd.profiler``: the former interface of ``torch.profiler``."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import pellucid.profiler
from pellucid.autograd.profiler_util import (
    MEMORY_EVENT_NAME,
    OUT_OF_MEMORY_EVENT_NAME,
    EventList,
    FunctionEvent,
    MemRecordsAcc,
)
from pellucid.profiler import ProfilerActivity, kineto_available, record_function

__all__ = [
    "MEMORY_EVENT_NAME",
    "OUT_OF_MEMORY_EVENT_NAME",
    "EnforceUnique",
    "EventList",
    "FunctionEvent",
    "KinetoStepTracker",
    "MemRecordsAcc",
    "ProfilerActivity",
    "emit_itt",
    "emit_nvtx",
    "kineto_available",
    "load_nvprof",
    "parse_nvprof_trace",
    "profile",
    "record_function",
]


class profile(pellucid.profiler.profile):
    """Records what runs inside its scope, if ``enabled``. Averages and tables are
    methods of the profiler itself.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
    ) -> None:
        super().__init__(
            record_shapes=record_shapes,
            with_flops=with_flops,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_modules=with_modules,
            experimental_config=experimental_config,
            acc_events=acc_events,
        )
        self.enabled = enabled
        self.use_cuda, self.use_device = use_cuda, use_device

    def start(self) -> None:
        """Starts, if enabled."""
        if self.enabled:
            super().start()

    def stop(self) -> None:
        """Stops, if enabled."""
        if self.enabled:
            super().stop()

    @property
    def function_events(self) -> EventList | None:
        """All events; None before the end, and if the profiler was not enabled."""
        return self.events() if self._log is not None else None

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, in microseconds."""
        return self.events().self_cpu_time_total

    def table(self, sort_by: str | None = None, **options: Any) -> str:
        """The events as a table, with the options of `EventList.table`."""
        return self.events().table(sort_by, **options)

    def total_average(self) -> Any:
        """All events combined into one."""
        return self.events().total_average()

    def __str__(self) -> str:
        return self.table() if self._log is not None else "<unfinished profiler>"


class _Refused:
    """Annotations for an external profiler: refused when enabled."""

    _what = ""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        if enabled:
            raise NotImplementedError(
                f"{type(self).__name__} {self._what}\n"
                "Use torch.profiler.profile: export_chrome_trace shows the same ranges"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class emit_nvtx(_Refused):
    """Annotates ops for NVIDIA's profilers: refused, since ops run on the CPU."""

    _what = "needs CUDA, whose tools read the annotations."


class emit_itt(_Refused):
    """Annotates ops for Intel's VTune: refused, since its library is not linked."""

    _what = "needs the library of VTune, which is not linked."


def load_nvprof(path: str) -> EventList:
    """Refused: nvprof writes traces of CUDA programs."""
    raise NotImplementedError(
        "load_nvprof reads traces that nvprof wrote of a CUDA program; profiles of "
        "this build are written by export_chrome_trace"
    )


parse_nvprof_trace = load_nvprof


class EnforceUnique:
    """Refuses keys that it has seen."""

    def __init__(self) -> None:
        self.seen: set[tuple[Any, ...]] = set()

    def see(self, *key: Any) -> None:
        """Raises RuntimeError for a key that was seen before."""
        if key in self.seen:
            raise RuntimeError(f"duplicate key: {key}")
        self.seen.add(key)


class KinetoStepTracker:
    """Counts a program's steps when several objects report them: each is counted by
    itself, and the greatest count is the program's.
    """

    _counts: ClassVar[dict[str, int]] = {}
    _current = 0

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Begins to count for a reporter at the current step."""
        cls._counts[requester] = cls._current

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forgets a reporter; whether there was one."""
        return cls._counts.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """One more step of a reporter; returns the current step."""
        cls._counts[requester] = cls._counts.get(requester, cls._current) + 1
        cls._current = max(cls._current, cls._counts[requester])
        return cls._current

    @classmethod
    def current_step(cls) -> int:
        """The greatest count."""
        return cls._current
