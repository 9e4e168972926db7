"""An asynchronous device for tests: any backend behind queues, with random delays.

``Late(inner)`` gives a backend streams. Copies and launches are tasks of a thread per
stream, and each may be delayed; freed memory is filled with NaN. A program, or a
runtime, that forgets to wait gets wrong numbers here. ``waits=False`` is the control:
the device that itself forgets.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import Any

from pellucid.devices import Backend, reference
from pellucid.devices.queues import Failure, Mark, Queue
from pellucid_compiler.devices.launch import KernelFailed, Launch


class Late(Backend):
    """``inner`` under the name ``late``, or another one, with streams.

    ``seconds`` is the longest delay, of one task in eight; ``accepts`` tells beforehand
    which kernels ``inner`` launches. The methods of streams are what any device writes
    that queues its work.

    Example::

        pellucid.devices.register(Late(Toy()))
        x = torch.ones(3, device="late") + 1  # returns before it is computed
        x.tolist()  # waits
    """

    name, streams, pool, poison = "late", True, "best_fit", True
    alignment = 64

    def __init__(
        self,
        inner: Backend,
        seed: int = 0,
        seconds: float = 3e-4,
        waits: bool = True,
        accepts: Callable[[Launch], bool] = reference.accepts,
    ) -> None:
        self.inner, self.waits, self._accepts = inner, waits, accepts
        self.count, self.forms = inner.count, inner.forms
        self.generators = inner.generators
        self._random, self._seconds = random.Random(seed), seconds
        self._queues: list[list[Queue]] = [[] for _ in range(inner.count)]
        self._marks: list[Mark] = []
        self._failures: list[Failure] = []
        self._blocks = os.environ.get("PELLUCID_LAUNCH_BLOCKING", "0") != "0"
        for device in range(inner.count):
            self.new_stream(device)

    def _delay(self) -> None:
        if self._random.random() < 1 / 8:
            time.sleep(self._random.random() * self._seconds)

    def new_stream(self, device: int) -> int:
        queues, name = self._queues[device], f"{self.name}:{device}"

        def failed(error: Exception, launch: Launch | None) -> None:
            self._failures.append(Failure(error, launch, name))

        queues.append(Queue(f"{name} stream {len(queues)}", self._delay, failed))
        return len(queues) - 1

    def record(self, device: int, stream: int) -> int:
        self._marks.append(self._queues[device][stream].mark())
        return len(self._marks) - 1

    def wait(self, device: int, stream: int, event: int) -> None:
        if self.waits:
            self._queues[device][stream].put(self._marks[event].wait)

    def is_done(self, device: int, event: int) -> bool:
        return self._marks[event].is_set()

    def finish(self, device: int, event: int) -> None:
        if self.waits:
            self._marks[event].wait()
        self._raise_failure()

    def elapsed(self, device: int, first: int, second: int) -> float:
        begin, end = self._marks[first], self._marks[second]
        end.wait()
        return (end.seconds - begin.seconds) * 1e3

    def synchronize(self, device: int) -> None:
        for stream in range(len(self._queues[device])):
            self.finish(device, self.record(device, stream))

    def _raise_failure(self) -> None:
        """The first failure since the last call; the device continues."""
        if self._failures:
            failure = self._failures[0]
            self._failures.clear()
            raise failure.as_error() from None

    def allocate(self, device: int, nbytes: int) -> int:
        return self.inner.allocate(device, nbytes)

    def release(self, device: int, address: int, nbytes: int) -> None:
        self.inner.release(device, address, nbytes)

    def from_host(
        self, device: int, address: int, data: memoryview, stream: int = 0
    ) -> None:
        given = memoryview(bytes(data))  # the program may change it after this call
        self._queues[device][stream].put(
            lambda: self.inner.from_host(device, address, given)
        )

    def to_host(
        self, device: int, address: int, into: memoryview, stream: int = 0
    ) -> None:
        if self.waits:
            self._queues[device][stream].mark().wait()
        self.inner.to_host(device, address, into)
        self._raise_failure()

    def launch(self, launch: Launch) -> Any:
        def run() -> None:
            if self.inner.launch(launch) is NotImplemented:
                raise NotImplementedError(f"{self.inner.name} declined it")

        if not self._accepts(launch):
            return NotImplemented
        queue = self._queues[launch.device][launch.stream]
        if not self._blocks:
            return queue.put(run, launch)
        failures: list[Exception] = []
        queue.put(lambda: failures.extend(_failure_of(run)))
        queue.mark().wait()
        if failures:
            raise failures[0]
        return None


def _failure_of(run: Any) -> list[Exception]:
    try:
        run()
    except (KernelFailed, NotImplementedError) as error:
        return [error]
    return []
