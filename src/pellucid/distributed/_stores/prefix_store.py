"""``PrefixStore``: a store whose keys are those of another store with a prefix."""

from __future__ import annotations

from typing import Any

from pellucid.distributed._stores.store import Store, seconds_of
from pellucid.distributed._stores.table import Fields

# Requests whose keys are not just the first field.
_ALL = {"get", "wait", "check"}
_NONE = {"count", "keys"}


class PrefixStore(Store):
    """Prepends ``prefix + "/"`` to the keys of ``store``."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self._prefix, self._store = prefix, store
        self._seconds = store._seconds

    @property
    def underlying_store(self) -> Store:
        """The underlying store."""
        return self._store

    def set_timeout(self, timeout: Any) -> None:
        """Sets how long requests wait, here and in the underlying store."""
        self._seconds = seconds_of(timeout)
        self._store.set_timeout(timeout)

    def _prefixed(self, name: str, fields: Fields) -> Fields:
        prefix = f"{self._prefix}/".encode()
        if name in _NONE:
            return fields
        if name in _ALL:
            return [prefix + key for key in fields]
        if name == "set":
            pairs = zip(fields[::2], fields[1::2], strict=True)
            return [field for key, value in pairs for field in (prefix + key, value)]
        return [prefix + fields[0], *fields[1:]]

    def _request(self, name: str, fields: Fields, timeout: float) -> Fields:
        return self._store._request(name, self._prefixed(name, fields), timeout)

    def clone(self) -> Store:
        """A store over the same values, for use by another thread."""
        return PrefixStore(self._prefix, self._store.clone())
