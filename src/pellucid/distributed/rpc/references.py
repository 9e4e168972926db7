"""Remote calls, and ``RRef``: a reference to a value at its owner."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from pellucid.distributed.rpc import gradients, wire
from pellucid.distributed.rpc.agent import Agent
from pellucid.distributed.rpc.constants import UNSET_RPC_TIMEOUT
from pellucid.distributed.rpc.state import Identity, State, agent
from pellucid.distributed.rpc.workers import WorkerInfo
from pellucid.futures import Future


def result_of(future: Future, timeout: float) -> Any:
    """Waits for it; ``timeout`` 0 means no limit."""
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    seconds = _seconds(timeout)
    if not done.wait(seconds or None):
        raise _took_too_long(seconds)
    return future.value()


def _seconds(timeout: float) -> float:
    return State.timeout if timeout < 0 else timeout


def _took_too_long(seconds: float) -> RuntimeError:
    return RuntimeError(
        f"RPC ran for more than set timeout ({round(seconds * 1000)} ms) and will now "
        "be marked with an error"
    )


def _ask(
    worker: WorkerInfo,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    timeout: float,
) -> Any:
    """Calls a function on a worker without using a thread of the pool: all of those may
    be waiting in the same way, for references in results.
    """
    seconds = _seconds(timeout)
    try:
        return agent().ask(worker, function, args, kwargs, seconds)
    except TimeoutError:
        raise _took_too_long(seconds) from None


# Remote calls on the owner.


def add_reference(identity: Identity, change: int) -> None:
    """At the owner: adds or removes a reference."""
    State.table.count(identity, change)


def fetch(identity: Identity) -> Any:
    """At the owner: waits for the value."""
    return State.table.future(identity).wait()


def create(
    identity: Identity, function: Callable[..., Any], args: Any, kwargs: Any
) -> None:
    """At the owner: computes the value by the function."""
    future = State.table.future(identity)
    try:
        future.set_result(function(*args, **kwargs))
    except Exception as error:
        future.set_exception(error)
        raise


def call_method(reference: RRef, name: str, args: Any, kwargs: Any) -> Any:
    """At the owner: calls a method of the value."""
    return getattr(reference.local_value(), name)(*args, **kwargs)


call_method._calls_methods = True  # type: ignore[attr-defined]


def _backward_from(reference: RRef, context: int, retain_graph: bool) -> None:
    """Runs at the reference's owner."""
    root = reference.local_value()
    if context == -1:
        root.backward(retain_graph=retain_graph)
    else:
        gradients.backward(context, [root], retain_graph)


