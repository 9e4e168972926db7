"""``WatchedStore``: stops waiting if the processes that would set keys have ended."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from datetime import timedelta

from pellucid.distributed._stores.errors import DistNetworkError, DistStoreError
from pellucid.distributed._stores.prefix_store import PrefixStore
from pellucid.distributed._stores.store import Store
from pellucid.distributed._stores.table import Fields, Missing

_CHECK_SECONDS = 0.2
_NOTICE_SECONDS = 0.5  # until the end of a process has been noticed
ASK_SECONDS = 0.2  # of a wait for something else, before ``ask_for_losses``


def ask_for_losses(store: Store, seconds: float = 0.0) -> None:
    """Raises if a rank that the group waits for has ended, or is noticed to have within
    some seconds: a wait for a key does then, which one for a connection does not.
    """
    with contextlib.suppress(DistStoreError):
        store.wait(["lost"], timedelta(seconds=max(seconds, 0.001)))


class WatchedStore(PrefixStore):
    """A PrefixStore. While a request waits, ``check`` is called periodically; it raises
    if no process is left to set the keys, also when the store itself has gone.
    """

    def __init__(self, prefix: str, store: Store, check: Callable[[], None]) -> None:
        super().__init__(prefix, store)
        self._check = check

    def _request(self, name: str, fields: Fields, timeout: float) -> Fields:
        end = time.monotonic() + timeout
        while True:
            left = max(end - time.monotonic(), 0)
            try:
                return super()._request(name, fields, min(left, _CHECK_SECONDS))
            except Missing:
                self._check()
                if left <= _CHECK_SECONDS:
                    raise
            except DistNetworkError:
                self._check_holder()
                raise

    def _check_holder(self) -> None:
        """Raises the error of ``check`` if it was a process of the group that held the
        store and has ended.
        """
        end = time.monotonic() + _NOTICE_SECONDS
        while time.monotonic() < end:
            self._check()
            time.sleep(0.01)
