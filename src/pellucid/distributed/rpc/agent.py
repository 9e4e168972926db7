"""A worker's agent: calls other workers, and runs their calls."""

from __future__ import annotations

import contextlib
import datetime
import hmac
import itertools
import json
import os
import queue
import secrets
import socket
import struct
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from pellucid.distributed._distributed import read_memory
from pellucid.distributed._stores.store import Store
from pellucid.distributed.errors import DistError, DistStoreError
from pellucid.distributed.rpc import wire
from pellucid.futures import Future

_GREETING = struct.Struct("!Q?")  # the caller's rank; can it read our memory
_YES, _NO = b"\1", b"\0"
_LONG_CALL_SECONDS = 1e-3  # seconds after which another thread continues reading


@dataclass(frozen=True)
class WorkerInfo:
    """A worker's name and rank."""

    name: str
    id: int

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, name={self.name})"


class _Waiter:
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


class _Peer:
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
        self.waiting: dict[int, tuple[Future | _Waiter, Any]] = {}
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


class _Caller:
    """A connection from a worker, whose calls a few threads read and run in turn.

    The holder of ``reading`` reads a call and runs it; ``turn`` is the start time. If
    it takes long, the agent's watchdog passes ``reading`` to another thread. The holder
    of ``sending`` writes a reply.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.channel = wire.Channel(connection)
        self.lock, self.reading = threading.Lock(), threading.Lock()
        self.sending = threading.Lock()
        self.num_threads = self.num_idle = 0
        self.turn: list[float] | None = None
        self.is_known = self.reads_ours = False
        self.worker = -1

    def hand_over(self, before: float) -> bool:
        """Lets another thread read if the current call started at this time or
        before.
        """
        with self.lock:
            if self.turn is None or self.turn[0] > before:
                return False
            self.turn = None
            self.reading.release()
            return True


class Agent:
    """The agent; knows all workers by name after construction."""

    def __init__(
        self, name: str, rank: int, size: int, store: Store, threads: int, host: str
    ) -> None:
        self.own = WorkerInfo(name, rank)
        self._store, self._size = store, size
        self._numbers = itertools.count()
        self._pool = ThreadPoolExecutor(threads, "rpc")
        self._num_threads = threads
        self._lock = threading.Lock()
        self._peers: dict[int, _Peer] = {}
        self._sent: dict[tuple[int, int], Any] = {}  # kept until received
        self._callers: set[_Caller] = set()
        self._num_calls, self._is_closed = 0, False
        self._ended: set[int] = set()  # workers whose connections have closed
        self._is_active = threading.Event()  # set when calls arrive, for the watchdog
        self._token = bytearray(secrets.token_bytes(wire.KEY_BYTES))
        if rank == 0:
            store.set("key", secrets.token_hex(wire.KEY_BYTES))
        self._key = bytes.fromhex(store.get("key").decode())
        self._listener = socket.create_server((host, 0), backlog=size)
        port, pid = self._listener.getsockname()[1], os.getpid()
        token = wire.address_of(self._token), self._token.hex()
        store.set(f"worker/{rank}", json.dumps((name, host, port, pid, *token)))
        texts = store.multi_get([f"worker/{other}" for other in range(size)])
        self._addresses = [json.loads(text) for text in texts]
        self._readable = [n for n in range(size) if self._readable_pid(n)]
        self._later: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        for run in (self._accept, self._watch, self._run_later):
            threading.Thread(target=run, daemon=True, name="rpc").start()
        self.workers = [
            WorkerInfo(address[0], number)
            for number, address in enumerate(self._addresses)
        ]
        self._named: dict[str | int, WorkerInfo] = dict(enumerate(self.workers))
        self._named |= {worker.name: worker for worker in self.workers}
        if len(self._named) != 2 * size:
            raise RuntimeError(f"names of workers must differ: {self.workers}")

    def worker(self, to: Any) -> WorkerInfo:
        """The WorkerInfo of a name, a rank or a WorkerInfo."""
        if isinstance(to, WorkerInfo):
            return to
        info = self._named.get(to)
        if info is not None:
            return info
        raise RuntimeError(f"there is no worker {to!r}; there are {self.workers}")

    # Calling

    def _peer(self, number: int) -> _Peer:
        known = self._peers.get(number)
        if known is not None and not known.is_lost:
            return known
        with self._lock:
            if self._is_closed:
                raise ConnectionError("RPC has been shut down")
            peer = self._peers.get(number)
            if peer is None or peer.is_lost:
                _, host, port, *_ = self._addresses[number]
                connection = socket.create_connection((host, port), timeout=60)
                pid = self._readable_pid(number)
                connection.sendall(self._key + _GREETING.pack(self.own.id, bool(pid)))
                answer = connection.recv(1)
                if not answer:
                    raise ConnectionError("the connection has closed")
                peer = _Peer(wire.Channel(connection), number, self._shown(number))
                peer.channel.pid, peer.reads_ours = pid, answer == _YES
                self._peers[number] = peer
                threading.Thread(
                    target=self._read_replies, args=(peer,), daemon=True, name="rpc"
                ).start()
            return peer

    def _shown(self, number: int) -> str:
        name, host, _, pid, *_ = self._addresses[number]
        return f"{name} ({host}, pid {pid})"

    def _readable_pid(self, number: int) -> int:
        """The pid of a worker whose memory this process can read, else 0."""
        *_, pid, address, token = self._addresses[number]
        buffer = bytearray(len(token) // 2)
        is_read = read_memory(pid, address, buffer)
        return pid if is_read and buffer.hex() == token else 0

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
        waiter = _Waiter()
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

    def _post(self, to: WorkerInfo, call: Any, receiver: Future | _Waiter) -> _Peer:
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
            is_sync = peer.reads_ours and isinstance(receiver, _Waiter)
            reads = is_sync and wire.is_to_be_read(content)
            kind = wire.CALL | (wire.READS if reads else 0)
            with peer.sending:
                peer.channel.send(kind, number, content)
        except OSError as error:
            shown = self._shown(to.id)
            raise RuntimeError(f"worker {shown} cannot be called: {error}") from None
        return peer

    def _read_replies(self, peer: _Peer) -> None:
        """The agent's thread for a peer."""
        while not peer.is_lost:
            peer.is_needed.acquire()
            peer.reading.acquire()
            while self._has_waiting(peer) and self._read_reply(peer):
                pass
            peer.stop_reading()

    def _has_waiting(self, peer: _Peer) -> bool:
        with peer.lock:
            return bool(peer.waiting)

    def _read_for(self, peer: _Peer, waiter: _Waiter, seconds: float) -> bool:
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

    def _read_reply(self, peer: _Peer, seconds: float = 0.0) -> bool | None:
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
            if isinstance(receiver, _Waiter):
                if not receiver.is_abandoned:
                    receiver.wake(message)
                    return True
                receiver = Future()  # no one waits for it
        try:
            self._pool.submit(self._settle, peer, receiver, message)
        except RuntimeError:  # shut down without waiting for answers
            receiver.set_exception(peer.lost())
        return True

    def _lose(self, peer: _Peer) -> None:
        with peer.lock:
            peer.is_lost = True
            lost, peer.waiting = peer.waiting, {}
        self._ended.add(peer.worker)
        peer.is_needed.release()  # its thread ends
        for receiver, _ in lost.values():
            if isinstance(receiver, _Waiter):
                receiver.wake(None)
            else:
                receiver.set_exception(peer.lost())

    def _loaded(self, peer: _Peer, message: wire.Message) -> Any:
        value = wire.load(message)
        if message.kind & wire.HOLDS:
            nothing = wire.Message(b"", [])
            with contextlib.suppress(OSError), peer.sending:
                peer.channel.send(wire.RECEIVED, message.number, nothing)
        return value

    def _settle(self, peer: _Peer, future: Future, message: wire.Message) -> None:
        try:
            value = self._loaded(peer, message)
        except Exception as error:
            future.set_exception(error)
            return
        if is_error(message):
            future.set_exception(value)
        else:
            future.set_result(value)

    # Being called

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # shut down
                return
            caller = _Caller(connection)
            self._callers.add(caller)
            self._add_thread(caller)

    def _watch(self) -> None:
        """The watchdog: long calls must not block others."""
        before = self._num_calls
        while not self._is_closed:
            self._is_active.wait()
            time.sleep(_LONG_CALL_SECONDS)
            now = time.monotonic()
            for caller in list(self._callers):
                if caller.hand_over(now - _LONG_CALL_SECONDS):
                    self._fill_threads(caller)
            if not self._has_calls_since(before):
                self._is_active.clear()
                # A call that began earlier did not need to set it.
                if self._has_calls_since(before) or self._is_closed:
                    self._is_active.set()
            before = self._num_calls

    def _has_calls_since(self, count: int) -> bool:
        """Whether calls are running, or have arrived since a count."""
        callers = list(self._callers)
        return self._num_calls != count or any(c.turn is not None for c in callers)

    def _add_thread(self, caller: _Caller) -> None:
        with caller.lock:
            caller.num_threads += 1
            caller.num_idle += 1
        threading.Thread(
            target=self._read_calls, args=(caller,), daemon=True, name="rpc"
        ).start()

    def _fill_threads(self, caller: _Caller) -> None:
        if not caller.num_idle and caller.num_threads < self._num_threads:
            self._add_thread(caller)

    def _read_calls(self, caller: _Caller) -> None:
        """Reads and runs calls until another thread reads."""
        is_reading = False
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            while True:
                if not is_reading:
                    caller.reading.acquire()
                try:
                    message = self._next_call(caller)
                except BaseException:
                    caller.reading.release()
                    raise
                is_reading = self._run(caller, message)
                del message  # it may hold references
        self._callers.discard(caller)
        if caller.is_known:
            self._ended.add(caller.worker)
        for key in [key for key in list(self._sent) if key[0] == id(caller)]:
            self._sent.pop(key, None)
        caller.channel.shut_down()

    def _run(self, caller: _Caller, message: wire.Message) -> bool:
        """Runs a call; returns whether this thread still reads."""
        if message.kind == wire.RECEIVED:
            self._sent.pop((id(caller), message.number), None)
            return True
        turn = [time.monotonic()]
        with caller.lock:
            caller.num_idle -= 1
            caller.turn = turn
        self._num_calls += 1
        if not self._is_active.is_set():
            self._is_active.set()
        if caller.channel.has_more() and caller.hand_over(turn[0]):
            self._fill_threads(caller)
        self._serve(caller, message)
        with caller.lock:
            caller.num_idle += 1
            is_reading = caller.turn is turn
            if is_reading:
                caller.turn = None
        return is_reading

    def _next_call(self, caller: _Caller) -> wire.Message:
        if not caller.is_known:
            channel = caller.channel
            key = channel.read(len(self._key))
            if not hmac.compare_digest(key, self._key):
                raise ConnectionError("this is not a worker of the job")
            caller.worker, caller.reads_ours = _GREETING.unpack(
                channel.read(_GREETING.size)
            )
            channel.pid = self._readable_pid(caller.worker)
            channel.write(_YES if channel.pid else _NO)
            caller.is_known = True
        message = caller.channel.receive()
        assert message is not None  # it waits
        return message

    def _serve(self, caller: _Caller, message: wire.Message) -> None:
        context = None
        try:
            function, args, kwargs, context = wire.load_call(message)
            with wire.recording(context):
                value = function(*args, **kwargs)
            if isinstance(value, Future) and is_asynchronous(function, args):
                answer = partial(self._answer_later, caller, message.number, context)
                value.add_done_callback(answer)
                return
            self._answer(caller, message.number, context, wire.RESULT, value)
        except Exception as error:
            failure = self._portable(error)
            self._answer(caller, message.number, context, wire.ERROR, failure)

    def _answer(
        self, caller: _Caller, number: int, context: Any, kind: int, value: Any
    ) -> None:
        with wire.recording(context):
            reply, references = wire.dump(value)
        reads = caller.reads_ours and wire.is_to_be_read(reply)
        if references or reads:
            kind |= wire.HOLDS | (wire.READS if reads else 0)
            self._sent[id(caller), number] = references, reply
        try:
            with caller.sending:
                caller.channel.send(kind, number, reply)
        except OSError:
            pass  # the caller has ended

    def _answer_later(
        self, caller: _Caller, number: int, context: Any, done: Future
    ) -> None:
        try:
            value = done.value()
        except Exception as error:
            failure = self._portable(error)
            self._answer(caller, number, context, wire.ERROR, failure)
            return
        self._answer(caller, number, context, wire.RESULT, value)

    def _portable(self, error: Exception) -> Exception:
        """The exception with the worker's traceback in the message, of the same type if
        its constructor takes one string.
        """
        text = "".join(traceback.format_exception(error))
        message = f"On {self.own}:\n{error!r}\n{text}"
        try:
            copy = type(error)(message)
            wire.load(wire.dump(copy)[0])
            return copy
        except Exception:
            return RuntimeError(message)

    # Ending

    def later(self, run: Callable[[], None]) -> None:
        """Runs a function on an agent's thread: for finalizers, which must not take
        locks, since the interrupted thread may hold them.
        """
        self._later.put(run)

    def _run_later(self) -> None:
        for run in iter(self._later.get, None):
            with contextlib.suppress(Exception):  # no one to report it to
                run()

    def settle(self) -> None:
        """Waits for the replies to all calls of this worker and its finalizers."""
        is_reached = threading.Event()
        self.later(is_reached.set)
        is_reached.wait()
        for peer in list(self._peers.values()):
            with peer.lock:
                receivers = [receiver for receiver, _ in peer.waiting.values()]
            for receiver in receivers:
                if isinstance(receiver, Future):
                    with contextlib.suppress(Exception):  # its caller's to see
                        receiver.wait()

    def meet(self, name: str) -> None:
        """Waits for all workers; RuntimeError if one has ended."""
        key = f"{name}/all"
        if self._store.add(f"{name}/count", 1) == self._size:
            self._store.set(key, "1")
        end = time.monotonic() + self._store.timeout.total_seconds()
        while True:
            left = max(end - time.monotonic(), 0)
            try:
                self._store.wait([key], datetime.timedelta(seconds=min(left, 0.5)))
                return
            except DistStoreError:
                ended = self._ended_workers()
                if self._store.check([key]):  # they had arrived and continued
                    return
                if ended:
                    shown = ", ".join(self._shown(number) for number in ended)
                    raise RuntimeError(
                        f"workers have ended before the {name} of RPC: {shown}. "
                        "shutdown(graceful=False) does not wait for them"
                    ) from None
                if not left:
                    raise

    def _ended_workers(self) -> list[int]:
        """The workers that are known to have ended or shut down."""
        gone = {n for n in self._readable if not self._readable_pid(n)}
        return sorted(gone | self._ended)

    def leave(self) -> None:
        """Waits until all workers leave; worker 0, which may host the store, also until
        the others have read this.
        """
        self.meet("end")
        if self.own.id == 0:
            with contextlib.suppress(DistError):  # a worker died after the barrier
                if self._size > 1:
                    self._store.wait(["end/read"], datetime.timedelta(seconds=60))
            return
        with contextlib.suppress(
            DistError
        ):  # an answer that worker 0 left too early for
            if self._store.add("end/readers", 1) == self._size - 1:
                self._store.set("end/read", "1")

    def close(self) -> None:
        """Closes the connections and the thread pool."""
        self._is_closed = True
        self._is_active.set()
        self._later.put(None)
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            peers = list(self._peers.values())
        for peer in peers:
            peer.channel.shut_down()
            self._lose(peer)
        for caller in list(self._callers):
            caller.channel.shut_down()
        self._pool.shutdown(wait=False)


def is_error(reply: wire.Message) -> bool:
    """Whether the reply is an exception of the call."""
    return reply.kind & ~wire.HOLDS == wire.ERROR


def is_asynchronous(function: Any, args: Any) -> bool:
    """Whether to wait for the Future that a call returns (``async_execution``)."""
    named = getattr(function, "_is_async_execution", False)
    method = args[1] if len(args) > 1 and isinstance(args[1], str) else None
    if method is not None and getattr(function, "_calls_methods", False):
        target = args[0].local_value()
        return bool(getattr(getattr(target, method), "_is_async_execution", False))
    return bool(named)
