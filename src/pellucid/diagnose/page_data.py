"""The data of a recorded run's page, as JSON types: lines, flame, timeline, memory.

Everything is aggregated here, so that a page of 100,000 events has less than 2 MB.
Called by page.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pellucid.diagnose.recording import shown_op
from pellucid.profiler._memory_timeline import memory_series
from pellucid.profiler._timeline.log import Event, Kind, Log, Thread
from pellucid.profiler._timeline.shares import is_timed, main_thread, shares
from pellucid.profiler._timeline.storages import ROLES

_MOST_EVENTS = 20_000  # events that are drawn individually
_MOST_POINTS = 1500  # of the memory's curve
_PYTHON = "Python between calls"


def shown(event: Event) -> str:
    """An event's name on the page."""
    if event.kind is Kind.CALL:
        return shown_op(event.name)
    if event.kind is Kind.NODE:
        return event.name
    return event.name or event.kind.name.lower()


def by_line(log: Log) -> list[dict[str, Any]]:
    """Nanoseconds of the main thread by line of the program: in calls, and of Python
    before them. They sum to the log's time.
    """
    rows: dict[str, dict[str, Any]] = {}
    for event, nanoseconds, is_python in _pieces(log):
        line = log.user_line(event.line) if event is not None else None
        key = str(line) if line is not None else "(outside of recorded lines)"
        row = rows.setdefault(key, {"line": key, "calls": 0, "ops": {}, "python": 0.0})
        if is_python:
            row["python"] += nanoseconds
        elif event is not None:
            name = shown(event)
            row["ops"][name] = row["ops"].get(name, 0.0) + nanoseconds
            row["calls"] += event.kind is Kind.CALL
    for row in rows.values():
        row["calls_ns"] = sum(row["ops"].values())
        row["ops"] = sorted(row["ops"].items(), key=lambda item: -item[1])[:8]
    return sorted(rows.values(), key=lambda row: -row["calls_ns"] - row["python"])


def _pieces(log: Log) -> Iterator[tuple[Event | None, float, bool]]:
    """The main thread's time."""
    split = shares(log, main_thread(log))
    times = split.nanoseconds.tolist(), split.is_python.tolist()
    return zip(split.events(log), *times, strict=True)


def flame(log: Log) -> dict[str, Any]:
    """Time by stack: the program's frames from the outermost, then what they called."""
    root: dict[str, Any] = {"name": "all", "ns": 0.0, "inner": {}}
    stacks: dict[int, list[str]] = {}
    for event, nanoseconds, is_python in _pieces(log):
        number = event.line if event is not None else 0
        if number not in stacks:
            frames = [frame for frame in log.frames(number) if frame.is_user]
            stacks[number] = [str(frame) for frame in reversed(frames)]
        path = list(stacks[number])
        if event is not None and not is_python:
            path += _nested_names(event)
        else:
            path.append(_PYTHON)
        _add(root, path, nanoseconds)
    return _listed(root)


def _nested_names(event: Event) -> list[str]:
    names = [shown(event)]
    outer = event.parent
    while outer is not None:
        if is_timed(outer) or outer.kind is Kind.MODULE:
            names.append(shown(outer))
        outer = outer.parent
    return names[::-1]


def _add(node: dict[str, Any], path: Iterable[str], nanoseconds: float) -> None:
    node["ns"] += nanoseconds
    for name in path:
        new = {"name": name, "ns": 0.0, "inner": {}}
        node = node["inner"].setdefault(name, new)
        node["ns"] += nanoseconds


def _listed(node: dict[str, Any]) -> dict[str, Any]:
    inner = sorted(node["inner"].values(), key=lambda child: -child["ns"])
    least = node["ns"] * 1e-4
    kept = [_listed(child) for child in inner if child["ns"] >= least]
    return {"name": node["name"], "ns": round(node["ns"]), "inner": kept}


def timeline(log: Log) -> dict[str, Any]:
    """Per thread the events as ``[depth, begin, duration, name, line, count]``, names
    and lines as numbers. Neighbours too short to be seen are one entry, with a count.
    """
    drawn = [e for thread in log.threads for e in thread.events if _is_drawn(e)]
    shortest = 0.0
    if len(drawn) > _MOST_EVENTS:
        shortest = sorted((e.duration for e in drawn), reverse=True)[_MOST_EVENTS]
    names: dict[str, int] = {}
    lines: dict[str, int] = {"": 0}
    threads = []
    for thread in log.threads:
        rows = _rows(log, thread, shortest, names, lines)
        if rows:
            threads.append({"id": thread.system_id, "events": rows})
    return {"threads": threads, "names": list(names), "lines": list(lines)}


def _is_drawn(event: Event) -> bool:
    return is_timed(event) or event.kind in (Kind.RANGE, Kind.MODULE, Kind.SHARE)


def _rows(
    log: Log,
    thread: Thread,
    shortest: float,
    names: dict[str, int],
    lines: dict[str, int],
) -> list[list[int]]:
    gap = max(shortest * 4, (log.end - log.begin) / _MOST_EVENTS)
    depths: dict[Event, int] = {}
    rows: list[list[int]] = []
    open_rows: dict[int, list[int]] = {}  # by depth, of what is too short
    for event in thread.events:
        if not _is_drawn(event):
            continue
        outer = event.parent
        while outer is not None and outer not in depths:
            outer = outer.parent
        depth = depths[event] = 0 if outer is None else depths[outer] + 1
        begin, duration = round(event.begin - log.begin), round(event.duration)
        last = open_rows.get(depth)
        is_short = event.duration < shortest
        if is_short and last is not None and begin - sum(last[1:3]) < gap:
            last[2] = begin + duration - last[1]
            last[5] += 1
            continue
        line = log.user_line(event.line)
        name = names.setdefault(shown(event), len(names))
        place = lines.setdefault(str(line) if line else "", len(lines))
        row = [depth, begin, duration, name, place, 1]
        rows.append(row)
        if is_short:
            open_rows[depth] = row
        else:
            open_rows.pop(depth, None)
    return rows


def memory(log: Log) -> dict[str, Any]:
    """Bytes by role over time; of moments that fall together the one with the most."""
    times, sizes = memory_series(log)
    step = max(len(times) // _MOST_POINTS, 1)
    places = [
        max(range(k, min(k + step, len(times))), key=lambda j: sum(sizes[j]))
        for k in range(0, len(times), step)
    ]
    return {
        "roles": list(ROLES),
        "times": [round(times[k] - times[0], 1) for k in places],
        "bytes": [sizes[k] for k in places],
    }
