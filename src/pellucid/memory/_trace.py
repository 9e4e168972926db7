"""The allocator lab: a trace of the blocks a program takes and gives back, and its
replay under a policy.

    trace = memory.record_trace(step)
    print(memory.replay(trace, memory.BestFit()))

A policy is a class with ``take(nbytes)`` and ``give(address, nbytes)``;
``_policies.py`` has six, ``_current.py`` the allocator that runs here, whose counters
it gives exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pellucid import _C
from pellucid.memory._peak import readable
from pellucid.memory._policies import Policy
from pellucid.profiler._timeline.log import Kind, Session, Watch


class Entry(NamedTuple):
    """A block of ``nbytes``, rounded to its size class, allocated or freed."""

    block: int
    nbytes: int
    is_taken: bool


@dataclass(frozen=True)
class Trace:
    """Entries in order; ``counters``: how the real allocator's changed meanwhile;
    ``parts``: of its segments at the beginning (``Current`` begins with them).
    """

    entries: Sequence[Entry]
    counters: dict[str, int]
    parts: Sequence[tuple[int, int, int, bool, bool, int]] = ()

    def __len__(self) -> int:
        return len(self.entries)


def record_trace(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Trace:
    """Runs ``fn(*args, **kwargs)`` once, with empty caches, and records its blocks.

    Example: ``trace = pellucid.memory.record_trace(step)``.
    """
    session = Session(Watch.BLOCKS)
    _C._empty_cache()
    session.start()
    before, parts = _C._memory_statistics(), _C._large_blocks()
    try:
        fn(*args, **kwargs)
    finally:
        after = _C._memory_statistics()
        log = session.stop()
    entries = [
        Entry(event.address, abs(event.bytes), event.kind is Kind.TAKE_BLOCK)
        for event in log.events
        if event.kind in (Kind.TAKE_BLOCK, Kind.GIVE_BLOCK)
    ]
    return Trace(entries, {key: after[key] - before[key] for key in before}, parts)


@dataclass
class Replay:
    """The result of a trace under a policy. ``resident``: bytes of memory that were
    touched and not given back; ``base_calls``: requests to the system; ``curve``: live
    and resident bytes after each entry.
    """

    policy: str
    live_peak: int = 0
    resident_peak: int = 0
    resident: int = 0
    live: int = 0
    base_calls: int = 0
    curve: list[tuple[int, int]] = field(default_factory=list)
    placed: list[tuple[int, int, int, int]] = field(default_factory=list)

    @property
    def fragmentation(self) -> float:
        """The part of the resident peak that the live peak did not need."""
        return 1 - self.live_peak / self.resident_peak if self.resident_peak else 0.0

    def __str__(self) -> str:
        return (
            f"{self.policy:12} live {readable(self.live_peak):>10}, resident "
            f"{readable(self.resident_peak):>10}, fragmentation "
            f"{self.fragmentation:6.1%}, {self.base_calls} calls of the system"
        )

    def svg(self, width: int = 800, height: int = 400) -> str:
        """Addresses (up) over time (right): a box for each block's life."""
        low = min((address for _, _, address, _ in self.placed), default=0)
        high = max((a + size for _, _, a, size in self.placed), default=1)
        across = width / max(len(self.curve), 1)
        up = height / max(high - low, 1)
        boxes = [
            f'<rect x="{begin * across:.2f}" width="{(end - begin) * across:.2f}" '
            f'y="{height - (address + size - low) * up:.2f}" '
            f'height="{size * up:.2f}" fill="#5b8db8" stroke="#fff" '
            f'stroke-width=".3"/>'
            for begin, end, address, size in self.placed
        ]
        size = f'width="{width}" height="{height}"'
        space = 'xmlns="http://www.w3.org/2000/svg"'
        return f"<svg {space} {size}>{''.join(boxes)}</svg>"


def replay(trace: Trace | Sequence[Entry], policy: Policy) -> Replay:
    """Replays the trace under ``policy``. Blocks from before the trace are passed to it
    when they are freed.

    Example::

        class Bump(pellucid.memory.Policy):
            def take(self, nbytes):
                return self.grow(nbytes)

            def give(self, address, nbytes):
                self.shrink(address, nbytes)

        print(pellucid.memory.replay(trace, Bump()))
    """
    entries = trace.entries if isinstance(trace, Trace) else trace
    if isinstance(trace, Trace):
        policy.begin(trace.parts)
    result = Replay(type(policy).__name__)
    places: dict[int, tuple[int, int]] = {}
    for number, (block, nbytes, is_taken) in enumerate(entries):
        if is_taken:
            places[block] = policy.take(nbytes), number
            result.live += nbytes
        elif block in places:
            address, begin = places.pop(block)
            policy.give(address, nbytes)
            result.placed.append((begin, number, address, nbytes))
            result.live -= nbytes
        else:
            policy.adopt(block, nbytes)
            result.live -= nbytes
        result.live_peak = max(result.live_peak, result.live)
        result.resident_peak = max(result.resident_peak, policy.resident)
        result.curve.append((result.live, policy.resident))
    end = len(result.curve)
    sizes = {block: nbytes for block, nbytes, is_taken in entries if is_taken}
    for block, (address, begin) in places.items():
        result.placed.append((begin, end, address, sizes[block]))
    result.resident, result.base_calls = policy.resident, policy.base_calls
    return result
