"""``WatchedStore``: stops waiting if the processes that would set keys have ended."""

from __future__ import annotations

import time
from collections.abc import Callable

from pellucid.distributed._stores.prefix_store import PrefixStore
from pellucid.distributed._stores.store import Store
from pellucid.distributed._stores.table import Fields, Missing

_CHECK_SECONDS = 0.5


class WatchedStore(PrefixStore):
    """A PrefixStore. While a request waits, ``check`` is called periodically; it raises
    if no process is left to set the keys.
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
