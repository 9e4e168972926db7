"""Chooses a group's transport from information that ranks exchange through the
store.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pellucid.distributed._stores.store import Store
from pellucid.distributed._transport.messages import MessageGroup
from pellucid.distributed._transport.shared_memory import (
    SharedMemoryGroup,
    machine_identity,
    open_group,
)

if TYPE_CHECKING:
    from pellucid.distributed._transport.read_links import ReadLinks

Transport = SharedMemoryGroup | MessageGroup


class Member(NamedTuple):
    """A rank's description, for other ranks and messages. ``network``: ranks with the
    same value share the loopback address. ``links``: what it uses between machines.
    """

    host: str
    pid: int
    machine: str
    network: str
    links: str

    def shown(self) -> str:
        """The description in messages."""
        return f"{self.host}, pid {self.pid}"


def own_member() -> Member:
    """The description of this process."""
    chosen = os.environ.get("PELLUCID_DISTRIBUTED_TRANSPORT") or "shared memory"
    if chosen not in ("shared memory", "tcp", "gloo"):
        raise ValueError(
            f"PELLUCID_DISTRIBUTED_TRANSPORT is {chosen!r}; give tcp or gloo, or leave "
            "it out: ranks of one machine then share memory, others use tcp"
        )
    uses_memory = chosen == "shared memory"
    return Member(
        *(socket.gethostname(), os.getpid()),
        machine_identity() if uses_memory else "",
        _network(),
        "tcp" if uses_memory else chosen,
    )


def _network() -> str:
    """This process's network namespace: containers on one machine have their own."""
    try:
        namespace = os.stat("/proc/self/ns/net").st_ino
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return socket.gethostname()
    return f"{boot}:{namespace}"


def own_address(is_one_machine: bool, toward: str = "") -> str:
    """The address of this machine for others: the one from which it sends ``toward`` a
    host that all know.
    """
    named = os.environ.get("GLOO_SOCKET_IFNAME") or os.environ.get("PELLUCID_ADDRESS")
    if named:
        return _address_of(named)
    if is_one_machine:
        return "127.0.0.1"
    if toward:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((toward, 9))  # sends nothing
            address: str = probe.getsockname()[0]
        if not address.startswith("127."):
            return address
    address = socket.gethostbyname(socket.gethostname())
    if address.startswith("127."):
        interfaces = ", ".join(name for _, name in socket.if_nameindex())
        raise RuntimeError(
            f"this machine's name resolves to {address}, which others cannot reach; "
            f"set GLOO_SOCKET_IFNAME to one of its interfaces ({interfaces})"
        )
    return address


def _address_of(name: str) -> str:
    """The address of an interface, or the address itself."""
    import fcntl
    import struct

    if name not in [interface for _, interface in socket.if_nameindex()]:
        return name
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = struct.pack("256s", name.encode()[:15])
        reply = fcntl.ioctl(probe.fileno(), 0x8915, request)  # SIOCGIFADDR
    return socket.inet_ntoa(reply[20:24])


def meet(store: Store, rank: int, size: int) -> list[Member]:
    """The descriptions of all ranks, in order."""
    store.set(f"member/{rank}", json.dumps(own_member()._asdict()))
    texts = store.multi_get([f"member/{other}" for other in range(size)])
    return [Member(**json.loads(text)) for text in texts]


def host_of(store: Store) -> str:
    """The host of the store's server; empty if it has none."""
    root: Any = store
    while hasattr(root, "underlying_store"):
        root = root.underlying_store
    return str(getattr(root, "host", ""))


def connect(
    store: Store,
    rank: int,
    members: list[Member],
    timeout: float,
    on_slow: Callable[[float, list[int]], None],
    where: Callable[[], str],
    on_wait: Callable[[int], None],
) -> Transport:
    """Shared memory if all ranks can map it, else sockets. ``on_wait`` is called with
    a rank that has not come for a while; what it raises ends the wait.
    """
    size = len(members)
    machines = {member.machine for member in members}
    if len(machines) == 1 and "" not in machines:
        pids = [member.pid for member in members]
        shared = open_group(store, rank, size, pids, on_slow, on_wait, timeout)
        if shared is not None:
            return shared
    is_one = len({member.network for member in members}) == 1
    host = own_address(is_one, host_of(store))
    links = _links(members)(store, rank, size, host, timeout, where, on_wait)
    return MessageGroup(links, rank, size)


def _links(members: list[Member]) -> Callable[..., ReadLinks]:
    """The class that all ranks have chosen."""
    chosen = [member.links for member in members]
    if len(set(chosen)) > 1:
        raise RuntimeError(
            "PELLUCID_DISTRIBUTED_TRANSPORT differs between ranks: "
            + ", ".join(f"rank {r} has {name}" for r, name in enumerate(chosen))
        )
    if chosen[0] == "gloo":
        from pellucid.distributed._transport.gloo import GlooLinks

        return GlooLinks
    from pellucid.distributed._transport.sockets import SocketLinks

    return SocketLinks
