"""A worker's end: it calls others, and runs what they call."""

from __future__ import annotations

import contextlib
import hmac
import itertools
import json
import os
import secrets
import socket
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pellucid.distributed._stores.store import Store
from pellucid.distributed.rpc import wire
from pellucid.futures import Future


@dataclass(frozen=True)
class WorkerInfo:
    """A worker's name and number."""

    name: str
    id: int

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, name={self.name})"


class _Waiter:
    """A thread that waits for the reply to its call, and unpickles it itself."""

    def __init__(self) -> None:
        self.message: wire.Message | None = None
        self._lock = threading.Lock()
        self._lock.acquire()

    def wake(self, message: wire.Message | None) -> None:
        """Hands the reply over; None: there will be none."""
        self.message = message
        self._lock.release()

    def wait(self, seconds: float) -> bool:
        """Whether it was woken within so many seconds; 0 is for ever."""
        return self._lock.acquire(timeout=seconds or -1)


class _Peer:
    """The connection to a worker, for the calls of this one."""

    def __init__(self, connection: socket.socket, shown: str) -> None:
        self.connection, self.shown = connection, shown
        self.lock = threading.Lock()
        self.waiting: dict[int, tuple[Future | _Waiter, list[Any]]] = {}
        self.is_lost = False

    def lost(self) -> RuntimeError:
        """What those who wait for its answers get."""
        return RuntimeError(f"worker {self.shown} has ended before it answered")


