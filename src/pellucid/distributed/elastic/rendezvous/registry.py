"""``get_rendezvous_handler``: the handlers "c10d" and "static". Those of etcd say that
there is none.
"""

from __future__ import annotations

from pellucid.distributed.elastic.rendezvous import (
    dynamic_rendezvous,
    etcd_rendezvous,
    etcd_rendezvous_backend,
)
from pellucid.distributed.elastic.rendezvous.api import (
    RendezvousHandler,
    RendezvousParameters,
    rendezvous_handler_registry,
)
from pellucid.distributed.elastic.rendezvous.c10d_rendezvous_backend import (
    create_backend,
)
from pellucid.distributed.elastic.rendezvous.static_tcp_rendezvous import (
    create_rdzv_handler,
)

__all__ = ["get_rendezvous_handler"]


def _create_c10d_handler(params: RendezvousParameters) -> RendezvousHandler:
    backend, store = create_backend(params)
    return dynamic_rendezvous.create_handler(store, backend, params)


rendezvous_handler_registry.register("c10d", _create_c10d_handler)
rendezvous_handler_registry.register("static", create_rdzv_handler)
rendezvous_handler_registry.register("etcd", etcd_rendezvous.create_rdzv_handler)
rendezvous_handler_registry.register("etcd-v2", etcd_rendezvous_backend.create_backend)


def get_rendezvous_handler(params: RendezvousParameters) -> RendezvousHandler:
    """A handler of the engine that the parameters name."""
    return rendezvous_handler_registry.create_handler(params)
