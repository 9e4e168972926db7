"""``loss_parallel``: losses of logits that are sharded by classes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pellucid.distributed.tensor._dispatch import implicit_replication

__all__ = ["loss_parallel"]


@contextmanager
def loss_parallel() -> Iterator[None]:
    """A scope in which a cross entropy of sharded logits accepts plain tensors as
    targets, equal on all processes. The sharding rule of the loss follows from its
    declaration.
    """
    with implicit_replication():
        yield
