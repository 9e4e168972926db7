"""``Current``: a model of the runtime's allocator (``runtime/core/allocator.h``),
whose counters equal the real ones for a trace of one thread.

Blocks up to 256 KiB go to the thread's lists, a bounded number of each class; up to
1 MiB to shared lists; larger ones are parts of segments of 256 MiB (``large_blocks``).
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence

from pellucid.memory._policies import SEGMENT, Part, Policy

_THREAD_LIMIT, _LIST_LIMIT = 256 << 10, 1 << 20
_SEPARATE = 16  # see `_Large.take`


class _Large:
    """Parts of segments, as ``runtime/core/large_blocks.h`` has them."""

    def __init__(self) -> None:
        self.parts: dict[int, Part] = {}

    def choose(self, nbytes: int, any_part: bool) -> Part | None:
        """The smallest that fits, of equal ones the most touched; a whole segment
        that has served much larger blocks is left whole.
        """
        free = [p for p in self.parts.values() if p.is_free and p.nbytes >= nbytes]
        free.sort(key=lambda p: (p.nbytes, p.nbytes - p.resident, p.address))
        for part in free:
            if any_part or not self._is_worth_leaving(part, nbytes):
                return part
        return None

    def _is_worth_leaving(self, part: Part, nbytes: int) -> bool:
        return self.is_whole(part) and part.largest // _SEPARATE >= nbytes

    def following(self, part: Part) -> Part | None:
        """The part behind, of the same segment."""
        found = self.parts.get(part.address + part.nbytes)
        return None if found is None or found.starts_segment else found

    def before(self, part: Part) -> Part:
        """The part in front of one that does not start its segment."""
        return next(
            p for p in self.parts.values() if p.address + p.nbytes == part.address
        )

    def is_whole(self, part: Part) -> bool:
        """Whether a part is its segment."""
        return part.starts_segment and self.following(part) is None

    def split(self, part: Part, nbytes: int) -> int:
        """Allocates the beginning of a part; returns how much of it was touched."""
        reused = min(part.resident, nbytes)
        rest = part.nbytes - nbytes
        if rest:
            address = part.address + nbytes
            left = part.resident - reused
            self.parts[address] = Part(address, rest, left, True, False)
        part.nbytes, part.resident, part.is_free = nbytes, 0, False
        start = part
        while not start.starts_segment:
            start = self.before(start)
        start.largest = max(start.largest, nbytes)
        return reused

    def give(self, address: int) -> int:
        """Frees and merges a part; returns its bytes."""
        part = self.parts[address]
        nbytes = part.nbytes
        part.is_free, part.resident = True, nbytes
        self._absorb(part)
        if not part.starts_segment and self.before(part).is_free:
            self._absorb(self.before(part))
        return nbytes

    def _absorb(self, part: Part) -> None:
        following = self.following(part)
        if following is not None and following.is_free:
            part.nbytes += following.nbytes
            part.resident += following.resident
            del self.parts[following.address]


class Current(Policy):
    """See the module. ``limit``: bytes that the shared cache may hold."""

    def __init__(self, limit: int | None = None) -> None:
        super().__init__()
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
        self.limit = pages * size // 4 if limit is None else limit
        self.thread: dict[int, list[int]] = defaultdict(list)
        self.shared: dict[int, list[int]] = defaultdict(list)
        self.large = _Large()
        self.cached = 0

    def begin(self, parts: Sequence[tuple[int, int, int, bool, bool, int]]) -> None:
        """Starts from existing segments, with empty lists."""
        for part in parts:
            made = self.large.parts[part[0]] = Part(*part)
            self.cached += made.resident if made.is_free else 0

    def take(self, nbytes: int) -> int:
        """As ``allocate_block``."""
        if nbytes > _LIST_LIMIT:
            return self._take_large(nbytes)
        if self.thread[nbytes]:
            return self.thread[nbytes].pop()
        if self.shared[nbytes]:
            self.cached -= nbytes
            return self.shared[nbytes].pop()
        return self.grow(nbytes)

    def _take_large(self, nbytes: int) -> int:
        part = self.large.choose(nbytes, any_part=False)
        if part is None:
            size = max(nbytes, SEGMENT)
            part = Part(self.grow(size, touched=False), size, 0, True, True)
            self.large.parts[part.address] = part
        reused = self.large.split(part, nbytes)
        self.cached -= reused
        self.resident += nbytes - reused
        return part.address

    def give(self, address: int, nbytes: int) -> None:
        """As ``free_block``."""
        if nbytes > _LIST_LIMIT:
            self.cached += self.large.give(address)
            if self.cached > self.limit:
                self._trim()
        elif nbytes <= _THREAD_LIMIT and len(self.thread[nbytes]) < _cap(nbytes):
            self.thread[nbytes].append(address)
        elif self.cached + nbytes > self.limit:
            self.shrink(address, nbytes)
        else:
            self.shared[nbytes].append(address)
            self.cached += nbytes

    def adopt(self, address: int, nbytes: int) -> None:
        """A block from before joins the lists, as it does there."""
        self.give(address, nbytes)

    def _trim(self) -> None:
        for part in list(self.large.parts.values()):
            if part.is_free and (part.resident or self.large.is_whole(part)):
                self.resident -= part.resident
                self.cached -= part.resident
                part.resident = 0
                if self.large.is_whole(part):
                    del self.large.parts[part.address]


def _cap(nbytes: int) -> int:
    """The capacity of a thread's list for a size class."""
    return min(max((2 << 20) // nbytes, 16), 1024)
