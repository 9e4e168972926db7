"""How a group runs its calls over a transport, and what it says when one fails.

A call runs on the calling thread if nothing is under way, else on the group's own
thread, in order. ``native.py`` has the collectives themselves. Read next: ``queue.py``,
``failure.py``.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NoReturn

from pellucid.distributed._distributed import Failure
from pellucid.distributed._group import failure, flight
from pellucid.distributed._group.process_group import ProcessGroup
from pellucid.distributed._group.queue import CallQueue
from pellucid.distributed._group.whereabouts import call_site, main_thread_place
from pellucid.distributed._group.work import Work
from pellucid.distributed._stores.errors import DistBackendError, DistStoreError
from pellucid.distributed._stores.store import Store, seconds_of
from pellucid.distributed._transport import codes
from pellucid.distributed._transport.choose import Member, Transport, connect, meet
from pellucid.distributed._transport.messages import MessageGroup
from pellucid.distributed._transport.shared_memory import SharedMemoryGroup

Call = tuple[int, int, int, int, int]  # kind, count, dtype, reduction, root

_groups: weakref.WeakSet[RunningGroup] = weakref.WeakSet()  # of this process


class RunningGroup(ProcessGroup):
    """Ranks that have met and are connected by a transport."""

    backend_name: str

    def __init__(
        self, store: Store, rank: int, size: int, timeout: timedelta, *_: Any
    ) -> None:
        super().__init__(rank, size)
        self._store, self._timeout = store, seconds_of(timeout)
        self._members = self._meet(store)
        self._transport = self._connect()
        self._queue = CallQueue("collectives")
        self._num_recorded = self._num_messages = 0  # by the flight recorder
        self._failed, self._completed = -1, 0  # the last failed call, and one before it
        self._start = self._transport.run
        self._broken = ""
        self._pid = os.getpid()
        self._stopped = threading.Event()
        meeting = codes.BARRIER, 0, 0, 0, -1
        try:
            self._transport.run(codes.BARRIER, 0, 0, 0, 0, 0, -1, 1.0, self._timeout)
        except Failure as caught:
            self._raise(caught, meeting, call_site(), self._timeout)
        if isinstance(self._transport, SharedMemoryGroup):
            self._witness = threading.Thread(
                target=self._answer, args=(self._transport,), daemon=True, name="where"
            )
            self._witness.start()
        _groups.add(self)

    def _meet(self, store: Store) -> list[Member]:
        return meet(store, self._rank, self._size)

    def _connect(self) -> Transport:
        assert self._store is not None
        return connect(
            *(self._store, self._rank, self._members, self._timeout),
            *(self._tell_slow, own_whereabouts, self._hear_elsewhere),
        )

    def getBackendName(self) -> str:
        """The backend's name."""
        return self.backend_name

    # Running a call

    def _run(
        self,
        call: Call,
        input: int,
        output: int,
        opts: Any,
        tensors: Any,
        factor: float = 1.0,
        after: Callable[[], None] | None = None,
        operands: flight.Operands | None = None,
    ) -> Work:
        """Runs a call now or later; ``tensors`` are those that it works on, its
        operands unless ``operands`` are given.
        """
        if self._broken:
            self._refuse()
        timeout = self._timeout if opts.timeout is None else seconds_of(opts.timeout)
        recorder, recorded = flight.recorder, None
        if recorder is not None:
            given = operands or flight.Operands(tensors, tensors)
            recorded = recorder.collective(self, call, given)
        if not opts.asyncOp:
            start = self._start if recorded is None else recorded.around(self._start)
            is_done = self._queue.try_run(
                start, self._tell_failed, call, input, output, factor, timeout
            )
            if is_done:
                if recorded is not None:
                    recorded.complete()
                if after is not None:
                    after()
                return Work(tensors)
        return self._run_later(
            call, input, output, opts, tensors, factor, after, recorded
        )

    def _run_later(
        self,
        call: Call,
        input: int,
        output: int,
        opts: Any,
        tensors: Any,
        factor: float,
        after: Callable[[], None] | None,
        recorded: flight.Recorded | None,
    ) -> Work:
        timeout = self._timeout if opts.timeout is None else seconds_of(opts.timeout)
        kind, count, dtype, reduction, root = call
        return self._submit(
            lambda: self._start(
                kind, input, output, count, dtype, reduction, root, factor, timeout
            ),
            *(call, opts, timeout, tensors, after, recorded),
        )

    def _submit(
        self,
        start: Callable[[], None],
        call: Call,
        opts: Any,
        timeout: float,
        tensors: Any,
        after: Callable[[], None] | None = None,
        recorded: flight.Recorded | None = None,
    ) -> Work:
        work, site = Work.pending(tensors), call_site()

        def run() -> None:
            self._queue.begin(call, site)
            if recorded is not None:
                recorded.start()
            try:
                if self._broken:
                    self._refuse()
                start()
            except BaseException as error:
                self._tell_failed(error, call, timeout, site)
                raise
            finally:
                self._queue.end()
            if recorded is not None:
                recorded.complete()
            if after is not None:
                after()

        self._queue.submit(run, work)
        if not opts.asyncOp:
            work.wait()
        return work

    def shutdown(self) -> None:
        """Waits at most two seconds for queued calls, and leaves the group."""
        if self._stopped.is_set() or self._pid != os.getpid():
            return
        self._queue.stop(0.0 if self._broken else 2.0)
        self._stopped.set()
        if not self._broken:
            self._broken = (
                "the group was destroyed; make another by init_process_group or "
                "new_group"
            )
            self._transport.leave(False)
        self._queue.stop(2.0)
        if isinstance(self._transport, SharedMemoryGroup):
            self._transport.ask(self._rank)  # wakes the thread
            self._witness.join(2.0)

    # Failures

    def _refuse(self) -> NoReturn:
        raise DistBackendError(self._broken)

    def _describe(self, call: Call, site: str | None = None) -> str:
        kind, count, dtype, reduction, root = call
        text = codes.KINDS[kind]
        if kind not in (codes.BARRIER, codes.ALL_TO_ALL):
            name = str(codes.DTYPES[dtype]).removeprefix("torch.")
            text += f" {name.removeprefix('pellucid.')}[{count}]"
        if kind in (codes.ALL_REDUCE, codes.REDUCE, codes.REDUCE_SCATTER):
            from pellucid.distributed._group.reduce_op import RedOpType

            text += f" {RedOpType(reduction).name.lower()}"
        text += f" of rank {root}" if root >= 0 else ""
        return f"{text} ({site})" if site else text

    def _tell_failed(
        self, error: BaseException, call: Call, timeout: float, site: str | None = None
    ) -> None:
        """Called before a failed call ends: DistBackendError if ranks caused it."""
        self._completed, self._failed = self.last_completed(), self._queue.num_calls
        if isinstance(error, Failure):
            self._raise(error, call, site or call_site(), timeout)

    def last_completed(self) -> int:
        """The number of the last call that did what it should."""
        ended = self._queue.num_calls - bool(self._queue.since)
        return self._completed if ended == self._failed else ended

    def _raise(self, caught: Failure, call: Call, site: str, timeout: float) -> None:
        message = self._failure_text(caught, call, site, timeout)
        flight.write_dump(self._global_ranks[self._rank], running_groups())
        raise DistBackendError(message) from None

    def _failure_text(
        self, caught: Failure, call: Call, site: str, timeout: float
    ) -> str:
        """What went wrong; the group runs no more calls unless ranks only differed."""
        cause, ranks, members = self._meaning(caught)
        name, number = self.group_name or "default", self._queue.num_calls
        text = self._describe(call, site)
        if cause == "mismatch":
            calls = self._transport.exchange_texts(text, timeout)
            return failure.mismatch_text(name, number, calls)
        if cause == "timed out":
            places = [self._transport.where(rank, 1.0) for rank in ranks]
            message = failure.timeout_text(name, number, text, timeout, ranks, places)
        else:
            reasons = [self._reason(cause, members[rank]) for rank in ranks]
            message = failure.gone_text(name, number, text, ranks, members, reasons)
        self._break(message)
        return message

    def _meaning(self, caught: Failure) -> tuple[str, list[int], list[Member]]:
        """The cause, the ranks, and the members of the group."""
        cause, ranks, *elsewhere = caught.args
        return cause, ranks, elsewhere[0] if elsewhere else self._members

    def _hear_elsewhere(self, peer: int) -> None:
        """Called while a rank is missing: Failure if it left another group because a
        rank of that group ended. Its program received that error.
        """
        if peer < 0 or self not in _groups:
            return
        number = self._global_ranks[peer]
        for group in list(_groups):
            if group is self or number not in group._global_ranks:
                continue
            losses = group._losses()
            ended = sorted(rank for rank, cause in losses.items() if cause == "ended")
            if ended and losses.get(group._global_ranks.index(number)) == "left":
                raise Failure("ended", ended, group._members)

    def _losses(self) -> dict[int, str]:
        """The ranks that have ended or left, as far as it is known."""
        transport = self._transport
        knows = isinstance(transport, (MessageGroup, SharedMemoryGroup))
        return transport.losses() if knows else {}

    def _reason(self, cause: str, member: Member) -> str:
        if cause == "left":
            return "has left the group: an error on it, or destroy_process_group()"
        key, how = f"exit/{member.pid}", ""
        with contextlib.suppress(DistStoreError, RuntimeError):
            root = self._root_store()
            root.wait([key], timedelta(seconds=0.3))
            how = f", {root.get(key).decode()}"
        return f"has ended{how}; it had finished {self._finished()}"

    def _finished(self) -> str:
        """The last collective that every rank had called."""
        is_running = bool(self._queue.since)
        call = self._queue.before if is_running else self._queue.last
        if call is None:
            return "no collective"
        return f"#{self._queue.num_calls - is_running}, {self._describe(call)}"

    def _root_store(self) -> Store:
        store = self._store
        assert store is not None
        while hasattr(store, "underlying_store"):
            store = store.underlying_store
        return store

    def _break(self, message: str) -> None:
        self._broken = message
        self._transport.leave(True)

    def _tell_slow(self, seconds: float, ranks: list[int]) -> None:
        """Called on the waiting thread when ranks are late."""
        last, number = self._queue.last, self._queue.num_calls
        call = self._describe(last) if last else "a message"
        places = []
        if isinstance(self._transport, SharedMemoryGroup):
            places = [f"rank {r} is in {self._transport.where(r, 1.0)}" for r in ranks]
        warnings.warn(
            f"{call}, #{number} of group {self.group_name or 'default'!r}, "
            f"has waited {seconds:.0f} s for {failure.ranks_text(ranks)}: "
            + "; ".join(places),
            stacklevel=2,
        )

    def _answer(self, transport: SharedMemoryGroup) -> None:
        while not self._stopped.is_set():
            if transport.wait_for_question():
                transport.answer(own_whereabouts())

    def check_alive(self, ranks: Sequence[int]) -> None:
        """Raises DistBackendError when one of the ranks is known to have ended."""
        others = [rank for rank in ranks if rank != self._rank]
        ended = [rank for rank in others if self._transport.has_ended(rank)]
        if ended:
            reasons = [self._reason("ended", self._members[rank]) for rank in ended]
            name, call = self.group_name or "default", f"a meeting ({call_site()})"
            given = self._queue.num_calls, call, ended, self._members, reasons
            raise DistBackendError(failure.gone_text(name, *given))

    # What is under way

    def under_way(self) -> str:
        """The current call, its number, its source line if another thread runs it, and
        its duration; empty if there is none.
        """
        queue = self._queue
        call, since, site = queue.last, queue.since, queue.site
        if call is None or not since:
            return ""
        number = f"#{queue.num_calls} of group {self.group_name or 'default'!r}"
        seconds = time.monotonic() - since
        return f"{self._describe(call, site)}, {number}, for {seconds:.1f} s"

    def whereabouts(self) -> dict[int, str]:
        """What each rank is doing, by its global rank."""
        found = {}
        for rank, number in enumerate(self._global_ranks):
            is_own = rank == self._rank
            text = own_whereabouts() if is_own else self._transport.where(rank, 1.0)
            found[number] = text or "no answer: it has ended or runs no Python code"
        return found


def running_groups() -> list[RunningGroup]:
    """The groups of this process."""
    return sorted(_groups, key=lambda group: group.group_name or "")


def _leave_to_parent() -> None:
    """In a forked process: its groups are the parent's."""
    for group in list(_groups):
        group._broken = (
            "this process was forked from one with process groups, which are the "
            "parent's; call init_process_group here, or start processes by spawn"
        )


os.register_at_fork(after_in_child=_leave_to_parent)


def own_whereabouts() -> str:
    """The current calls of this process's groups, and its main thread's location."""
    running = [group.under_way() for group in list(_groups)]
    return "; ".join([*filter(None, running), main_thread_place()])
