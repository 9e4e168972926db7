"""An etcd server of one's own, which needs the package ``etcd``: see
``_etcd_stub.py``.
"""

from __future__ import annotations

import socket

from pellucid.distributed.elastic.rendezvous._etcd_stub import _Absent
from pellucid.distributed.elastic.utils.distributed import get_socket_with_port

__all__ = ["EtcdServer", "find_free_port"]


def find_free_port() -> socket.socket:
    """A socket bound to a free port, which it reserves until it is closed."""
    return get_socket_with_port()


class EtcdServer(_Absent):
    """Runs etcd for a job."""
