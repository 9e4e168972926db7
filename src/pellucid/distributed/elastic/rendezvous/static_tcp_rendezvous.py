"""``StaticTCPRendezvous``: machines whose number and ranks are given."""

from __future__ import annotations

from datetime import timedelta

from pellucid.distributed._stores.prefix_store import PrefixStore
from pellucid.distributed._stores.tcp_store import TCPStore
from pellucid.distributed.elastic.rendezvous.api import (
    RendezvousHandler,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStoreInfo,
)
from pellucid.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint

__all__ = ["StaticTCPRendezvous", "create_rdzv_handler"]

_DEFAULT_TIMEOUT = 600


class StaticTCPRendezvous(RendezvousHandler):
    """Machine 0 holds the store. All machines begin a round together."""

    def __init__(
        self,
        master_addr: str,
        master_port: int,
        rank: int,
        world_size: int,
        run_id: str,
        timeout: int,
    ) -> None:
        self.master_addr, self.master_port = master_addr, master_port
        self.rank, self.world_size, self.run_id = rank, world_size, run_id
        self.timeout = timedelta(seconds=timeout)
        self._store: TCPStore | None = None
        self._round = 0

    def get_backend(self) -> str:
        """ "static"."""
        return "static"

    @property
    def use_agent_store(self) -> bool:
        """True: machine 0's."""
        return True

    def next_rendezvous(self) -> RendezvousInfo:
        """The next round, as soon as machine 0 holds the store."""
        if self._store is None:
            self._store = TCPStore(
                *(self.master_addr, self.master_port, None, self.rank == 0),
                timeout=self.timeout,
                wait_for_workers=False,
            )
        self._round += 1
        prefix = f"torch.rendezvous.{self.run_id}.{self._round}"
        return RendezvousInfo(
            PrefixStore(prefix, self._store),
            self.rank,
            self.world_size,
            RendezvousStoreInfo(self.master_addr, self._store.port),
        )

    def is_closed(self) -> bool:
        """False."""
        return False

    def set_closed(self) -> None:
        """Nothing: each machine ends by itself."""

    def num_nodes_waiting(self) -> int:
        """0: no machine may join."""
        return 0

    def get_run_id(self) -> str:
        """The name of the job."""
        return self.run_id

    def shutdown(self) -> bool:
        """True: there is nothing to leave."""
        return True


def create_rdzv_handler(params: RendezvousParameters) -> RendezvousHandler:
    """A handler by the option ``rank``, this machine's number."""
    if "rank" not in params.config:
        raise ValueError(
            "rank is absent in RendezvousParameters: set --node-rank, this machine's "
            "number"
        )
    host, port = parse_rendezvous_endpoint(params.endpoint.strip(), -1)
    if not params.endpoint.strip() or port == -1:
        raise ValueError(
            f"endpoint {params.endpoint!r} needs a host and a port, as in node0:29500"
        )
    if params.min_nodes != params.max_nodes:
        raise ValueError(
            f"min_nodes: {params.min_nodes} is not max_nodes: {params.max_nodes}; a "
            "static rendezvous has a fixed number of machines (c10d has not)"
        )
    timeout = params.get_as_int("timeout", _DEFAULT_TIMEOUT) or _DEFAULT_TIMEOUT
    rank = params.get_as_int("rank")
    assert rank is not None
    return StaticTCPRendezvous(
        host, port, rank, params.max_nodes, params.run_id, timeout
    )
