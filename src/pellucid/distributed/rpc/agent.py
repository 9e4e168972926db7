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
from pellucid.distributed._stores.wire import read_exactly
from pellucid.distributed.rpc import wire
from pellucid.futures import Future


@dataclass(frozen=True)
class WorkerInfo:
    """A worker's name and number."""

    name: str
    id: int

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, name={self.name})"


class _Peer:
    """The connection to a worker, for the calls of this one."""

    def __init__(self, connection: socket.socket, shown: str) -> None:
        self.connection, self.shown = connection, shown
        self.lock = threading.Lock()
        self.waiting: dict[int, tuple[Future, list[Any]]] = {}
        self.is_lost = False


class Agent:
    """Knows all workers by name once it is made."""

    def __init__(
        self, name: str, rank: int, size: int, store: Store, threads: int, host: str
    ) -> None:
        self.own = WorkerInfo(name, rank)
        self._store, self._size = store, size
        self._numbers = itertools.count()
        self._pool = ThreadPoolExecutor(threads, "rpc")
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
        data, held = wire.dump((function, args, kwargs))
        future = Future()
        try:
            peer = self._peer(to.id)
            number = next(self._numbers)
            with peer.lock:
                if peer.is_lost:
                    raise ConnectionError("the connection has closed")
                peer.waiting[number] = future, held
                wire.send(peer.connection, wire.CALL, number, data)
        except OSError as error:
            raise RuntimeError(f"worker {to.name} cannot be called: {error}") from None
        return future

    def _read_replies(self, peer: _Peer) -> None:
        with contextlib.suppress(OSError):
            while True:
                kind, number, data = wire.receive(peer.connection)
                with peer.lock:
                    future = peer.waiting.pop(number)[0]
                self._pool.submit(self._settle, peer, future, kind, number, data)
                del future, data  # they may hold references
        with peer.lock:
            peer.is_lost = True
            lost, peer.waiting = peer.waiting, {}
        for future, _ in lost.values():
            future.set_exception(
                RuntimeError(f"worker {peer.shown} has ended before it answered")
            )

    def _settle(
        self, peer: _Peer, future: Future, kind: int, number: int, data: bytes
    ) -> None:
        try:
            value, has_references = wire.load(data)
            if has_references:
                with peer.lock:
                    wire.send(peer.connection, wire.RECEIVED, number, b"")
        except Exception as error:
            future.set_exception(error)
            return
        if kind == wire.ERROR:
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
            threading.Thread(
                target=self._read_calls, args=(connection,), daemon=True, name="rpc"
            ).start()

    def _read_calls(self, connection: socket.socket) -> None:
        lock = threading.Lock()
        with contextlib.suppress(OSError, RuntimeError):
            if not hmac.compare_digest(
                read_exactly(connection, len(self._key)), self._key
            ):
                raise ConnectionError("this is no worker of the job")
            while True:
                kind, number, data = wire.receive(connection)
                if kind == wire.RECEIVED:
                    self._sent.pop((id(connection), number), None)
                else:
                    self._pool.submit(self._serve, connection, lock, number, data)
        self._connections.discard(connection)
        connection.close()

    def _serve(
        self, connection: socket.socket, lock: threading.Lock, number: int, data: bytes
    ) -> None:
        def answer(kind: int, value: Any) -> None:
            reply, held = wire.dump((value, False))
            if held:
                reply, held = wire.dump((value, True))
                self._sent[id(connection), number] = held
            with contextlib.suppress(OSError), lock:
                wire.send(connection, kind, number, reply)

        try:
            function, args, kwargs = wire.load(data)
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


def is_asynchronous(function: Any, args: Any) -> bool:
    """Whether a call's Future is to be waited for: by ``async_execution``."""
    named = getattr(function, "_is_async_execution", False)
    method = args[1] if len(args) > 1 and isinstance(args[1], str) else None
    if method is not None and getattr(function, "_calls_methods", False):
        target = args[0].local_value()
        return bool(getattr(getattr(target, method), "_is_async_execution", False))
    return bool(named)
