"""A list of events, or of their averages: tables, groups, traces."""

from __future__ import annotations

from typing import Any

from pellucid.profiler._chrome_trace import write_events, write_stacks
from pellucid.profiler._function_events import FunctionEventAvg
from pellucid.profiler._table import Options, render

_METRICS = ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total"]


class EventList(list[Any]):
    """Events in the order in which they began, or averages."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._use_device = kwargs.pop("use_device", None)
        self._profile_memory: bool = kwargs.pop("profile_memory", False)
        self._with_flops: bool = kwargs.pop("with_flops", False)
        self._whole: float | None = None  # of averages: the time of the events
        super().__init__(*args, **kwargs)

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all entries."""
        total: float = sum(event.self_cpu_time_total for event in self)
        return total

    @property
    def supported_export_stacks_metrics(self) -> list[str]:
        """What `export_stacks` can weigh stacks by."""
        return list(_METRICS)

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """One entry for each name, in order of first use; names are split by the
        shapes of their arguments, by their innermost ``group_by_stack_n`` frames, and
        by overload, if requested.
        """
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            key = (
                event.key,
                event.is_user_annotation,
                event.overload_name if group_by_overload_name else "",
                str(event.input_shapes) if group_by_input_shapes else "",
                *event.stack[:group_by_stack_n],
            )
            found.setdefault(key, FunctionEventAvg()).add(event)
        averages = EventList(
            found.values(),
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
        )
        for average in averages:
            average.stack = average.stack[:group_by_stack_n]
            if not group_by_input_shapes:
                average.input_shapes = ""
            if not group_by_overload_name:
                average.overload_name = ""
        return averages

    def total_average(self) -> FunctionEventAvg:
        """All entries as one."""
        total = FunctionEventAvg()
        for event in self:
            total.key = event.key
            total.add(event)
        total.key = "Total"
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """A table of at most ``row_limit`` entries (-1: all), the greatest first if
        ``sort_by`` names a column: "cpu_time_total", "self_cpu_time_total",
        "cpu_time", "cpu_memory_usage", "self_cpu_memory_usage", "count", "flops".
        Raises AttributeError for a name that entries do not have.
        """
        entries = list(self)
        if sort_by is not None:
            name = sort_by.replace("cuda", "device").replace("xpu", "device")
            entries.sort(key=lambda entry: getattr(entry, name) or 0, reverse=True)
        shown = entries
        if top_level_events_only:
            shown = [entry for entry in entries if entry.cpu_parent is None]
        if row_limit >= 0:
            shown = shown[:row_limit]
        options = Options(
            max_name_column_width,
            max_src_column_width,
            max_shapes_column_width,
            header,
            time_unit,
        )
        whole = self.self_cpu_time_total
        return render(entries, shown, whole, options, self._profile_memory)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events in the trace event format; compressed for ``.gz``."""
        write_events(self, path)

    def export_stacks(self, path: str, metric: str) -> None:
        """Write one line a stack, outermost frame first, with the sum of ``metric``, as
        flame graphs are made of. Raises ValueError for an unknown metric.
        """
        if metric not in _METRICS:
            raise ValueError(
                f"export_stacks: the metric is one of {', '.join(_METRICS)}; "
                f"got {metric!r}"
            )
        write_stacks(
            self, path, metric.replace("cuda", "device").replace("xpu", "device")
        )

    def __str__(self) -> str:
        return self.table()
