"""``DynamicRendezvousHandler``: machines that come and go, by one shared state.

The state has the machines of the current round, those that wait, and a count of each
machine's signs of life. A machine changes it by compare-and-set, and is dropped when
its count stands still.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import threading
import time
import weakref
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

from pellucid.distributed._stores.prefix_store import PrefixStore
from pellucid.distributed._stores.store import Store
from pellucid.distributed._stores.tcp_store import TCPStore
from pellucid.distributed.elastic.rendezvous.api import (
    RendezvousClosedError,
    RendezvousError,
    RendezvousHandler,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStateError,
    RendezvousStoreInfo,
    RendezvousTimeoutError,
)

__all__ = [
    "DynamicRendezvousHandler",
    "RendezvousBackend",
    "RendezvousSettings",
    "RendezvousTimeout",
    "Token",
    "create_handler",
]

Token = Any
"""Denotes a state of a backend, for compare-and-set."""

_LOOK = 0.05  # seconds between looks at the state


class RendezvousBackend(ABC):
    """Holds the state for all machines."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the engine."""

    @abstractmethod
    def get_state(self) -> tuple[bytes, Token] | None:
        """The state with its token; None before the first."""

    @abstractmethod
    def set_state(
        self, state: bytes, token: Token | None = None
    ) -> tuple[bytes, Token, bool] | None:
        """Replaces the state that ``token`` denotes; the state that is there then, and
        whether it is this one.
        """


class RendezvousTimeout:
    """How long to wait for enough machines, then for more; how long to try to close
    or to give a sign of life while other machines change the state.
    """

    def __init__(
        self,
        join: timedelta | None = None,
        last_call: timedelta | None = None,
        close: timedelta | None = None,
        heartbeat: timedelta | None = None,
    ) -> None:
        self.join = join or timedelta(seconds=600)
        self.last_call = last_call or timedelta(seconds=30)
        self.close = close or timedelta(seconds=30)
        self.heartbeat = heartbeat or timedelta(seconds=5)
        for name, value in vars(self).items():
            if value <= timedelta(0):
                raise ValueError(f"The {name} timeout ({value}) must be positive.")


@dataclass(repr=False, eq=False, frozen=True)
class RendezvousSettings:
    """Options of a handler."""

    run_id: str
    min_nodes: int
    max_nodes: int
    timeout: RendezvousTimeout
    keep_alive_interval: timedelta
    keep_alive_max_attempt: int


@dataclass
class _State:
    """What all machines see. ``nodes`` of the round are ordered by rank."""

    round: int = 0
    is_complete: bool = False
    is_closed: bool = False
    nodes: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    beats: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, data: bytes) -> _State:
        try:
            return cls(**json.loads(data))
        except (TypeError, ValueError) as error:
            raise RendezvousStateError("the rendezvous' state is damaged") from error

    def drop(self, node: str) -> None:
        for nodes in (self.nodes, self.waiting):
            if node in nodes:
                nodes.remove(node)
        self.beats.pop(node, None)


_numbers = itertools.count()


