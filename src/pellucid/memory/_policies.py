"""Policies for the allocator lab: how requests are served from free memory.

All are models: addresses are numbers. ``grow`` requests memory from the system, which
counts a call; memory is resident from when it is first part of a block.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

SEGMENT = 256 << 20


class Policy:
    """``take`` allocates a block and returns its address, ``give`` frees it. A user's
    policy overrides the two, and uses `grow` and `shrink`.
    """

    def __init__(self) -> None:
        self.resident = 0
        self.base_calls = 0
        self._end = 1 << 40

    def take(self, nbytes: int) -> int:
        """The address of a block of so many bytes."""
        raise NotImplementedError(f"{type(self).__name__} needs take(nbytes)")

    def give(self, address: int, nbytes: int) -> None:
        """Frees the block."""
        raise NotImplementedError(f"{type(self).__name__} needs give(address, nbytes)")

    def begin(self, parts: Sequence[tuple[int, int, int, bool, bool, int]]) -> None:
        """What is there when the trace begins: address, bytes, resident bytes, whether
        free, whether it starts a segment, and the largest block that this has served.
        Policies but `Current` begin with nothing.
        """

    def adopt(self, address: int, nbytes: int) -> None:
        """A block that was taken before the trace began is free: it is left alone."""

    def grow(self, nbytes: int, touched: bool = True) -> int:
        """Requests memory from the system; resident immediately unless not yet
        ``touched``.
        """
        address = self._end
        self._end += nbytes + (1 << 20)  # segments are not adjacent
        self.base_calls += 1
        self.resident += nbytes if touched else 0
        return address

    def shrink(self, address: int, nbytes: int) -> None:
        """Returns memory to the system."""
        self.resident -= nbytes


@dataclass
class Part:
    """A part of a segment. ``resident``: how much of a free one was touched;
    ``largest``: of the blocks that the segment has served, if the part starts one.
    """

    address: int
    nbytes: int
    resident: int
    is_free: bool
    starts_segment: bool
    largest: int = 0


class Fit(Policy):
    """Parts of segments, split on demand, merged with their free neighbours.
    ``choose`` picks among those that fit.
    """

    def __init__(self, segment: int = SEGMENT) -> None:
        super().__init__()
        self.segment = segment
        self.parts: list[Part] = []

    def choose(self, fitting: list[Part]) -> Part:
        """One of the parts, which come by address."""
        raise NotImplementedError(f"{type(self).__name__} needs choose(fitting)")

    def take(self, nbytes: int) -> int:
        """A part that fits, or one of a new segment."""
        fitting = [p for p in self.parts if p.is_free and p.nbytes >= nbytes]
        if fitting:
            return self._split(self.choose(fitting), nbytes)
        size = max(nbytes, self.segment)
        made = Part(self.grow(size, touched=False), size, 0, True, True)
        self.parts.append(made)
        return self._split(made, nbytes)

    def _split(self, part: Part, nbytes: int) -> int:
        place = self.parts.index(part)
        reused = min(part.resident, nbytes)
        self.resident += nbytes - reused
        rest = part.nbytes - nbytes
        if rest:
            left = part.resident - reused
            made = Part(part.address + nbytes, rest, left, True, False)
            self.parts.insert(place + 1, made)
        part.nbytes, part.resident, part.is_free = nbytes, 0, False
        return part.address

    def give(self, address: int, nbytes: int) -> None:
        """Merge with free neighbours of the segment."""
        place = next(k for k, p in enumerate(self.parts) if p.address == address)
        part = self.parts[place]
        part.is_free, part.resident = True, part.nbytes
        self._absorb_next(place)
        if not part.starts_segment and self.parts[place - 1].is_free:
            self._absorb_next(place - 1)

    def _absorb_next(self, place: int) -> None:
        if place + 1 >= len(self.parts):
            return
        part, following = self.parts[place], self.parts[place + 1]
        if following.is_free and not following.starts_segment:
            part.nbytes += following.nbytes
            part.resident += following.resident
            del self.parts[place + 1]


class FirstFit(Fit):
    """The lowest address that fits."""

    def choose(self, fitting: list[Part]) -> Part:
        """The first."""
        return fitting[0]


class BestFit(Fit):
    """The smallest that fits; of equal ones that with the most touched memory."""

    def choose(self, fitting: list[Part]) -> Part:
        """The smallest."""
        return min(fitting, key=lambda p: (p.nbytes, -p.resident, p.address))


class NextFit(Fit):
    """The first that fits behind the last one taken."""

    last = 0

    def choose(self, fitting: list[Part]) -> Part:
        """The next."""
        found = next((p for p in fitting if p.address >= self.last), fitting[0])
        self.last = found.address
        return found


class Buddy(Policy):
    """Blocks of powers of two, halved on demand, merged with their other half."""

    def __init__(self, least: int = 64, segment: int = SEGMENT) -> None:
        super().__init__()
        self.least, self.segment = least, segment
        self.free: dict[int, list[int]] = defaultdict(list)
        self.base: dict[int, int] = {}

    def _size(self, nbytes: int) -> int:
        return max(self.least, 1 << (nbytes - 1).bit_length() if nbytes > 1 else 1)

    def take(self, nbytes: int) -> int:
        """The smallest free block of a sufficient power, halved as often as needed."""
        size = self._size(nbytes)
        found = min(
            (s for s, free in self.free.items() if s >= size and free), default=0
        )
        if not found:
            found = max(size, self.segment)
            start = self.grow(found)
            self.base[start] = found
            self.free[found].append(start)
        address = self.free[found].pop(0)
        while found > size:
            found //= 2
            insort(self.free[found], address + found)
        return address

    def give(self, address: int, nbytes: int) -> None:
        """Merge while the other half is free."""
        size = self._size(nbytes)
        start = max(base for base in self.base if base <= address)
        while size < self.base[start]:
            other = start + ((address - start) ^ size)
            if other not in self.free[size]:
                break
            self.free[size].remove(other)
            address, size = min(address, other), size * 2
        insort(self.free[size], address)


class SizeClasses(Policy):
    """A list of free blocks for each size: nothing is split, nothing is merged."""

    def __init__(self) -> None:
        super().__init__()
        self.free: dict[int, list[int]] = defaultdict(list)

    def take(self, nbytes: int) -> int:
        """The last block of this size that became free."""
        free = self.free[nbytes]
        return free.pop() if free else self.grow(nbytes)

    def give(self, address: int, nbytes: int) -> None:
        """Into the list of its size."""
        self.free[nbytes].append(address)


class Segments(Fit):
    """Segments by size of request, as PyTorch's allocator of GPU memory has them: 2 MiB
    for small blocks, 20 MiB up to 10 MiB, else the request's own, best fit within.
    """

    def take(self, nbytes: int) -> int:
        """A part of a segment of the request's kind."""
        self.segment = self._segment_of(nbytes)
        return super().take(nbytes)

    @staticmethod
    def _segment_of(nbytes: int) -> int:
        if nbytes <= 1 << 20:
            return 2 << 20
        if nbytes < 10 << 20:
            return 20 << 20
        return -(-nbytes // (2 << 20)) * (2 << 20)

    def choose(self, fitting: list[Part]) -> Part:
        """The smallest."""
        return min(fitting, key=lambda p: (p.nbytes, p.address))


def policies() -> list[Policy]:
    """One of each of the six."""
    return [BestFit(), FirstFit(), NextFit(), Buddy(), SizeClasses(), Segments()]
