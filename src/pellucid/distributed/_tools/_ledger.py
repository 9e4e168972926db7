"""The live storages and what they are for, from the timeline's events.

A session records which storages are made and freed; a cut ends it and begins the next,
and reads its events in order. What happens between two cuts happens in one state of the
program (forward, backward, the optimizer's step), which gives what is made its role; a
backward pass may begin between two cuts, but none ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pellucid as torch
from pellucid.memory._live import address_of
from pellucid.profiler._timeline.log import Kind, Log, Session, Watch

TOTAL = "Total"
Snapshot = dict[torch.device, dict[Any, int]]


class Held(NamedTuple):
    """A live storage."""

    nbytes: int
    role: Any


class Ledger:
    """Bytes by role, of host memory. ``roles`` is an enumeration of them."""

    def __init__(self, roles: Any) -> None:
        self._roles = roles
        self._live: dict[int, Held] = {}
        self._sums: dict[Any, int] = {**dict.fromkeys(roles, 0), TOTAL: 0}
        self._session: Session | None = None

    def begin(self) -> None:
        """Records from now on."""
        self._session = _started()

    def end(self) -> None:
        """Records no more; ``cut`` first."""
        assert self._session is not None
        self._session.stop()
        self._session = None

    def cut(
        self, role_of: Callable[[bool], Any], given: dict[int, Any]
    ) -> dict[Any, int]:
        """Takes in what was recorded since the last cut; the bytes by role at the peak
        of that time.

        ``role_of(is_in_node)`` is the role of a storage that a node of the autograd
        graph made which began after the last cut, or another call. ``given``: roles of
        live storages by address.
        """
        if self._session is None:
            return dict(self._sums)
        before, self._session = self._session, _started()  # none is missed
        return self._take_in(before.stop(), role_of, given)

    def _take_in(
        self, log: Log, role_of: Callable[[bool], Any], given: dict[int, Any]
    ) -> dict[Any, int]:
        columns = log.columns
        rows = columns.rows_of(Kind.MAKE, Kind.FREE)
        is_node = columns.nearest(columns.parent[rows], columns.kind == Kind.NODE) >= 0
        addresses = columns.address[rows].tolist()
        last = {address: place for place, address in enumerate(addresses)}
        peak = dict(self._sums)
        each = zip(
            *(addresses, columns.kind[rows].tolist(), columns.bytes[rows].tolist()),
            *(is_node.tolist(),),
            strict=True,
        )
        for place, (address, kind, nbytes, in_node) in enumerate(each):
            self._drop(address)
            if kind == Kind.MAKE:
                is_last = last[address] == place
                named = given.get(address) if is_last else None
                self._add(address, nbytes, named or role_of(in_node))
                if self._sums[TOTAL] > peak[TOTAL]:
                    peak = dict(self._sums)
        for address, role in given.items():
            if address in self._live:
                self._add(address, self._drop(address), role)
        return peak

    def _add(self, address: int, nbytes: int, role: Any) -> None:
        self._live[address] = Held(nbytes, role)
        self._sums[role] += nbytes
        self._sums[TOTAL] += nbytes

    def _drop(self, address: int) -> int:
        held = self._live.pop(address, None)
        if held is None:
            return 0
        self._sums[held.role] -= held.nbytes
        self._sums[TOTAL] -= held.nbytes
        return held.nbytes

    def note(self, tensor: Any, role: Any) -> int:
        """Sets what a tensor's storage is for, also one that was made before; its
        bytes.
        """
        tensor = getattr(tensor, "_local_tensor", tensor)
        address = address_of(tensor)
        if not address:
            return 0
        self._drop(address)
        nbytes = int(tensor.untyped_storage().nbytes())
        self._add(address, nbytes, role)
        return nbytes

    def bytes_of(self, tensor: Any) -> int:
        """Those of a tensor's storage, if it is known."""
        address = address_of(getattr(tensor, "_local_tensor", tensor))
        return self._live[address].nbytes if address in self._live else 0

    def snapshot(self, sums: dict[Any, int] | None = None) -> Snapshot:
        """The live bytes, or others, by device; empty if there are none."""
        found = self._sums if sums is None else sums
        return {torch.device("cpu"): dict(found)} if found[TOTAL] else {}


def _started() -> Session:
    session = Session(Watch.MEMORY)
    session.start()
    return session
