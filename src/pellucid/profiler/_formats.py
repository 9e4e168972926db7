"""Numbers as the profiler's tables show them."""

from __future__ import annotations

_TIMES = (("s", 1e6), ("ms", 1e3), ("us", 1.0))
_SIZES = (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10))


def format_time(microseconds: float) -> str:
    """With the unit that leaves a number below 1000: ``1.024ms``."""
    for unit, size in _TIMES[:-1]:
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


def format_time_in(microseconds: float, unit: str | None) -> str:
    """In the given unit: "s", "ms", "us"; None chooses."""
    if unit is None:
        return format_time(microseconds)
    if unit not in dict(_TIMES):
        raise ValueError(f"time_unit: {unit!r} is none of 's', 'ms', 'us'")
    return f"{microseconds / dict(_TIMES)[unit]:.3f}{unit}"


def format_share(part: float, whole: float) -> str:
    """In per cent: ``12.50%``."""
    return f"{100 * part / whole:.2f}%" if whole else "NaN"


def format_bytes(nbytes: float) -> str:
    """``512 B``, ``1.25 KB``."""
    for unit, size in _SIZES:
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} B"
