"""Whether tensors are being traced: never here."""

from __future__ import annotations


def get_proxy_mode() -> None:
    """None: no trace is running."""
