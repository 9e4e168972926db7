"""The errors of ``torch.distributed``: all are RuntimeErrors."""

from __future__ import annotations


class DistError(RuntimeError):
    """Any failure of communication."""


class DistBackendError(DistError):
    """A collective failed: the message names it and the ranks at fault."""


class DistNetworkError(DistError):
    """A connection could not be made or has broken."""


class DistStoreError(DistError):
    """A store had no value within its timeout."""


class QueueEmptyError(DistStoreError):
    """A queue of a store has nothing to pop."""


for _error in (
    *(DistError, DistBackendError, DistNetworkError, DistStoreError),
    QueueEmptyError,
):
    _error.__module__ = "torch.distributed"
