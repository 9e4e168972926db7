"""The rendezvous "etcd-v2", which needs the package ``etcd``: see ``_etcd_stub.py``."""

from __future__ import annotations

from pellucid.distributed.elastic.rendezvous._etcd_stub import _Absent, refuse

__all__ = ["EtcdRendezvousBackend", "create_backend"]


class EtcdRendezvousBackend(_Absent):
    """The state of a rendezvous in a key of etcd."""


create_backend = refuse
