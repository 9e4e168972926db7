"""``HashStore``: a store for the threads of one process."""

from __future__ import annotations

from pellucid.distributed._stores.store import Store
from pellucid.distributed._stores.table import Fields, Table


class HashStore(Store):
    """A store in this process's memory."""

    def __init__(self) -> None:
        super().__init__()
        self._table = Table()

    def _request(self, name: str, fields: Fields, timeout: float) -> Fields:
        return self._table.request(name, fields, timeout)
