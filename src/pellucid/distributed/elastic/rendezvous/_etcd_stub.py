"""The names of the package ``etcd``, which PyTorch's rendezvous "etcd" uses: each
raises ``EtcdStubError``, as in PyTorch without the package; here with it, too.

etcd's interface that the package speaks is gone since etcd 3.6. The rendezvous "c10d"
needs no server of its own.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["EtcdStubError"]


class EtcdStubError(ImportError):
    """There is no etcd here."""

    def __init__(self) -> None:
        super().__init__(
            "rendezvous over etcd is not supported: take the backend 'c10d', which "
            "needs no etcd server"
        )


class _Absent:
    def __init__(self, *_: Any, **__: Any) -> None:
        raise EtcdStubError


class _AbsentError(Exception):
    def __init__(self, *_: Any, **__: Any) -> None:
        raise EtcdStubError


class EtcdAlreadyExist(_AbsentError):
    """A key that is there already."""


class EtcdCompareFailed(_AbsentError):
    """A key that has another value."""


class EtcdKeyNotFound(_AbsentError):
    """A key that is not there."""


class EtcdWatchTimedOut(_AbsentError):
    """A key that did not change in time."""


class EtcdEventIndexCleared(_AbsentError):
    """A change that is forgotten."""


class EtcdException(_AbsentError):
    """Any of them."""


class EtcdResult(_Absent):
    """A key's value."""


class Client(_Absent):
    """A connection to etcd."""


def refuse(*_: Any, **__: Any) -> NoReturn:
    """Raises for what needs a client."""
    raise EtcdStubError
