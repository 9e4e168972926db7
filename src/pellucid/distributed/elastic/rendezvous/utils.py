"""Addresses of a rendezvous."""

from __future__ import annotations

import contextlib
import re
import socket

__all__ = ["is_here", "parse_rendezvous_endpoint"]


def parse_rendezvous_endpoint(
    endpoint: str | None, default_port: int
) -> tuple[str, int]:
    """The host and port of ``host``, ``host:port`` or ``[address]:port``; localhost
    by default.
    """
    text = (endpoint or "").strip()
    if not text:
        return "localhost", default_port
    host, port = text, ""
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
        port = port.removeprefix(":")
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
        if not port:
            raise ValueError(
                f"The port number of the rendezvous endpoint {endpoint!r} is missing."
            )
    if port and not port.isdigit():
        raise ValueError(
            f"The port number of the rendezvous endpoint {endpoint!r} must be an "
            "integer between 0 and 65536."
        )
    if int(port or 0) > 65535:
        raise ValueError(
            f"The port number of the rendezvous endpoint {endpoint!r} must be an "
            "integer between 0 and 65536."
        )
    if not re.match(r"^[\w\.:-]+$", host):
        raise ValueError(
            f"The hostname of the rendezvous endpoint {endpoint!r} must be a "
            "dot-separated list of labels, an IPv4 address, or an IPv6 address."
        )
    return host, int(port) if port else default_port


def is_here(host: str) -> bool:
    """Whether a host name denotes this machine."""
    if host in ("localhost", "127.0.0.1", socket.gethostname()):
        return True
    with contextlib.suppress(OSError), socket.socket() as probe:
        probe.bind((socket.gethostbyname(host), 0))
        return True
    return False
