"""A backend between the runtime and the one that is checked.

It fills fresh and freed memory with ones (NaN in every float), and puts a mark behind
each block: a mark that changed means that something was written past the block's end.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from threading import Lock
from typing import TYPE_CHECKING, Any

from pellucid.devices import Backend

if TYPE_CHECKING:
    from pellucid_compiler.devices.launch import Launch

MARK = bytes(range(0xC0, 0x100))
POISON = b"\xff"


class Watched(Backend):
    """``inner``, with every block poisoned, and marked behind its end."""

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.name, self.count, self.forms = inner.name, inner.count, inner.forms
        self.faults: list[str] = []
        self._blocks: dict[tuple[int, int], int] = {}
        self._starts: list[tuple[int, int]] = []
        self._lock = Lock()

    def allocate(self, device: int, nbytes: int) -> int:
        address = self.inner.allocate(device, nbytes + len(MARK))
        if type(address) is int and address > 0:
            self._fill(device, address, nbytes)
            self.inner.from_host(device, address + nbytes, memoryview(MARK))
            with self._lock:
                self._blocks[device, address] = nbytes
                insort(self._starts, (device, address))
        return address

    def release(self, device: int, address: int, nbytes: int) -> None:
        self._inspect(device, address, "the end of its life")
        self._fill(device, address, nbytes)
        with self._lock:
            self._blocks.pop((device, address), None)
            place = bisect_right(self._starts, (device, address)) - 1
            if place >= 0 and self._starts[place] == (device, address):
                del self._starts[place]
        self.inner.release(device, address, nbytes + len(MARK))

    def to_host(self, device: int, address: int, into: memoryview) -> None:
        self.inner.to_host(device, address, into)

    def from_host(self, device: int, address: int, data: memoryview) -> None:
        self.inner.from_host(device, address, data)

    def synchronize(self, device: int) -> None:
        self.inner.synchronize(device)

    def _fill(self, device: int, address: int, nbytes: int) -> None:
        self.inner.from_host(device, address, memoryview(POISON * nbytes))

    def _inspect(self, device: int, address: int, when: str) -> None:
        nbytes = self._blocks.get((device, address))
        if nbytes is None:
            return
        found = bytearray(len(MARK))
        self.inner.to_host(device, address + nbytes, memoryview(found))
        if found == MARK:
            return
        changed = sum(a != b for a, b in zip(found, MARK, strict=True))
        self.faults.append(
            f"{changed} bytes behind a block of {nbytes} bytes of {self.name}:{device} "
            f"were written before {when}"
        )
        self.inner.from_host(device, address + nbytes, memoryview(MARK))

    def _block_of(self, device: int, address: int) -> int | None:
        with self._lock:
            place = bisect_right(self._starts, (device, address)) - 1
            start = self._starts[place] if place >= 0 else (-1, 0)
        return start[1] if start[0] == device else None


class WatchedLaunches(Watched):
    """``inner`` with a ``launch`` of its own."""

    def launch(self, launch: Launch) -> Any:
        result = self.inner.launch(launch)
        for operand in launch.operands[: len(launch.kernel.outputs)]:
            start = self._block_of(launch.device, operand.address)
            if start is not None:
                when = f"{launch.op} ({launch.form}) ended"
                self._inspect(launch.device, start, when)
        return result


def watched(backend: Backend) -> Watched:
    """The backend with its memory watched."""
    launches = type(backend).launch is not Backend.launch
    return (WatchedLaunches if launches else Watched)(backend)
