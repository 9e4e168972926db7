"""The calls to a worker: connections from the workers that call it, and the threads
that run their calls.

A thread that reads a call runs it and reads on; when the call takes more than a
millisecond, or the next one has come, another thread reads meanwhile. Read next:
``outgoing.py``, the other end.
"""

from __future__ import annotations

import contextlib
import hmac
import socket
import threading
import time
import traceback
from functools import partial
from typing import Any

from pellucid.distributed.rpc import wire
from pellucid.distributed.rpc.workers import Workers
from pellucid.futures import Future

_LONG_CALL_SECONDS = 1e-3  # seconds after which another thread continues reading


class Caller:
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


class Incoming:
    """The connections of a worker from those that call it, of a ``listener``."""

    def __init__(
        self, workers: Workers, listener: socket.socket, num_threads: int
    ) -> None:
        self._workers, self._listener = workers, listener
        self._num_threads = num_threads
        self._sent: dict[tuple[int, int], Any] = {}  # kept until received
        self._callers: set[Caller] = set()
        self._num_calls, self._is_closed = 0, False
        self._is_active = threading.Event()  # set when calls arrive, for the watchdog
        for run in (self._accept, self._watch):
            threading.Thread(target=run, daemon=True, name="rpc").start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # shut down
                return
            caller = Caller(connection)
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

    def _add_thread(self, caller: Caller) -> None:
        with caller.lock:
            caller.num_threads += 1
            caller.num_idle += 1
        threading.Thread(
            target=self._read_calls, args=(caller,), daemon=True, name="rpc"
        ).start()

    def _fill_threads(self, caller: Caller) -> None:
        if not caller.num_idle and caller.num_threads < self._num_threads:
            self._add_thread(caller)

    def _read_calls(self, caller: Caller) -> None:
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
            self._workers.note_end(caller.worker)
        for key in [key for key in list(self._sent) if key[0] == id(caller)]:
            self._sent.pop(key, None)
        caller.channel.shut_down()

    def _run(self, caller: Caller, message: wire.Message) -> bool:
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

    def _next_call(self, caller: Caller) -> wire.Message:
        if not caller.is_known:
            channel = caller.channel
            key = channel.read(len(self._workers.key))
            if not hmac.compare_digest(key, self._workers.key):
                raise ConnectionError("this is not a worker of the job")
            caller.worker, caller.reads_ours = wire.GREETING.unpack(
                channel.read(wire.GREETING.size)
            )
            channel.pid = self._workers.readable_pid(caller.worker)
            channel.write(wire.YES if channel.pid else wire.NO)
            caller.is_known = True
        message = caller.channel.receive()
        assert message is not None  # it waits
        return message

    def _serve(self, caller: Caller, message: wire.Message) -> None:
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
        self, caller: Caller, number: int, context: Any, kind: int, value: Any
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
        self, caller: Caller, number: int, context: Any, done: Future
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
        message = f"On {self._workers.own}:\n{error!r}\n{text}"
        try:
            copy = type(error)(message)
            wire.load(wire.dump(copy)[0])
            return copy
        except Exception:
            return RuntimeError(message)

    def close(self) -> None:
        """Closes the listener and the connections."""
        self._is_closed = True
        self._is_active.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for caller in list(self._callers):
            caller.channel.shut_down()


def is_asynchronous(function: Any, args: Any) -> bool:
    """Whether to wait for the Future that a call returns (``async_execution``)."""
    named = getattr(function, "_is_async_execution", False)
    method = args[1] if len(args) > 1 and isinstance(args[1], str) else None
    if method is not None and getattr(function, "_calls_methods", False):
        target = args[0].local_value()
        return bool(getattr(getattr(target, method), "_is_async_execution", False))
    return bool(named)
