"""``loss_parallel``: losses of logits that are split by classes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pellucid.distributed.tensor._dispatch import implicit_replication

__all__ = ["loss_parallel"]


@contextmanager
def loss_parallel() -> Iterator[None]:
    """Inside of the ``with`` block a cross entropy of split logits takes targets that
    are plain tensors, equal on all processes. No more is needed: the rule of the loss
    follows from its declaration.
    """
    with implicit_replication():
        yield
