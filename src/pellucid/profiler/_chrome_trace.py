"""Traces for Chrome, Perfetto and TensorBoard; stacks for flame graphs."""

from __future__ import annotations

import gzip
import json
import os
import platform
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from pellucid.profiler._timeline.log import Kind, Log

_Entry = dict[str, Any]


def write_json(value: Any, path: str) -> None:
    """As JSON, compressed for ``.gz``."""
    if path.endswith(".gz"):
        with gzip.open(path, "wt", encoding="utf-8") as packed:
            json.dump(value, packed)
    else:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file)


def trace_of(events: Iterable[Any], log: Log | None, metadata: _Entry) -> _Entry:
    """The document of a trace: ``events`` are FunctionEvents, ``log`` adds more than
    calls: the garbage collector, shares of threads, memory.
    """
    start = log.begin / 1000 if log else 0.0
    listed = list(events)
    entries = [*_names_of_process(listed, start)]
    entries += [_span(event, start) for event in listed]
    entries += _arrows(listed, start)
    if log is not None:
        entries += _further(log)
        entries.append(_whole(log, start))
    return {
        "schemaVersion": 1,
        "deviceProperties": [],
        "host_name": platform.node(),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 0,
        **metadata,
        "traceEvents": entries,
    }


def _names_of_process(events: list[Any], start: float) -> Iterator[_Entry]:
    pid = os.getpid()
    names = [("process_name", 0, os.path.basename(sys.executable))]
    threads = dict.fromkeys(event.system_thread for event in events)
    names += [("thread_name", thread, f"thread {thread}") for thread in threads]
    for name, thread, text in names:
        yield {
            "ph": "M",
            "name": name,
            "ts": start,
            "pid": pid,
            "tid": thread,
            "args": {"name": text},
        }


def _span(event: Any, start: float) -> _Entry:
    args: _Entry = {"External id": event.id, "Ev Idx": event.id}
    if event.sequence_nr >= 0:
        args |= {
            "Sequence number": event.sequence_nr,
            "Fwd thread id": event.fwd_thread,
        }
    if event.input_shapes:
        args |= {"Input Dims": event.input_shapes, "Input type": event.input_dtypes}
    if event.stack:
        args["Call stack"] = ";".join(event.stack)
    return {
        "ph": "X",
        "cat": event.category,
        "name": event.name,
        "pid": os.getpid(),
        "tid": event.system_thread,
        "ts": start + event.time_range.start,
        "dur": event.time_range.elapsed_us(),
        "args": args,
    }


def _arrows(events: list[Any], start: float) -> Iterator[_Entry]:
    """From the calls that made nodes to the nodes."""
    for number, event in enumerate(e for e in events if e.forward is not None):
        for phase, end in (("s", event.forward), ("f", event)):
            arrow = {
                "ph": phase,
                "id": number + 1,
                "pid": os.getpid(),
                "tid": end.system_thread,
                "ts": start + end.time_range.start,
                "cat": "fwdbwd",
                "name": "fwdbwd",
            }
            yield arrow | ({"bp": "e"} if phase == "f" else {})


_CATEGORIES = {
    Kind.STEP: "plan_step",
    Kind.SHARE: "thread_share",
    Kind.COLLECT: "garbage_collection",
}


def _further(log: Log) -> Iterator[_Entry]:
    pid, live = os.getpid(), 0
    for event in log.events:
        common = {"pid": pid, "tid": event.thread.system_id, "ts": event.begin / 1000}
        if event.kind in (Kind.MAKE, Kind.FREE):
            live += event.bytes
            change = {"Total Allocated": live, "Bytes": event.bytes}
            details = {"Device Type": 0, "Addr": event.address, **change}
            yield {"ph": "i", "s": "t", "cat": "cpu_instant_event", **common} | {
                "name": "[memory]",
                "args": details,
            }
            yield {"ph": "C", "name": "live bytes", **common} | {
                "args": {"bytes": live}
            }
        elif event.kind in _CATEGORIES:
            yield {"ph": "X", "cat": _CATEGORIES[event.kind], **common} | {
                "name": event.name or event.kind.name.lower(),
                "dur": event.duration / 1000,
            }


def _whole(log: Log, start: float) -> _Entry:
    return {
        "ph": "X",
        "cat": "Trace",
        "name": "PyTorch Profiler (0)",
        "pid": "Spans",
        "tid": "PyTorch Profiler",
        "ts": start,
        "dur": (log.end - log.begin) / 1000,
        "args": {"Op count": 0},
    }


def write_events(events: Iterable[Any], path: str) -> None:
    """A list of events alone."""
    write_json(trace_of(events, None, {"traceName": path}), path)


def write_stacks(events: Iterable[Any], path: str, metric: str) -> None:
    """One line for each stack: frames from the outermost on, then the sum."""
    sums: dict[str, float] = defaultdict(float)
    for event in events:
        if event.stack:
            frames = [
                frame.replace(" ", "_").replace(";", ",") for frame in event.stack
            ]
            sums[";".join(reversed(frames))] += getattr(event, metric)
    with open(path, "w", encoding="utf-8") as file:
        for stack, value in sums.items():
            if value >= 1:
                file.write(f"{stack} {int(value)}\n")
