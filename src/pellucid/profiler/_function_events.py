"""The events of a profiler, one object per event, and their averages.

Times are in microseconds since the profiler began, as PyTorch's.
"""

from __future__ import annotations

from typing import Any

from pellucid.profiler._formats import format_time

MEMORY_EVENT_NAME = "[memory]"
OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"


class Interval:
    """From ``start`` to ``end``, in microseconds."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """Its length."""
        return self.end - self.start

    def __repr__(self) -> str:
        return f"Interval({self.start:.3f}, {self.end:.3f})"


class FormattedTimesMixin:
    """The times of an event or an average, as text; the means of averages."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total: float
    self_device_time_total: float

    @property
    def cpu_time(self) -> float:
        """The mean of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """The mean of a call on an accelerator: 0, ops run on the CPU."""
        return self.device_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return format_time(self.self_cpu_time_total)

    @property
    def device_time_str(self) -> str:
        return format_time(self.device_time)

    @property
    def device_time_total_str(self) -> str:
        return format_time(self.device_time_total)

    @property
    def self_device_time_total_str(self) -> str:
        return format_time(self.self_device_time_total)

    @property
    def cuda_time(self) -> float:
        return self.device_time

    @property
    def cuda_time_total(self) -> float:
        return self.device_time_total

    @property
    def self_cuda_time_total(self) -> float:
        return self.self_device_time_total


class FunctionEvent(FormattedTimesMixin):
    """One call of an op, one node of a backward pass, or one range."""

    count = 1
    node_id = -1
    use_device: str | None = None
    is_async = is_remote = is_legacy = False
    device_index = device_resource_id = 0
    device_time_total = self_device_time_total = 0.0
    device_memory_usage = self_device_memory_usage = 0

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        *,
        overload_name: str = "",
        fwd_thread: int | None = None,
        input_shapes: list[list[int]] | None = None,
        stack: list[str] | None = None,
        scope: int = 0,
        cpu_memory_usage: int = 0,
        sequence_nr: int = -1,
        flops: int | None = None,
        is_user_annotation: bool = False,
    ) -> None:
        self.id = id
        self.name = self.trace_name = name
        self.overload_name = overload_name
        self.thread = thread
        self.fwd_thread = fwd_thread
        self.time_range = Interval(start_us, end_us)
        self.input_shapes: Any = [] if input_shapes is None else input_shapes
        self.input_dtypes: list[str] = []
        self.concrete_inputs: list[Any] = []
        self.kwinputs: dict[str, Any] = {}
        self.stack: list[str] = [] if stack is None else stack
        self.scope = scope
        self.cpu_memory_usage = cpu_memory_usage
        self.sequence_nr = sequence_nr
        self.flops = flops
        self.is_user_annotation = is_user_annotation
        self.kernels: list[Any] = []
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.forward: FunctionEvent | None = None  # of a node: the call that made it
        self.category = "cpu_op"  # in traces
        self.system_thread = thread
        self.module_name = ""

    @property
    def device_type(self) -> Any:
        """Where it ran."""
        from pellucid.profiler import DeviceType

        return DeviceType.CPU

    @property
    def key(self) -> str:
        """What averages are grouped by."""
        return self.name

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Adds an event that ran inside this one."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Sets the event that contains this one."""
        self.cpu_parent = parent

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """From its beginning to its end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """Its time without the time of nested events."""
        inside = sum(child.cpu_time_total for child in self.cpu_children)
        return self.cpu_time_total - inside

    @property
    def self_cpu_memory_usage(self) -> int:
        """The bytes that it allocated minus those freed, without nested events."""
        inside = sum(child.cpu_memory_usage for child in self.cpu_children)
        return self.cpu_memory_usage - inside

    def __repr__(self) -> str:
        children = [child.id for child in self.cpu_children]
        return (
            f"<FunctionEvent id={self.id} name={self.name} "
            f"overload_name={self.overload_name} device_type={self.device_type} "
            f"node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} "
            f"cpu_children={children} thread={self.thread} "
            f"input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} seq_nr={self.sequence_nr}>"
        )


class FunctionEventAvg(FormattedTimesMixin):
    """The calls of one name (and of one list of shapes or one stack, if told apart)."""

    def __init__(self) -> None:
        self.key = ""
        self.overload_name = ""
        self.count = 0
        self.node_id = 0
        self.scope = 0
        self.is_async = self.is_remote = self.is_legacy = False
        self.use_device: str | None = None
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.device_time_total = self.self_device_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.device_memory_usage = self.self_device_memory_usage = 0
        self.input_shapes: Any = []
        self.stack: list[str] = []
        self.flops = 0
        self.is_user_annotation = False
        self.cpu_children: list[FunctionEvent] | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.device_type: Any = None

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Count a call, or the calls of another average of the same name."""
        if not self.key:
            self.key, self.overload_name = other.key, other.overload_name
            self.node_id, self.scope = other.node_id, other.scope
            self.input_shapes, self.stack = other.input_shapes, other.stack
            self.is_user_annotation = other.is_user_annotation
            self.device_type = other.device_type
            if isinstance(other, FunctionEvent):
                self.cpu_parent, self.cpu_children = (
                    other.cpu_parent,
                    other.cpu_children,
                )
        if self.key != other.key:
            raise ValueError(f"add(): an average of {self.key} got a {other.key}")
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.flops += other.flops or 0
        return self

    def __iadd__(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        return self.add(other)

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} "
            f"self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} "
            f"input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage}>"
        )
