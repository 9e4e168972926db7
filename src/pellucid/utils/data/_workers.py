"""Worker processes of a DataLoader: each fetches batches and sends them back.

A worker receives (number, indices, timed) over its connection and replies (number,
batch, stages): while the timeline records, the stages' times, which the main process
adds to it.
Batches are assigned round-robin, ``prefetch_factor`` ahead, and returned to the user in
order. ``WorkerPool`` is the side of the main process, ``_work`` that of a worker;
``_transfer.py`` sends tensors. Called by ``dataloader.py``.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import random
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import pellucid
from pellucid import _C
from pellucid._utils import ExceptionWrapper
from pellucid.utils.data import _transfer
from pellucid.utils.data.dataset import IterableDataset, _fetch

_STOP = None


class WorkerInfo(NamedTuple):
    """Information about this worker; see ``get_worker_info``."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """This worker's id, seed and copy of the dataset, or None in the main process."""
    return _info


class Job(NamedTuple):
    """A worker's options: those of the loader, without its connections."""

    dataset: Any
    collate_fn: Callable[[Any], Any]
    batched: bool
    drop_last: bool
    num_workers: int
    init_fn: Callable[[int], None] | None


class _Ended(NamedTuple):
    """Sent when an IterableDataset has no more samples."""


# In the worker


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four words that seed NumPy's generator in a worker."""
    import numpy

    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    found: list[int] = numpy.random.SeedSequence(words).generate_state(4).tolist()
    return found


def _seed_everything(base_seed: int, worker: int) -> None:
    seed = base_seed + worker
    random.seed(seed)
    pellucid.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(_generate_state(base_seed, worker))


class _Clock:
    """The stages of a worker's batches: (name, begin, end), in nanoseconds of
    ``time.perf_counter_ns``, which all processes share.
    """

    def __init__(self) -> None:
        self.is_on = False
        self._stages: list[tuple[str, int, int]] = []
        self._begin = 0

    def begin(self) -> None:
        if self.is_on:
            self._begin = time.perf_counter_ns()

    def end(self, name: str) -> None:
        """Ends a stage; the next one begins."""
        if self.is_on:
            now = time.perf_counter_ns()
            self._stages.append((name, self._begin, now))
            self._begin = now

    def take(self) -> list[tuple[str, int, int]]:
        """The stages since the last reply; the sending of a reply is in the next."""
        stages, self._stages = self._stages, []
        return stages


class _Fetcher:
    """Batches of one pass over the dataset."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.is_stream = isinstance(job.dataset, IterableDataset)
        self.samples = iter(job.dataset) if self.is_stream else iter(())
        self.ended = False

    def fetch(self, indices: Any, clock: _Clock) -> Any:
        """A batch of these samples, or of the next ones of a stream."""
        chosen = self._samples(indices)
        clock.end("dataset")
        if isinstance(chosen, _Ended):
            return chosen
        batch = self.job.collate_fn(chosen)
        clock.end("collate")
        return batch

    def _samples(self, indices: Any) -> Any:
        job = self.job
        if not self.is_stream:
            return _fetch(job.dataset, indices) if job.batched else job.dataset[indices]
        if not job.batched:
            return next(self.samples, _Ended())
        batch = list(islice(self.samples, len(indices)))
        short = len(batch) < len(indices)
        if self.ended or not batch or (short and job.drop_last):
            return _Ended()
        self.ended = short
        return batch


def _failure(error: Exception, worker: int) -> ExceptionWrapper:
    """Wraps the exception, to be raised in the main process with the same type.

    A type that cannot be pickled is replaced by its nearest base that can.
    """
    info = type(error), error, error.__traceback__
    wrapper = ExceptionWrapper(info, f"in DataLoader worker process {worker}")
    for kind in type(error).__mro__:
        try:
            pickle.dumps(kind)
        except (pickle.PicklingError, AttributeError):
            continue
        wrapper.exc_type = kind
        break
    return wrapper


def _start(job: Job, worker: int, seed: int) -> None:
    """Sets a worker's random seeds and worker info."""
    global _info
    _seed_everything(seed, worker)
    _info = WorkerInfo(worker, job.num_workers, seed + worker, job.dataset)
    if job.init_fn is not None:
        job.init_fn(worker)


