"""``torch.cpu.memory``: the functions of ``torch.cuda.memory`` for the CPU's memory.

Values are those of the caching allocator: bytes of live blocks, rounded to their size
classes, and memory reserved from the system. ``torch.get_device_module(device)`` has
the same names for every device.
"""

from __future__ import annotations

import os
from typing import Any

from pellucid import _C

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
]
# Totals when `reset_accumulated_memory_stats` was called last.
_before: dict[str, int] = {}


def memory_allocated(device: Any = None) -> int:
    """Bytes of live blocks.

    Example: ``torch.cpu.memory.memory_allocated()``.
    """
    return _C._memory_statistics()["allocated_bytes"]


def max_memory_allocated(device: Any = None) -> int:
    """The most that was live since the last `reset_peak_memory_stats`; of several
    threads the sum of their peaks, which is an upper bound.
    """
    return _C._memory_statistics()["peak_allocated_bytes"]


def memory_reserved(device: Any = None) -> int:
    """Bytes that the allocator took from the system and holds."""
    return _C._memory_statistics()["reserved_bytes"]


def max_memory_reserved(device: Any = None) -> int:
    """The most that it held since the last `reset_peak_memory_stats`."""
    return _C._memory_statistics()["peak_reserved_bytes"]


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """(available, all) bytes of the machine's memory."""
    page = os.sysconf("SC_PAGE_SIZE")
    available = os.sysconf("SC_AVPHYS_PAGES") * page
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found = dict(line.split()[:2] for line in lines)
        available = int(found["MemAvailable:"]) * 1024
    except (OSError, KeyError, ValueError):
        pass  # what is free at least
    return available, os.sysconf("SC_PHYS_PAGES") * page


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The allocator's counters by PyTorch's names.

    ``allocated_bytes`` and ``active_bytes`` are live blocks, ``reserved_bytes`` what
    the system gave. Blocks are counted in one pool, ``all``.
    """
    counts = _C._memory_statistics()
    live, reserved = counts["allocated_bytes"], counts["reserved_bytes"]
    taken = counts["num_allocations"] - _before.get("num_allocations", 0)
    given = counts["num_frees"] - _before.get("num_frees", 0)
    number = counts["num_allocations"] - counts["num_frees"]
    in_use = {"current": live, "peak": counts["peak_allocated_bytes"]}
    return {
        "allocated_bytes": {"all": in_use},
        "active_bytes": {"all": dict(in_use)},
        "reserved_bytes": {
            "all": {"current": reserved, "peak": counts["peak_reserved_bytes"]}
        },
        "allocation": {"all": {"current": number, "allocated": taken, "freed": given}},
        "num_device_alloc": counts["num_base_allocations"],
        "num_ooms": counts["num_out_of_memory"],
    }


def memory_stats(device: Any = None) -> dict[str, Any]:
    """`memory_stats_as_nested_dict` with keys as ``allocated_bytes.all.peak``.

    Example: ``torch.cpu.memory.memory_stats()["allocated_bytes.all.peak"]``.
    """
    found: dict[str, Any] = {}

    def add(prefix: str, value: Any) -> None:
        if not isinstance(value, dict):
            found[prefix] = value
            return
        for key, inner in value.items():
            add(f"{prefix}.{key}" if prefix else key, inner)

    add("", memory_stats_as_nested_dict(device))
    return dict(sorted(found.items()))


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Live, cached and other memory of the process as text; ``abbreviated`` leaves out
    the counts of calls.
    """
    from pellucid.memory import summary

    text = summary()
    return text.rpartition("\n")[0] if abbreviated else text


def memory_snapshot(device: Any = None) -> list[dict[str, Any]]:
    """The allocator's segments of large blocks, each with its blocks, live and free, in
    PyTorch's layout.
    """
    from pellucid.memory._history import segments

    return segments()


def _record_memory_history(enabled: Any = "all", *_: Any, **__: Any) -> None:
    """`pellucid.memory.record_history`."""
    from pellucid.memory import record_history

    record_history(enabled)


def _snapshot(device: Any = None) -> dict[str, Any]:
    """`pellucid.memory.snapshot`."""
    from pellucid.memory import snapshot

    return snapshot()


def _dump_snapshot(filename: str = "dump_snapshot.pickle") -> None:
    """`pellucid.memory.dump_snapshot`."""
    from pellucid.memory import dump_snapshot

    dump_snapshot(filename)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Resets peaks to the live memory."""
    _C._reset_memory_peaks()


# PyTorch's older names.
memory_cached, max_memory_cached = memory_reserved, max_memory_reserved
reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Resets the counts of allocated and freed blocks to 0."""
    _before.update(_C._memory_statistics())


def empty_cache() -> None:
    """Returns cached free memory to the system."""
    _C._empty_cache()
