"""The calls of a worker: connections to the workers that it calls, and their replies.

A thread that waits for a reply reads the connection itself, unless another one does,
which then hands it over. Read next: ``incoming.py``, the other end.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pellucid.distributed.rpc import wire
from pellucid.distributed.rpc.workers import WorkerInfo, Workers
from pellucid.futures import Future


class Waiter:
    """A thread that waits for the reply to its call, and unpickles it itself."""

    def __init__(self) -> None:
        self.message: wire.Message | None = None
        self.is_done = self.is_abandoned = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def wake(self, message: wire.Message | None) -> None:
        """Delivers the reply; None if there will be none."""
        self.message, self.is_done = message, True
        self._lock.release()

    def wait(self, seconds: float) -> bool:
        """Whether it was woken within so many seconds; 0 means no limit."""
        return self._lock.acquire(timeout=seconds or -1)


class Peer:
    """The connection to a worker, for the calls of this one.

    The holder of ``reading`` reads replies for all: a thread that waits for one, or the
    agent's thread if none does. The holder of ``sending`` writes a call; it may block
    until the worker reads, so replies never wait for it. ``lock`` guards everything
    else.
    """

    def __init__(self, channel: wire.Channel, worker: int, shown: str) -> None:
        self.channel, self.worker, self.shown = channel, worker, shown
        self.lock, self.reading = threading.Lock(), threading.Lock()
        self.sending = threading.Lock()
        self.is_needed = threading.Semaphore(0)  # the agent's thread is, to read
        self.reads_ours = False  # the worker can read this one's memory
        # With objects that the worker may need until it has answered.
        self.waiting: dict[int, tuple[Future | Waiter, Any]] = {}
        self.is_lost = False

    def lost(self) -> RuntimeError:
        """The error for callers that wait for its replies."""
        return RuntimeError(f"worker {self.shown} has ended before it answered")

    def stop_reading(self) -> None:
        """Releases ``reading``; pending replies need another reader."""
        with self.lock:
            self.reading.release()
            is_needed = bool(self.waiting) and not self.is_lost
        if is_needed:
            self.is_needed.release()


class Outgoing:
    """The connections of a worker to those that it calls."""

    def __init__(self, workers: Workers, threads: int) -> None:
        self._workers = workers
        self._numbers = itertools.count()
        self._pool = ThreadPoolExecutor(threads, "rpc")
        self._lock = threading.Lock()
        self._peers: dict[int, Peer] = {}
        self._is_closed = False

    def call(
        self, to: WorkerInfo, function: Callable[..., Any], args: Any, kwargs: Any
    ) -> Future:
        """Calls ``function(*args, **kwargs)`` on a worker; returns a Future."""
        future = Future()
        self._post(to, (function, args, kwargs), future).is_needed.release()
        return future

    def ask(
        self,
        to: WorkerInfo,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        seconds: float,
    ) -> Any:
        """Calls ``function(*args, **kwargs)`` on a worker and waits in this thread;
        TimeoutError after so many seconds (0: never).
        """
        waiter = Waiter()
        peer = self._post(to, (function, args, kwargs), waiter)
        if peer.reading.acquire(blocking=False):
            is_done = self._read_for(peer, waiter, seconds)
        else:
            is_done = waiter.wait(seconds)
        if not is_done:
            with peer.lock:
                waiter.is_abandoned = not waiter.is_done
            if waiter.is_abandoned:
                raise TimeoutError
        if waiter.message is None:
            raise peer.lost()
        value = self._loaded(peer, waiter.message)
        if is_error(waiter.message):
            raise value
        return value

    def _peer(self, number: int) -> Peer:
        known = self._peers.get(number)
        if known is not None and not known.is_lost:
            return known
        with self._lock:
            if self._is_closed:
                raise ConnectionError("RPC has been shut down")
            peer = self._peers.get(number)
            if peer is None or peer.is_lost:
                connection = socket.create_connection(
                    self._workers.address(number), timeout=60
                )
                pid = self._workers.readable_pid(number)
                connection.sendall(
                    self._workers.key
                    + wire.GREETING.pack(self._workers.own.id, bool(pid))
                )
                answer = connection.recv(1)
                if not answer:
                    raise ConnectionError("the connection has closed")
                peer = Peer(
                    wire.Channel(connection), number, self._workers.shown(number)
                )
                peer.channel.pid, peer.reads_ours = pid, answer == wire.YES
                self._peers[number] = peer
                threading.Thread(
                    target=self._read_replies, args=(peer,), daemon=True, name="rpc"
                ).start()
            return peer

    def _post(self, to: WorkerInfo, call: Any, receiver: Future | Waiter) -> Peer:
        context = wire.recording_context()
        if context is not None:
            context.workers.add(to.id)
        content, references = wire.dump_call(call, context)
        try:
            peer = self._peer(to.id)
            number = next(self._numbers)
            with peer.lock:
                if peer.is_lost:
                    raise ConnectionError("the connection has closed")
                peer.waiting[number] = receiver, (references, content)
            # A waiting caller does not change the memory meanwhile.
            is_sync = peer.reads_ours and isinstance(receiver, Waiter)
            reads = is_sync and wire.is_to_be_read(content)
            kind = wire.CALL | (wire.READS if reads else 0)
            with peer.sending:
                peer.channel.send(kind, number, content)
        except OSError as error:
            shown = self._workers.shown(to.id)
            raise RuntimeError(f"worker {shown} cannot be called: {error}") from None
        return peer

    def _read_replies(self, peer: Peer) -> None:
        """The agent's thread for a peer."""
        while not peer.is_lost:
            peer.is_needed.acquire()
            peer.reading.acquire()
            while self._has_waiting(peer) and self._read_reply(peer):
                pass
            peer.stop_reading()

    def _has_waiting(self, peer: Peer) -> bool:
        with peer.lock:
            return bool(peer.waiting)

    def _read_for(self, peer: Peer, waiter: Waiter, seconds: float) -> bool:
        """Reads until the waiter has its reply; False after so many seconds."""
        end = time.monotonic() + seconds
        try:
            while not waiter.is_done:
                left = end - time.monotonic() if seconds else 0.0
                if (seconds and left <= 0) or self._read_reply(peer, left) is None:
                    return False
            return True
        finally:
            peer.stop_reading()

    def _read_reply(self, peer: Peer, seconds: float = 0.0) -> bool | None:
        """Delivers a reply to its receiver. False if the peer has ended, after failing
        all waiting callers; None: there is no reply within so many seconds (0: it
        waits).
        """
        try:
            message = peer.channel.receive(seconds)
        except OSError:  # closed, here or there
            self._lose(peer)
            return False
        if message is None:
            return None
        with peer.lock:
            if peer.is_lost:
                return False
            receiver = peer.waiting.pop(message.number)[0]
            if isinstance(receiver, Waiter):
                if not receiver.is_abandoned:
                    receiver.wake(message)
                    return True
                receiver = Future()  # no one waits for it
        try:
            self._pool.submit(self._settle, peer, receiver, message)
        except RuntimeError:  # shut down without waiting for answers
            receiver.set_exception(peer.lost())
        return True

    def _lose(self, peer: Peer) -> None:
        with peer.lock:
            peer.is_lost = True
            lost, peer.waiting = peer.waiting, {}
        self._workers.note_end(peer.worker)
        peer.is_needed.release()  # its thread ends
        for receiver, _ in lost.values():
            if isinstance(receiver, Waiter):
                receiver.wake(None)
            else:
                receiver.set_exception(peer.lost())

    def _loaded(self, peer: Peer, message: wire.Message) -> Any:
        value = wire.load(message)
        if message.kind & wire.HOLDS:
            nothing = wire.Message(b"", [])
            with contextlib.suppress(OSError), peer.sending:
                peer.channel.send(wire.RECEIVED, message.number, nothing)
        return value

    def _settle(self, peer: Peer, future: Future, message: wire.Message) -> None:
        try:
            value = self._loaded(peer, message)
        except Exception as error:
            future.set_exception(error)
            return
        if is_error(message):
            future.set_exception(value)
        else:
            future.set_result(value)

    def wait_for_replies(self) -> None:
        """Waits for the replies to all calls that have been made."""
        for peer in list(self._peers.values()):
            with peer.lock:
                receivers = [receiver for receiver, _ in peer.waiting.values()]
            for receiver in receivers:
                if isinstance(receiver, Future):
                    with contextlib.suppress(Exception):  # its caller's to see
                        receiver.wait()

    def close(self) -> None:
        """Closes the connections; callers that wait get an error."""
        self._is_closed = True
        with self._lock:
            peers = list(self._peers.values())
        for peer in peers:
            peer.channel.shut_down()
            self._lose(peer)
        self._pool.shutdown(wait=False)


def is_error(reply: wire.Message) -> bool:
    """Whether the reply is an exception of the call."""
    return reply.kind & ~wire.HOLDS == wire.ERROR
