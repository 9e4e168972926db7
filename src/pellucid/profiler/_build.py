"""Converts the timeline's log to a profiler's events, with PyTorch's names and
numbers.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pellucid import _C
from pellucid._decomp.derivatives import shown_of
from pellucid.profiler._function_events import MEMORY_EVENT_NAME, FunctionEvent
from pellucid.profiler._timeline.facts import TensorFacts
from pellucid.profiler._timeline.log import Event, Kind, Log, Thread
from pellucid_compiler.ir.dtypes import shown_dtype

if TYPE_CHECKING:
    from pellucid.profiler._timeline.costs import CostCounter

# What is an event of a profiler, by kind: its category in traces, and PyTorch's scope.
_CATEGORIES = {
    Kind.CALL: ("cpu_op", 0),
    Kind.NODE: ("cpu_op", 0),
    Kind.READ: ("cpu_op", 0),
    Kind.PREPARE: ("cpu_op", 0),
    Kind.RANGE: ("user_annotation", 7),
    Kind.MODULE: ("python_function", 0),
}
# What tells the derivatives of an op apart: those of one rule are one name in tables.
_DERIVED = re.compile("(?<=_(?:vjp|jvp))_[0-9a-f]{16}$")


@lru_cache(maxsize=4096)
def shown_name(kind: Kind, name: str) -> str:
    """An event's name in PyTorch."""
    if kind is Kind.PREPARE:
        return f"pellucid::{name}"
    if kind is Kind.CALL:
        if "_keep_" in name and name.startswith("derivative::"):
            name = _C._derived_from(name)[1].name()  # it keeps what its gradient reads
        return _DERIVED.sub("", shown_of(name))
    if kind is Kind.NODE:
        return f"autograd::engine::evaluate_function: {name}"
    return f"nn.Module: {name}" if kind is Kind.MODULE else name