class DynamicRendezvousHandler(RendezvousHandler):
    """See ``from_backend``."""

    def __init__(
        self,
        node: str,
        settings: RendezvousSettings,
        backend: RendezvousBackend,
        store: Store,
        local_addr: str | None = None,
    ) -> None:
        if not settings.run_id:
            raise ValueError("The run id must be a non-empty string.")
        if settings.min_nodes < 1:
            raise ValueError(
                f"The minimum number of nodes ({settings.min_nodes}) must be greater "
                "than zero."
            )
        if settings.max_nodes < settings.min_nodes:
            raise ValueError(
                f"The maximum number of nodes ({settings.max_nodes}) must be greater "
                "than or equal to the minimum number of nodes "
                f"({settings.min_nodes})."
            )
        self._node, self._settings, self._local_addr = node, settings, local_addr
        self._backend, self._store = backend, store
        self._seen: dict[str, tuple[int, float]] = {}
        self._round = -1  # of the last round that this machine has joined
        self._rounds_lock = threading.Lock()
        self._end = threading.Event()
        self._beats: threading.Thread | None = None

    @classmethod
    def from_backend(
        cls,
        run_id: str,
        store: Store,
        backend: RendezvousBackend,
        min_nodes: int,
        max_nodes: int,
        local_addr: str | None = None,
        timeout: RendezvousTimeout | None = None,
        keep_alive_interval: int = 5,
        keep_alive_max_attempt: int = 3,
    ) -> DynamicRendezvousHandler:
        """A handler of this machine. A machine is lost after
        ``keep_alive_max_attempt`` intervals, in seconds, without a sign of life.
        """
        host = local_addr or socket.getfqdn()
        node = f"{host}_{os.getpid()}_{next(_numbers)}"
        settings = RendezvousSettings(
            *(run_id, min_nodes, max_nodes, timeout or RendezvousTimeout()),
            *(timedelta(seconds=keep_alive_interval), keep_alive_max_attempt),
        )
        return cls(node, settings, backend, store, local_addr)

    @property
    def settings(self) -> RendezvousSettings:
        """The options."""
        return self._settings

    def get_backend(self) -> str:
        """The name of the engine."""
        return self._backend.name

    def get_run_id(self) -> str:
        """The name of the job."""
        return self._settings.run_id

    @property
    def use_agent_store(self) -> bool:
        """Whether the ranks use the agents' store: if it is a TCPStore."""
        return isinstance(self._store, TCPStore)

    def _change(self, change: Any, timeout: timedelta) -> _State:
        """Applies ``change`` to the state until no other machine has changed it too."""
        with self._rounds_lock:
            end = time.monotonic() + timeout.total_seconds()
            found: Any = self._backend.get_state()
            while True:
                data, token = found[:2] if found else (b"{}", None)
                state = _State.of(data)
                before = asdict(state)
                change(state)
                if asdict(state) == before:
                    return state
                answer = self._backend.set_state(
                    json.dumps(asdict(state)).encode(), token
                )
                if answer is not None and answer[2]:
                    return state
                if time.monotonic() > end:
                    raise RendezvousTimeoutError(
                        f"the state of the run {self._settings.run_id!r} could not be "
                        f"changed within {timeout.total_seconds():g} s: other machines "
                        "changed it each time"
                    )
                found = answer

    def _drop_lost(self, state: _State) -> None:
        """Drops machines whose count of signs of life stands still."""
        settings, now = self._settings, time.monotonic()
        patience = settings.keep_alive_interval * settings.keep_alive_max_attempt
        for node, beat in list(state.beats.items()):
            former, since = self._seen.get(node, (-1, now))
            if beat != former:
                self._seen[node] = beat, now
            elif node != self._node and now - since > patience.total_seconds():
                state.drop(node)

    def _beat(self, state: _State) -> None:
        self._drop_lost(state)
        if self._node in (*state.nodes, *state.waiting):
            state.beats[self._node] = state.beats.get(self._node, 0) + 1

    def _keep_alive(self) -> None:
        with contextlib.suppress(RendezvousError):
            self._change(self._beat, self._settings.timeout.heartbeat)

    def _join(self, state: _State) -> None:
        """Puts this machine into a round that is not complete, or makes it wait."""
        self._drop_lost(state)
        if state.is_closed:
            return
        if state.is_complete and self._node in state.nodes:
            if state.round != self._round:
                return  # another machine has completed the round
            self._open_next_round(state)
        has_room = len(state.nodes) < self._settings.max_nodes
        if not state.is_complete and has_room and self._node not in state.nodes:
            state.nodes.append(self._node)
            if self._node in state.waiting:
                state.waiting.remove(self._node)
        elif self._node not in (*state.nodes, *state.waiting):
            state.waiting.append(self._node)
        state.beats.setdefault(self._node, 0)

    def _open_next_round(self, state: _State) -> None:
        most = self._settings.max_nodes - 1
        state.nodes, state.waiting = state.waiting[:most], state.waiting[most:]
        state.round += 1
        state.is_complete = False

    def next_rendezvous(self) -> RendezvousInfo:
        """Waits for at least ``min_nodes`` machines, then ``last_call`` for more."""
        self._start_keeping_alive()
        try:
            return self._info(self._joined())
        except BaseException:
            self._end.set()
            raise

    def _joined(self) -> _State:
        """The state of a complete round that has this machine."""
        timeout = self._settings.timeout
        end = time.monotonic() + timeout.join.total_seconds()
        last_call: tuple[int, float] | None = None
        while True:
            state = self._change(self._join, timeout.join)
            if state.is_closed:
                raise RendezvousClosedError(
                    f"the rendezvous {self._settings.run_id!r} is closed"
                )
            if state.is_complete and self._node in state.nodes:
                return state
            now = time.monotonic()
            if len(state.nodes) < self._settings.min_nodes or state.is_complete:
                last_call = None
            elif last_call is None or last_call[0] != state.round:
                last_call = state.round, now + timeout.last_call.total_seconds()
            is_full = len(state.nodes) == self._settings.max_nodes
            if is_full or (last_call is not None and now > last_call[1]):
                self._complete(state)
            elif now > end:
                self._change(lambda state: state.drop(self._node), timeout.close)
                raise RendezvousTimeoutError(
                    f"{len(state.nodes)} of at least {self._settings.min_nodes} "
                    f"machines have joined the run {self._settings.run_id!r} within "
                    f"{timeout.join.total_seconds():.0f} s"
                )
            else:
                time.sleep(_LOOK)

    def _complete(self, seen: _State) -> None:
        """Completes the round as it was seen."""

        def complete(state: _State) -> None:
            if (state.round, state.nodes) == (seen.round, seen.nodes):
                state.is_complete = True

        self._change(complete, self._settings.timeout.join)

    def _info(self, state: _State) -> RendezvousInfo:
        self._round = state.round
        rank = state.nodes.index(self._node)
        prefix = f"torch.rendezvous.{self._settings.run_id}.{state.round}"
        store = PrefixStore(prefix, self._store)
        if isinstance(self._store, TCPStore):
            place = RendezvousStoreInfo(self._store.host, self._store.port)
        else:
            place = RendezvousStoreInfo.build(rank, store, self._local_addr)
        return RendezvousInfo(store, rank, len(state.nodes), place)

    def _start_keeping_alive(self) -> None:
        if self._beats is not None and not self._end.is_set():
            return
        self._end = threading.Event()
        interval = self._settings.keep_alive_interval.total_seconds()
        given = weakref.ref(self), self._end, interval
        self._beats = threading.Thread(target=_beat_until, args=given, daemon=True)
        self._beats.start()

    def _state(self) -> _State:
        found = self._backend.get_state()
        return _State.of(found[0]) if found else _State()

    def is_closed(self) -> bool:
        """Whether no round will follow."""
        return self._state().is_closed

    def set_closed(self) -> None:
        """Ends the rendezvous for all machines."""

        def close(state: _State) -> None:
            state.is_closed = True

        self._change(close, self._settings.timeout.close)

    def num_nodes_waiting(self) -> int:
        """Machines that a next round would have beside those of this one: those that
        have begun it, or wait while this one has room.
        """
        state = self._state()
        if state.round != self._round:
            return len(state.nodes)
        room = self._settings.max_nodes - len(state.nodes)
        return min(room, len(state.waiting))

    def shutdown(self) -> bool:
        """Leaves, and closes the rendezvous; False if it cannot be reached."""
        self._end.set()
        try:
            self.set_closed()
        except RendezvousError:
            return False
        return True


