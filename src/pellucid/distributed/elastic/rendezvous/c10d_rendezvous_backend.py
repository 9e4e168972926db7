"""``C10dRendezvousBackend``: the state of a rendezvous in a store."""

from __future__ import annotations

import base64
import contextlib
import os
import tempfile
from datetime import timedelta
from typing import Any

from pellucid.distributed._stores.errors import DistNetworkError
from pellucid.distributed._stores.file_store import FileStore
from pellucid.distributed._stores.store import Store
from pellucid.distributed._stores.tcp_store import TCPStore
from pellucid.distributed.elastic.rendezvous.api import (
    RendezvousConnectionError,
    RendezvousParameters,
    RendezvousStateError,
)
from pellucid.distributed.elastic.rendezvous.dynamic_rendezvous import (
    RendezvousBackend,
    Token,
)
from pellucid.distributed.elastic.rendezvous.utils import (
    is_here,
    parse_rendezvous_endpoint,
)

__all__ = ["C10dRendezvousBackend", "create_backend"]

_DEFAULT_PORT = 29400


class C10dRendezvousBackend(RendezvousBackend):
    """The token of a state is its text in the store."""

    def __init__(self, store: Store, run_id: str) -> None:
        if not run_id:
            raise ValueError("The run id must be a non-empty string.")
        self._store, self._key = store, f"torch.rendezvous.{run_id}"

    @property
    def name(self) -> str:
        """ "c10d"."""
        return "c10d"

    def get_state(self) -> tuple[bytes, Token] | None:
        """The state with its token; None before the first."""
        with self._reaching():
            text = self._store.compare_set(self._key, "", "")
        return self._decode(text)

    def set_state(
        self, state: bytes, token: Token | None = None
    ) -> tuple[bytes, Token, bool] | None:
        """Replaces the state that ``token`` denotes; the state that is there then, and
        whether it is this one.
        """
        text = base64.b64encode(state)
        former = token.decode() if isinstance(token, bytes) else ""
        with self._reaching():
            found = self._store.compare_set(self._key, former, text.decode())
        decoded = self._decode(found)
        return None if decoded is None else (*decoded, found == text)

    @staticmethod
    def _decode(text: bytes) -> tuple[bytes, Token] | None:
        if not text:
            return None
        try:
            return base64.b64decode(text, validate=True), text
        except ValueError as error:
            raise RendezvousStateError(
                "the state in the store is not one of a rendezvous"
            ) from error

    @contextlib.contextmanager
    def _reaching(self) -> Any:
        try:
            yield
        except (ValueError, RuntimeError, OSError) as error:
            raise RendezvousConnectionError(
                "the store of the rendezvous cannot be reached: its agent may have "
                f"ended ({error})"
            ) from error


def _tcp_store(params: RendezvousParameters) -> TCPStore:
    host, port = parse_rendezvous_endpoint(params.endpoint, _DEFAULT_PORT)
    is_host = params.get_as_bool("is_host")
    may_host = is_here(host) if is_host is None else is_host
    patience = timedelta(seconds=params.get_as_int("read_timeout", 60) or 0)
    if patience <= timedelta(0):
        raise ValueError("The read timeout must be a positive integer.")
    if may_host:
        try:
            return TCPStore(host, port, None, True, patience, wait_for_workers=False)
        except DistNetworkError:
            if is_host or params.max_nodes == 1:
                raise
    return TCPStore(host, port, None, False, patience, wait_for_workers=False)


def create_backend(
    params: RendezvousParameters,
) -> tuple[C10dRendezvousBackend, Store]:
    """A backend, and its store: at ``endpoint``, held by the agent that is on this host
    and first; or a file with the option ``store_type="file"``.
    """
    kind = str(params.get("store_type", "tcp")).strip().lower()
    store: Store
    if kind == "file":
        path = params.endpoint
        if not path:
            handle, path = tempfile.mkstemp()
            os.close(handle)
        store = FileStore(path)
    elif kind == "tcp":
        try:
            store = _tcp_store(params)
        except (ValueError, RuntimeError) as error:
            if isinstance(error, DistNetworkError):
                raise RendezvousConnectionError(str(error)) from error
            raise
    else:
        raise ValueError(
            f"The store type {kind!r} of the rendezvous is not tcp or file."
        )
    return C10dRendezvousBackend(store, params.run_id), store