class Builder:
    """Makes the events of one log."""

    def __init__(self, log: Log, options: Any) -> None:
        self._log, self._options = log, options
        self._made: dict[Event, FunctionEvent] = {}
        self._computations: dict[FunctionEvent, FunctionEvent] = {}
        self._stacks: dict[int, list[str]] = {}
        self._forward: dict[tuple[int, int], FunctionEvent] = {}
        self._events: list[FunctionEvent] = []
        self._numbers: dict[int, int] = {}
        self._costs: CostCounter | None = None
        if options.with_flops:
            from pellucid.profiler._timeline.costs import CostCounter

            self._costs = CostCounter()

    def build(self) -> list[FunctionEvent]:
        """All events, in the order in which they began."""
        for thread in self._log.threads:
            number = len(self._numbers) + 1
            for event in thread.events:
                if event.kind in _CATEGORIES:
                    self._add(event, thread, number)
                elif event.kind in (Kind.MAKE, Kind.FREE):
                    self._add_memory(event, thread, number)
            self._numbers[thread.system_id] = number
        self._events.sort(key=lambda event: (event.time_range.start, event.scope == 1))
        for inner in self._computations.values():
            for child in inner.cpu_children:
                inner.cpu_memory_usage += child.cpu_memory_usage
        self._connect()
        return self._events

    def _place(self, made: FunctionEvent, event: Event, thread: Thread) -> None:
        made.system_thread = thread.system_id
        parent = event.parent
        while parent is not None and parent not in self._made:
            parent = parent.parent
        if parent is not None:
            outer = self._made[parent]
            inner = self._computations.get(outer)
            if inner is not None and made.time_range.start < inner.time_range.end:
                outer = inner
            made.set_cpu_parent(outer)
            outer.append_cpu_child(made)
        self._made[event] = made
        self._events.append(made)

    def _add(self, event: Event, thread: Thread, number: int) -> None:
        category, scope = _CATEGORIES[event.kind]
        is_module = event.kind is Kind.MODULE
        if is_module and not self._options.with_modules:
            return
        is_call = event.kind is Kind.CALL
        is_node = event.kind is Kind.NODE
        made = FunctionEvent(
            len(self._events),
            shown_name(event.kind, event.name),
            number,
            (event.begin - self._log.begin) / 1000,
            (event.end - self._log.begin) / 1000,
            overload_name=event.name.partition(".")[2] if is_call else "",
            stack=self._stack(event.line),
            scope=scope,
            cpu_memory_usage=event.bytes if self._options.profile_memory else 0,
            sequence_nr=event.sequence if is_call or is_node else -1,
            is_user_annotation=category == "user_annotation",
        )
        made.category = category
        if is_module:
            made.module_name = self._module_name(event.extra)
        if is_call and event.arguments:
            self._describe(made, event.arguments)
        if is_call and self._costs is not None:
            cost = self._costs.of(event)
            made.flops = (cost.products or cost.flops) if cost is not None else None
        self._place(made, event, thread)
        if is_call:  # calls note how many nodes were made before
            self._forward[made.thread, event.sequence + 1] = made
        elif is_node:
            self._add_computation(made, event)

    def _add_computation(self, made: FunctionEvent, event: Event) -> None:
        """The node's own part of the engine's work for it."""
        end = (self._log.moment(event.extra) - self._log.begin) / 1000
        inner = FunctionEvent(
            len(self._events),
            event.name,
            made.thread,
            made.time_range.start,
            end if event.extra else made.time_range.end,
            stack=made.stack,
            scope=1,
            sequence_nr=made.sequence_nr,
        )
        inner.system_thread = made.system_thread
        inner.set_cpu_parent(made)
        made.append_cpu_child(inner)
        self._computations[made] = inner
        self._events.append(inner)

    def _connect(self) -> None:
        """Links nodes to the calls that made them, and passes stacks on to the nodes'
        ops.
        """
        nodes = [event for event in self._events if event.scope == 1]
        for node in nodes:
            call = self._forward.get((node.thread, node.sequence_nr))
            if call is None or call.time_range.start > node.time_range.start:
                continue
            node.forward, node.fwd_thread = call, call.thread
            call.sequence_nr = node.sequence_nr
            _give_stack(node.cpu_parent or node, call.stack)
        numbered = {id(node.forward) for node in nodes}
        for event in self._events:
            if event.category == "cpu_op" and event.scope == 0:
                is_node = event.name.startswith("autograd::engine")
                if id(event) not in numbered and not is_node:
                    event.sequence_nr = -1

    def _add_memory(self, event: Event, thread: Thread, number: int) -> None:
        """What was allocated or freed outside of every event, or by a node itself."""
        if not self._options.profile_memory:
            return
        moment = (event.begin - self._log.begin) / 1000
        parent = event.parent
        while parent is not None and parent not in self._made:
            parent = parent.parent
        if parent is not None:
            inner = self._computations.get(self._made[parent])
            if inner is not None and moment <= inner.time_range.end:
                inner.cpu_memory_usage += event.bytes
            return
        made = FunctionEvent(
            len(self._events),
            MEMORY_EVENT_NAME,
            number,
            moment,
            moment,
            cpu_memory_usage=event.bytes,
        )
        made.category = "cpu_instant_event"
        self._place(made, event, thread)

    def _stack(self, line: int) -> list[str]:
        if not self._options.with_stack or not line:
            return []
        if line not in self._stacks:
            self._stacks[line] = [str(frame) for frame in self._log.frames(line)]
        return self._stacks[line]

    def _module_name(self, number: int) -> str:
        modules = self._log.modules
        return type(modules[number]).__name__ if number < len(modules) else ""

    def _describe(self, made: FunctionEvent, arguments: list[Any]) -> None:
        if not self._options.record_shapes:
            return
        made.input_shapes = [_shape(argument) for argument in arguments]
        made.input_dtypes = [_dtype(argument) for argument in arguments]
        made.concrete_inputs = [
            argument if isinstance(argument, int | float) else ""
            for argument in arguments
        ]


def _give_stack(event: FunctionEvent, stack: list[str]) -> None:
    event.stack = stack
    for child in event.cpu_children:
        _give_stack(child, stack)


def _shape(argument: Any) -> Any:
    if isinstance(argument, TensorFacts):
        return list(argument.shape)
    if isinstance(argument, list) and argument and isinstance(argument[0], TensorFacts):
        return [list(tensor.shape) for tensor in argument if tensor is not None]
    return []


def _dtype(argument: Any) -> str:
    if isinstance(argument, TensorFacts):
        return shown_dtype(argument.dtype)
    if isinstance(argument, list):
        return "TensorList" if _shape(argument) else "ScalarList"
    return "Scalar" if isinstance(argument, int | float) else ""
