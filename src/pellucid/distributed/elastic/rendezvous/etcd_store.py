"""A store in etcd, which needs the package ``etcd``: see ``_etcd_stub.py``."""

from __future__ import annotations

from pellucid.distributed.elastic.rendezvous._etcd_stub import _Absent

__all__ = ["EtcdStore"]


class EtcdStore(_Absent):
    """Keys of a job in etcd; ``TCPStore`` needs no etcd."""
