"""The rendezvous "etcd", which needs the package ``etcd``: see ``_etcd_stub.py``."""

from __future__ import annotations

from pellucid.distributed.elastic.rendezvous._etcd_stub import _Absent, refuse

__all__ = [
    "EtcdRendezvous",
    "EtcdRendezvousHandler",
    "EtcdRendezvousRetryImmediately",
    "EtcdRendezvousRetryableFailure",
    "create_rdzv_handler",
]


class EtcdRendezvousRetryableFailure(Exception):
    """A step of the rendezvous that may be tried again."""


class EtcdRendezvousRetryImmediately(Exception):
    """The same, without a pause."""


class EtcdRendezvous(_Absent):
    """The protocol over etcd's keys."""


class EtcdRendezvousHandler(_Absent):
    """The handler of the protocol."""


create_rdzv_handler = refuse