def _work(
    job: Job, worker: int, connection: Connection, inherited: list[Connection]
) -> None:
    """A worker's main loop: replies until the connection closes or a stop message."""
    for other in inherited:
        other.close()
    pellucid.set_num_threads(1)
    clock = _Clock()
    fetcher: _Fetcher | None = None
    failure: ExceptionWrapper | None = None
    try:
        while (task := connection.recv()) is not _STOP:
            number, what, clock.is_on = task
            try:
                if number is None:  # a new pass; of the workers' first one, a seed
                    seed, shared = what
                    failure = None
                    if seed is not None:
                        _start(job, worker, seed)
                    if shared is not None:
                        from pellucid.utils.data.graph_settings import start_pass

                        start_pass(job.dataset, shared, (job.num_workers, worker))
                    fetcher = _Fetcher(job)
                    continue
                if failure is None:
                    assert fetcher is not None
                    clock.begin()
                    batch = fetcher.fetch(what, clock)
                    _transfer.send(connection, (number, batch, clock.take()))
                    clock.end("send")
                    continue
            except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
                return
            except Exception as error:
                failure = _failure(error, worker)
                if number is None:
                    continue
            found, failure = failure, None
            _transfer.send(connection, (number, found, clock.take()))
    except (EOFError, KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        return


# In the main process


class WorkerPool:
    """The workers of a loader, for one pass or, if persistent, for all."""

    def __init__(self, job: Job, context: Any, prefetch: int, timeout: float) -> None:
        self.prefetch = prefetch
        self.timeout = timeout or None
        self.running = False
        context = _context(context)
        forks = context.get_start_method() == "fork"
        self.connections: list[Connection] = []
        self.processes: list[Any] = []
        for worker in range(job.num_workers):
            mine, theirs = context.Pipe()
            self.connections.append(mine)
            # A fork inherits this side's connections, and would keep them open.
            inherited = list(self.connections) if forks else []
            process = context.Process(
                target=_work, args=(job, worker, theirs, inherited), daemon=True
            )
            process.start()
            theirs.close()
            self.processes.append(process)

    def run(
        self,
        indices: Iterator[Any],
        seeds: tuple[int | None, int | None],
        in_order: bool,
    ) -> Iterator[Any]:
        """One pass: the batches of ``indices``. The seeds are the base of the workers'
        seeds, to which each adds its number (None: they resume), and the seed of pipes.
        """
        self.running = True
        for connection in self.connections:
            connection.send((None, seeds, False))
        turn = _Pass(self, indices, in_order)
        try:
            yield from turn
        finally:
            turn.drain()
            self.running = False

    def close(self, patience: float = 5.0) -> None:
        """Stops the workers; terminates those that do not end in time."""
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.send(_STOP)
            connection.close()
        for process in self.processes:
            process.join(timeout=patience)
            if process.is_alive():
                process.terminate()
                process.join()
        self.connections, self.processes = [], []

    def __del__(self) -> None:
        if self.processes and not sys.is_finalizing():
            self.close()


def _receive(connection: Connection, process: int) -> tuple[int, Any]:
    """(number, batch) of a reply; the timeline receives what the worker timed."""
    token = _C._timeline_begin("DataLoader: receive")
    try:
        number, batch, stages = _transfer.receive(connection)
    finally:
        _C._timeline_end(token)
    for name, begin, end in stages:
        _C._timeline_add(process, f"DataLoader worker: {name}", begin, end)
    return number, batch


class _Pass:
    """The assignment of batches to workers in one pass."""

    def __init__(
        self, pool: WorkerPool, indices: Iterator[Any], in_order: bool
    ) -> None:
        self.pool = pool
        self.indices = indices
        self.in_order = in_order
        self.active = list(range(len(pool.connections)))
        self.turn = 0
        self.sent = 0
        self.waiting: dict[int, int] = {}  # number of the batch -> its worker
        self.arrived: dict[int, Any] = {}
        self.next = 0

    def __iter__(self) -> Iterator[Any]:
        for _ in range(self.pool.prefetch * len(self.pool.connections)):
            self._hand_out()
        while self.waiting or self.arrived:
            number = self._ready()
            while number is None:
                self._receive()
                number = self._ready()
            batch = self.arrived.pop(number)
            self.next = max(self.next, number + 1)
            if isinstance(batch, ExceptionWrapper):
                batch.reraise()
            if isinstance(batch, _Ended):
                continue
            self._hand_out()
            yield batch

    def _ready(self) -> int | None:
        """The number of the next batch, if it has arrived."""
        if not self.in_order:
            return next(iter(self.arrived), None)
        first = min((*self.waiting, *self.arrived))
        return first if first in self.arrived else None

    def _hand_out(self) -> None:
        if not self.active:
            return
        try:
            chosen = next(self.indices)
        except StopIteration:
            self.active = []
            return
        worker = self.active[self.turn % len(self.active)]
        self.turn = (self.turn + 1) % len(self.active)
        task = self.sent, chosen, _C._timeline_is_on()
        self.pool.connections[worker].send(task)
        self.waiting[self.sent] = worker
        self.sent += 1

    def _receive(self) -> None:
        """Waits for one batch from any worker."""
        pool = self.pool
        ready: list[Any] = wait(pool.connections, pool.timeout)
        if not ready:
            raise RuntimeError(
                f"DataLoader timed out after {pool.timeout} seconds without a batch"
            )
        for connection in ready:
            worker = pool.connections.index(connection)
            process = pool.processes[worker]
            try:
                number, batch = _receive(connection, process.pid)
            except (EOFError, ConnectionResetError):
                process.join(timeout=1)
                raise RuntimeError(
                    f"DataLoader worker {worker} (pid {process.pid}) exited "
                    f"unexpectedly with code {process.exitcode}"
                ) from None
            del self.waiting[number]
            self.arrived[number] = batch
            if isinstance(batch, _Ended) and worker in self.active:
                self.active.remove(worker)

    def drain(self) -> None:
        """Receives pending batches, so that the next pass starts clean."""
        self.active = []
        try:
            while self.waiting:
                self._receive()
        except RuntimeError:
            self.pool.close(patience=0)


def _context(given: Any) -> Any:
    if given is None:
        return multiprocessing.get_context()
    if isinstance(given, str):
        known = multiprocessing.get_all_start_methods()
        if given not in known:
            raise ValueError(
                f"multiprocessing_context is one of {', '.join(known)}, not {given!r}"
            )
        return multiprocessing.get_context(given)
    return given