class _Caller:
    """A connection from a worker, whose calls a few threads read and run in turn."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.reader = connection, wire.Reader(connection)
        self.lock, self.reading = threading.Lock(), threading.Lock()
        self.num_threads = self.num_idle = 0
        self.is_known = False


class Agent:
    """Knows all workers by name once it is made."""

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
        self._sent: dict[tuple[int, int], list[Any]] = {}  # references in results
        self._connections: set[socket.socket] = set()
        if rank == 0:
            store.set("key", secrets.token_hex(wire.KEY_BYTES))
        self._key = bytes.fromhex(store.get("key").decode())
        self._listener = socket.create_server((host, 0), backlog=size)
        address = (name, host, self._listener.getsockname()[1], os.getpid())
        store.set(f"worker/{rank}", json.dumps(address))
        threading.Thread(target=self._accept, daemon=True, name="rpc").start()
        texts = store.multi_get([f"worker/{other}" for other in range(size)])
        self._addresses = [json.loads(text) for text in texts]
        self.workers = [
            WorkerInfo(address[0], number)
            for number, address in enumerate(self._addresses)
        ]
        if len({worker.name for worker in self.workers}) != size:
            raise RuntimeError(f"names of workers must differ: {self.workers}")

    def worker(self, to: Any) -> WorkerInfo:
        """Of a name, a number or a WorkerInfo."""
        if isinstance(to, WorkerInfo):
            return to
        for worker in self.workers:
            if to in (worker.name, worker.id):
                return worker
        raise RuntimeError(f"there is no worker {to!r}; there are {self.workers}")

    # Calling

    def _peer(self, number: int) -> _Peer:
        with self._lock:
            peer = self._peers.get(number)
            if peer is None or peer.is_lost:
                name, host, port, pid = self._addresses[number]
                connection = socket.create_connection((host, port), timeout=60)
                connection.settimeout(None)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.sendall(self._key)
                peer = _Peer(connection, f"{name} ({host}, pid {pid})")
                self._peers[number] = peer
                threading.Thread(
                    target=self._read_replies, args=(peer,), daemon=True, name="rpc"
                ).start()
            return peer

    def call(
        self, to: WorkerInfo, function: Callable[..., Any], args: Any, kwargs: Any
    ) -> Future:
        """A Future of ``function(*args, **kwargs)`` there."""
        future = Future()
        self._post(to, (function, args, kwargs), future)
        return future

    def ask(
        self,
        to: WorkerInfo,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        seconds: float,
    ) -> Any:
        """What ``function(*args, **kwargs)`` gives there, waited for by this thread;
        TimeoutError after so many seconds (0: never).
        """
        waiter = _Waiter()
        peer = self._post(to, (function, args, kwargs), waiter)
        if not waiter.wait(seconds):
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
        content, held = wire.dump((*call, context))
        try:
            peer = self._peer(to.id)
            number = next(self._numbers)
            with peer.lock:
                if peer.is_lost:
                    raise ConnectionError("the connection has closed")
                peer.waiting[number] = receiver, held
                wire.send(peer.connection, wire.CALL, number, content)
        except OSError as error:
            raise RuntimeError(f"worker {to.name} cannot be called: {error}") from None
        return peer

    def _read_replies(self, peer: _Peer) -> None:
        reader = wire.Reader(peer.connection)
        # Closed, here or there; shut down without waiting for answers.
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            while True:
                message = reader.receive()
                with peer.lock:
                    receiver = peer.waiting.pop(message.number)[0]
                if isinstance(receiver, _Waiter):
                    receiver.wake(message)
                else:
                    self._pool.submit(self._settle, peer, receiver, message)
                del receiver, message  # they may hold references
        with peer.lock:
            peer.is_lost = True
            lost, peer.waiting = peer.waiting, {}
        for receiver, _ in lost.values():
            if isinstance(receiver, _Waiter):
                receiver.wake(None)
            else:
                receiver.set_exception(peer.lost())

    def _loaded(self, peer: _Peer, message: wire.Message) -> Any:
        value = wire.load(message.content)
        if message.kind & wire.HOLDS:
            with peer.lock:
                nothing = wire.Pickled(b"", [])
                wire.send(peer.connection, wire.RECEIVED, message.number, nothing)
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
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connections.add(connection)
            self._add_thread(_Caller(connection))

    def _add_thread(self, caller: _Caller) -> None:
        with caller.lock:
            caller.num_threads += 1
            caller.num_idle += 1
        threading.Thread(
            target=self._read_calls, args=(caller,), daemon=True, name="rpc"
        ).start()

    def _read_calls(self, caller: _Caller) -> None:
        """One thread reads; it runs what it has read, while the next one reads."""
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            while True:
                with caller.reading:
                    message = self._next_call(caller)
                    with caller.lock:
                        caller.num_idle -= 1
                    if not caller.num_idle and caller.num_threads < self._num_threads:
                        self._add_thread(caller)
                if message.kind == wire.RECEIVED:
                    self._sent.pop((id(caller), message.number), None)
                else:
                    self._serve(caller, message)
                del message  # it may hold references
                with caller.lock:
                    caller.num_idle += 1
        self._connections.discard(caller.connection)
        caller.connection.close()

    def _next_call(self, caller: _Caller) -> wire.Message:
        if not caller.is_known:
            key = caller.reader.read(len(self._key))
            if not hmac.compare_digest(key, self._key):
                raise ConnectionError("this is no worker of the job")
            caller.is_known = True
        return caller.reader.receive()

    def _serve(self, caller: _Caller, message: wire.Message) -> None:
        def answer(kind: int, value: Any) -> None:
            with wire.recording(context):
                reply, held = wire.dump(value)
            if held:
                kind |= wire.HOLDS
                self._sent[id(caller), message.number] = held
            with contextlib.suppress(OSError), caller.lock:
                wire.send(caller.connection, kind, message.number, reply)

        context = None
        try:
            function, args, kwargs, context = wire.load(message.content)
            with wire.recording(context):
                value = function(*args, **kwargs)
            if isinstance(value, Future) and is_asynchronous(function, args):
                value.add_done_callback(lambda done: self._answer_later(done, answer))
                return
            answer(wire.RESULT, value)
        except Exception as error:
            answer(wire.ERROR, self._portable(error))

    def _answer_later(self, done: Future, answer: Callable[[int, Any], None]) -> None:
        try:
            value = done.value()
        except Exception as error:
            answer(wire.ERROR, self._portable(error))
            return
        answer(wire.RESULT, value)

    def _portable(self, error: Exception) -> Exception:
        """With the worker and its traceback in the message, of the same type if that
        takes one text.
        """
        text = "".join(traceback.format_exception(error))
        message = f"On {self.own}:\n{error!r}\n{text}"
        try:
            made = type(error)(message)
            wire.load(wire.dump(made)[0])
            return made
        except Exception:
            return RuntimeError(message)

    # Ending

    def settle(self) -> None:
        """Waits for the answers to all calls of this worker."""
        for peer in list(self._peers.values()):
            with peer.lock:
                receivers = [receiver for receiver, _ in peer.waiting.values()]
            for receiver in receivers:
                if isinstance(receiver, Future):
                    with contextlib.suppress(Exception):  # its caller's to see
                        receiver.wait()

    def meet(self, name: str) -> None:
        """Waits until all workers are here."""
        if self._store.add(f"{name}/count", 1) == self._size:
            self._store.set(f"{name}/all", "1")
        self._store.wait([f"{name}/all"])

    def close(self) -> None:
        """Ends the connections and the pool."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for peer in self._peers.values():
            with contextlib.suppress(OSError):
                peer.connection.shutdown(socket.SHUT_RDWR)
            peer.connection.close()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._pool.shutdown(wait=False, cancel_futures=True)


def is_error(reply: wire.Message) -> bool:
    """Whether it is what the call raised."""
    return reply.kind & ~wire.HOLDS == wire.ERROR


def is_asynchronous(function: Any, args: Any) -> bool:
    """Whether a call's Future is to be waited for: by ``async_execution``."""
    named = getattr(function, "_is_async_execution", False)
    method = args[1] if len(args) > 1 and isinstance(args[1], str) else None
    if method is not None and getattr(function, "_calls_methods", False):
        target = args[0].local_value()
        return bool(getattr(getattr(target, method), "_is_async_execution", False))
    return bool(named)
