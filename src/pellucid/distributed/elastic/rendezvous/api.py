"""``RendezvousHandler``: what an agent asks of a rendezvous, and its registry."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from pellucid.distributed._stores.store import Store

__all__ = [
    "RendezvousClosedError",
    "RendezvousConnectionError",
    "RendezvousError",
    "RendezvousGracefulExitError",
    "RendezvousHandler",
    "RendezvousHandlerCreator",
    "RendezvousHandlerRegistry",
    "RendezvousInfo",
    "RendezvousParameters",
    "RendezvousStateError",
    "RendezvousStoreInfo",
    "RendezvousTimeoutError",
    "rendezvous_handler_registry",
]


class RendezvousError(Exception):
    """The base class of errors of a rendezvous."""


class RendezvousClosedError(RendezvousError):
    """The rendezvous is closed."""


class RendezvousTimeoutError(RendezvousError):
    """Too few machines have joined in time."""


class RendezvousConnectionError(RendezvousError):
    """The rendezvous cannot be reached."""


class RendezvousStateError(RendezvousError):
    """The state of the rendezvous is damaged."""


class RendezvousGracefulExitError(RendezvousError):
    """This machine is not needed, and may leave."""


@dataclass
class RendezvousStoreInfo:
    """Where the ranks' store is."""

    MASTER_ADDR_KEY: ClassVar[str] = "MASTER_ADDR"
    MASTER_PORT_KEY: ClassVar[str] = "MASTER_PORT"
    master_addr: str
    master_port: int

    @staticmethod
    def build(
        rank: int,
        store: Store,
        local_addr: str | None,
        server_port: int | None = None,
    ) -> RendezvousStoreInfo:
        """The address and port (a free one by default) of the first machine, which
        tells them to the others by ``store``.
        """
        from pellucid.distributed.elastic.utils.distributed import get_free_port

        names = RendezvousStoreInfo.MASTER_ADDR_KEY, RendezvousStoreInfo.MASTER_PORT_KEY
        if rank == 0:
            store.set(names[0], local_addr or socket.getfqdn())
            store.set(names[1], str(server_port or get_free_port()))
        address, port = (store.get(name).decode() for name in names)
        return RendezvousStoreInfo(master_addr=address, master_port=int(port))


@dataclass(frozen=True)
class RendezvousInfo:
    """A round: this machine's rank, the number of machines, a store of the round, and
    where the ranks' store is.
    """

    store: Store
    rank: int
    world_size: int
    bootstrap_store_info: RendezvousStoreInfo | None


class RendezvousHandler(ABC):
    """The rendezvous, as one machine sees it."""

    @abstractmethod
    def get_backend(self) -> str:
        """The name of the engine."""

    @property
    def use_agent_store(self) -> bool:
        """Whether the ranks use the agents' store."""
        return False

    @abstractmethod
    def next_rendezvous(self) -> RendezvousInfo:
        """Waits for the machines of the next round, of which this is one."""

    @abstractmethod
    def is_closed(self) -> bool:
        """Whether no round will follow."""

    @abstractmethod
    def set_closed(self) -> None:
        """Ends the rendezvous for all machines."""

    @abstractmethod
    def num_nodes_waiting(self) -> int:
        """How many machines wait for a next round, which this one should join."""

    @abstractmethod
    def get_run_id(self) -> str:
        """The name of the job."""

    @abstractmethod
    def shutdown(self) -> bool:
        """Leaves, and closes the rendezvous; whether that succeeded."""


class RendezvousParameters:
    """What a handler is created from; ``config`` are options of its engine."""

    def __init__(
        self,
        backend: str,
        endpoint: str,
        run_id: str,
        min_nodes: int,
        max_nodes: int,
        local_addr: str | None = None,
        **kwargs: Any,
    ) -> None:
        if not backend:
            raise ValueError("The rendezvous backend name must be a non-empty string.")
        if min_nodes < 1:
            raise ValueError(
                f"The minimum number of rendezvous nodes ({min_nodes}) must be greater "
                "than zero."
            )
        if max_nodes < min_nodes:
            raise ValueError(
                f"The maximum number of rendezvous nodes ({max_nodes}) must be greater "
                "than or equal to the minimum number of rendezvous nodes "
                f"({min_nodes})."
            )
        self.backend, self.endpoint, self.run_id = backend, endpoint, run_id
        self.min_nodes, self.max_nodes = min_nodes, max_nodes
        self.config, self.local_addr = kwargs, local_addr

    def get(self, key: str, default: Any = None) -> Any:
        """An option."""
        return self.config.get(key, default)

    def get_as_bool(self, key: str, default: bool | None = None) -> bool | None:
        """An option that is true or false, or such a text."""
        value = self.get(key, default)
        if value is None or isinstance(value, bool):
            return value
        words = {"1": True, "true": True, "t": True, "yes": True, "y": True}
        words |= {"0": False, "false": False, "f": False, "no": False, "n": False}
        if (word := str(value).lower()) not in words:
            raise ValueError(
                f"The rendezvous option {key!r} is not true or false: {value!r}"
            )
        return words[word]

    def get_as_int(self, key: str, default: int | None = None) -> int | None:
        """An option that is a number, or its text."""
        value = self.get(key, default)
        try:
            return None if value is None else int(value)
        except ValueError as error:
            raise ValueError(
                f"The rendezvous option {key!r} is not a number: {value!r}"
            ) from error


RendezvousHandlerCreator = Callable[[RendezvousParameters], RendezvousHandler]


class RendezvousHandlerRegistry:
    """Creates handlers by the name of their engine."""

    def __init__(self) -> None:
        self._registry: dict[str, RendezvousHandlerCreator] = {}

    def register(self, backend: str, creator: RendezvousHandlerCreator) -> None:
        """Adds an engine."""
        if not backend:
            raise ValueError("The rendezvous backend name must be a non-empty string.")
        if self._registry.setdefault(backend, creator) is not creator:
            raise ValueError(
                f"The rendezvous backend {backend!r} has another creator already."
            )

    def create_handler(self, params: RendezvousParameters) -> RendezvousHandler:
        """A handler of the engine that the parameters name."""
        if params.backend not in self._registry:
            raise ValueError(
                f"The rendezvous backend {params.backend!r} is not registered; there "
                f"are {', '.join(map(repr, self._registry))}"
            )
        handler = self._registry[params.backend](params)
        if handler.get_backend() != params.backend:
            raise RuntimeError(
                f"The rendezvous backend {handler.get_backend()!r} was created for "
                f"{params.backend!r}."
            )
        return handler


rendezvous_handler_registry = RendezvousHandlerRegistry()