class RRef:
    """A reference to a value on any worker, which can be sent to any other worker.

    Example: ``rpc.remote("worker1", torch.ones, args=(2,)).to_here()``.
    """

    def __init__(self, value: Any, type_hint: Any = None) -> None:
        own = agent().own
        identity = own.id, next(State.numbers)
        State.table.future(identity).set_result(value)
        State.table.count(identity, 1)
        self._set(own, identity)

    def _set(self, owner: WorkerInfo, identity: Identity) -> None:
        self._owner, self._identity = owner, identity
        self._created: Future | None = None

    @classmethod
    def created_by(cls, owner: WorkerInfo, identity: Identity, done: Future) -> RRef:
        """A reference to a value that the owner is computing."""
        reference = cls.__new__(cls)
        reference._set(owner, identity)
        reference._created = done
        return reference

    def owner(self) -> WorkerInfo:
        """The worker that owns the value."""
        return self._owner

    def owner_name(self) -> str:
        """Its name."""
        return self._owner.name

    def is_owner(self) -> bool:
        """Whether it is this one."""
        return self._owner == agent().own

    def confirmed_by_owner(self) -> bool:
        """Whether the owner has the value."""
        return self._created is None or self._created.done()

    def confirm(self) -> None:
        """Waits until the owner has computed the value; raises the computation's
        error.
        """
        if self._created is not None:
            result_of(self._created, -1)

    def local_value(self) -> Any:
        """The value, at its owner."""
        if not self.is_owner():
            raise RuntimeError(
                f"Can't call localValue() on a non-owner: {self._owner} has the value; "
                "use to_here()"
            )
        return State.table.future(self._identity).wait()

    def backward(
        self, dist_autograd_ctx_id: int = -1, retain_graph: bool = False
    ) -> None:
        """Backward from the value, a tensor of one element: in a context of distributed
        autograd, or at its owner alone.
        """
        arguments = self, dist_autograd_ctx_id, retain_graph
        rpc_sync(self._owner, _backward_from, args=arguments)

    def to_here(self, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
        """A copy of the value."""
        if self.is_owner():
            return self.local_value()
        if self._created is not None:
            result_of(self._created, timeout)
        return _ask(self._owner, fetch, (self._identity,), {}, timeout)

    def rpc_sync(self, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
        """``ref.rpc_sync().method(x)``: calls a method at the owner."""
        return _Proxy(self, "rpc_sync", timeout)

    def rpc_async(self, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
        """The same, with a Future of the result."""
        return _Proxy(self, "rpc_async", timeout)

    def remote(self, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
        """The same, with an RRef of the result."""
        return _Proxy(self, "remote", timeout)

    def __reduce__(self) -> Any:
        self.confirm()
        wire.note_reference(self)
        return _received, (self._owner.id, self._identity)

    def __del__(self) -> None:
        current = State.agent
        if current is not None and hasattr(self, "_owner"):
            owner, identity = self._owner, self._identity
            current.later(lambda: _forget(current, owner, identity))

    def __repr__(self) -> str:
        return f"RRef(owner={self._owner.name}, id={self._identity})"


def _forget(current: Agent, owner: WorkerInfo, identity: Identity) -> None:
    """Notifies the owner that a reference was released."""
    if owner == current.own:
        add_reference(identity, -1)
    else:
        current.call(owner, add_reference, (identity, -1), {})


def _received(owner: int, identity: Identity) -> RRef:
    """A reference received in a message: the owner is notified before use."""
    current = agent()
    worker = current.workers[owner]
    if worker == current.own:
        add_reference(identity, 1)
    else:
        _ask(worker, add_reference, (identity, 1), {}, -1)
    reference = RRef.__new__(RRef)
    reference._set(worker, identity)
    return reference


class _Proxy:
    def __init__(self, reference: RRef, how: str, timeout: float) -> None:
        self._reference, self._how, self._timeout = reference, how, timeout

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            arguments = (self._reference, name, args, kwargs)
            start = _STARTS[self._how]
            owner = self._reference.owner()
            return start(owner, call_method, args=arguments, timeout=self._timeout)

        return call


def rpc_async(
    to: Any,
    func: Callable[..., Any],
    args: Any = None,
    kwargs: Any = None,
    timeout: float = UNSET_RPC_TIMEOUT,
) -> Future:
    """A Future of ``func(*args, **kwargs)`` on worker ``to``."""
    started = agent().call(_checked(to, func), func, tuple(args or ()), kwargs or {})
    return _Limited(started, timeout)


def _checked(to: Any, func: Callable[..., Any]) -> WorkerInfo:
    if not callable(func):
        raise TypeError(f"function should be callable, not {func!r}")
    return agent().worker(to)


class _Limited(Future):
    """A Future whose ``wait`` has the timeout of the call."""

    def __init__(self, started: Future, timeout: float) -> None:
        super().__init__()
        self._started, self._timeout = started, timeout
        started.add_done_callback(self._follow)

    def _follow(self, started: Future) -> None:
        try:
            value = started.value()
        except Exception as error:
            self.set_exception(error)
        else:
            self.set_result(value)

    def wait(self) -> Any:
        """The result; RuntimeError after the timeout."""
        return result_of(self, self._timeout)


def rpc_sync(
    to: Any,
    func: Callable[..., Any],
    args: Any = None,
    kwargs: Any = None,
    timeout: float = UNSET_RPC_TIMEOUT,
) -> Any:
    """Calls ``func(*args, **kwargs)`` on worker ``to`` and waits. Its exception is
    raised here, with the worker's name and traceback.
    """
    return _ask(_checked(to, func), func, tuple(args or ()), kwargs or {}, timeout)


def remote(
    to: Any,
    func: Callable[..., Any],
    args: Any = None,
    kwargs: Any = None,
    timeout: float = UNSET_RPC_TIMEOUT,
) -> RRef:
    """A reference to ``func(*args, **kwargs)``, which worker ``to`` computes and
    owns.
    """
    current = agent()
    worker = current.worker(to)
    identity = current.own.id, next(State.numbers)
    _ask(worker, add_reference, (identity, 1), {}, timeout)
    arguments = identity, func, tuple(args or ()), kwargs or {}
    done = current.call(worker, create, arguments, {})
    return RRef.created_by(worker, identity, done)


_STARTS = {"rpc_sync": rpc_sync, "rpc_async": rpc_async, "remote": remote}