def _beat_until(
    handler: weakref.ref[DynamicRendezvousHandler],
    end: threading.Event,
    interval: float,
) -> None:
    """Signs of life, until ``end`` or while the handler exists."""
    while not end.wait(interval) and (found := handler()) is not None:
        found._keep_alive()
        del found


def _seconds(params: RendezvousParameters, key: str) -> timedelta | None:
    value = params.get_as_int(f"{key}_timeout")
    return None if value is None else timedelta(seconds=value)


def create_handler(
    store: Store, backend: RendezvousBackend, params: RendezvousParameters
) -> DynamicRendezvousHandler:
    """A handler by the options ``join_timeout``, ``last_call_timeout``,
    ``close_timeout``, ``heartbeat_timeout``, ``keep_alive_interval`` and
    ``keep_alive_max_attempt``.
    """
    timeout = RendezvousTimeout(
        *(_seconds(params, key) for key in ("join", "last_call", "close", "heartbeat"))
    )
    return DynamicRendezvousHandler.from_backend(
        params.run_id,
        store,
        backend,
        params.min_nodes,
        params.max_nodes,
        params.local_addr,
        timeout,
        keep_alive_interval=params.get_as_int("keep_alive_interval", 5) or 5,
        keep_alive_max_attempt=params.get_as_int("keep_alive_max_attempt", 3) or 3,
    )
