"""A history of storages, and snapshots in the layout that PyTorch's viewer reads."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from pellucid import _C
from pellucid.profiler._timeline.log import Kind, Log, Session, Watch
from pellucid.profiler._timeline.storages import Storages

_FOREVER = float("inf")
_session: Session | None = None


def record_history(enabled: bool | str | None = "all", **_: Any) -> None:
    """Begin to record storages and the frames that make them; None or False ends and
    forgets. Further arguments of ``torch.cuda.memory._record_memory_history`` (how many
    entries, which stacks) are accepted: everything is recorded.

    Example::

        memory.record_history()
        step()
        memory.dump_snapshot("step.pickle")  # for pytorch.org/memory_viz
    """
    global _session
    if _session is not None:
        _session.stop()
        _session = None
    if enabled:
        _session = Session(Watch.MEMORY | Watch.STACKS | Watch.LINES)
        _session.start()


def snapshot() -> dict[str, Any]:
    """What was recorded so far, in PyTorch's layout: ``segments`` are the storages that
    live, ``device_traces`` what was made and freed. The history goes on from here.
    """
    global _session
    if _session is None:
        raise RuntimeError("snapshot(): call memory.record_history() first")
    log = _session.stop()
    _session = Session(_session.what)
    _session.start()
    return snapshot_of(log)


def dump_snapshot(filename: str | Path = "dump_snapshot.pickle") -> None:
    """Write `snapshot` for PyTorch's viewer."""
    with open(filename, "wb") as file:
        pickle.dump(snapshot(), file)


def snapshot_of(log: Log) -> dict[str, Any]:
    """The snapshot of a log with storages."""
    segments = []
    storages = Storages(log)
    for k in np.flatnonzero((storages.end == _FOREVER) & (storages.made >= 0)).tolist():
        event = log.event(int(storages.made[k]))
        address, nbytes = int(storages.address[k]), int(storages.nbytes[k])
        segments.append(_segment(address, nbytes, _frames(log, event.line)))
    trace = []
    for event in log.events_of(Kind.MAKE, Kind.FREE):
        for action in _ACTIONS[event.kind]:
            trace.append(
                {
                    "action": action,
                    "addr": event.address,
                    "size": abs(event.bytes),
                    "stream": 0,
                    "time_us": int(event.begin / 1000),
                    "frames": _frames(log, event.line),
                }
            )
    return {
        "segments": segments,
        "device_traces": [trace],
        "allocator_settings": {},
        "external_annotations": [],
    }


_ACTIONS = {Kind.MAKE: ("alloc",), Kind.FREE: ("free_requested", "free_completed")}


def _frames(log: Log, line: int) -> list[dict[str, Any]]:
    return [
        {"filename": frame.file, "line": frame.number, "name": frame.function}
        for frame in log.frames(line)
    ]


def _segment(address: int, nbytes: int, frames: list[dict[str, Any]]) -> dict[str, Any]:
    return _segment_of([_block(address, nbytes, is_free=False, frames=frames)])


def _block(
    address: int, nbytes: int, is_free: bool, frames: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "address": address,
        "size": nbytes,
        "requested_size": nbytes,
        "state": "inactive" if is_free else "active_allocated",
        "frames": frames,
    }


def _segment_of(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """The segment of adjacent blocks."""
    total = sum(block["size"] for block in blocks)
    live = sum(b["size"] for b in blocks if b["state"] == "active_allocated")
    return {
        "device": 0,
        "address": blocks[0]["address"],
        "total_size": total,
        "allocated_size": live,
        "active_size": live,
        "requested_size": live,
        "stream": 0,
        "segment_type": "large" if total > 1 << 20 else "small",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": blocks[0]["frames"],
        "blocks": blocks,
    }


def segments() -> list[dict[str, Any]]:
    """The allocator's own segments, with their live and free parts; blocks of the small
    size classes are not in segments.
    """
    found: list[list[dict[str, Any]]] = []
    for address, nbytes, _, is_free, starts, _ in _C._large_blocks():
        if starts:
            found.append([])
        found[-1].append(_block(address, nbytes, is_free, []))
    return [_segment_of(blocks) for blocks in found]
