"""Memory analysis: counters, exact peaks, holders of tensors, leaks, allocator lab.

    print(pellucid.memory.summary())
    print(pellucid.memory.peak(step))        # every byte to a line, op, phase and role
    pellucid.memory.holders(tensor)          # the paths that keep it alive
    pellucid.memory.leaks(step)              # what every call leaves, with its holder
    trace = pellucid.memory.record_trace(step)
    pellucid.memory.replay(trace, pellucid.memory.BestFit())

``record_history`` and ``dump_snapshot`` write what PyTorch's viewer of memory reads.
"""

from __future__ import annotations

from pellucid import _C
from pellucid.memory._current import Current
from pellucid.memory._history import dump_snapshot, record_history, snapshot
from pellucid.memory._holders import holders
from pellucid.memory._leaks import Leak, leaks
from pellucid.memory._peak import Held, Peak, peak, readable
from pellucid.memory._policies import (
    BestFit,
    Buddy,
    FirstFit,
    NextFit,
    Policy,
    Segments,
    SizeClasses,
)
from pellucid.memory._trace import Entry, Replay, Trace, record_trace, replay

__all__ = [
    "BestFit",
    "Buddy",
    "Current",
    "Entry",
    "FirstFit",
    "Held",
    "Leak",
    "NextFit",
    "Peak",
    "Policy",
    "Replay",
    "Segments",
    "SizeClasses",
    "Trace",
    "dump_snapshot",
    "empty_cache",
    "holders",
    "leaks",
    "peak",
    "record_history",
    "record_trace",
    "replay",
    "snapshot",
    "stats",
    "summary",
]


def stats() -> dict[str, int]:
    """The allocator's counters: live (``allocated_bytes``, rounded to size classes) and
    ``reserved_bytes``, their peaks (sums over threads), numbers of calls.

    Example: ``pellucid.memory.stats()["allocated_bytes"]``.
    """
    return _C._memory_statistics()


def empty_cache() -> None:
    """Returns cached free memory to the system."""
    _C._empty_cache()


def summary() -> str:
    """Live, cached and other memory of the process as text.

    Example: ``print(pellucid.memory.summary())``.
    """
    counts = stats()
    live, reserved = counts["allocated_bytes"], counts["reserved_bytes"]
    resident = _resident()
    free = [nbytes for _, nbytes, _, is_free, _, _ in _C._large_blocks() if is_free]
    rows = [
        ("live blocks", live),
        ("free, cached", reserved - live),
        (f"the largest of {len(free)} free parts of segments", max(free, default=0)),
        ("outside of the allocator (Python, code, NumPy)", resident - reserved),
        ("resident in all", resident),
        ("peak of live blocks, at most", counts["peak_allocated_bytes"]),
        ("peak of live and cached", counts["peak_reserved_bytes"]),
    ]
    lines = [f"{readable(nbytes):>12}  {name}" for name, nbytes in rows]
    calls = f"{counts['num_allocations']} blocks taken, {counts['num_frees']} given"
    system = f"{counts['num_base_allocations']} requests to the system"
    return "\n".join([*lines, f"{calls}, {system}"])


def _resident() -> int:
    import os

    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
