"""Which call made a node of the autograd graph.

The events of calls and of ranges have the number of the last node that their thread had
made, so a node was made by the last of them with a smaller number.
"""

from __future__ import annotations

import threading

import numpy as np

from pellucid.profiler._timeline.log import Event, Kind, Log


class Makers:
    """The calls of this thread."""

    def __init__(self, log: Log) -> None:
        self._log = log
        columns = log.columns
        own = [t.number for t in log.threads if t.python_id == threading.get_ident()]
        rows = columns.rows_of(Kind.CALL, Kind.RANGE)
        rows = rows[np.isin(columns.thread[rows], own)]
        self._rows = rows[np.argsort(columns.sequence[rows], kind="stable")]
        self._sequence = columns.sequence[self._rows]

    def call_of(self, sequence: int) -> Event | None:
        """The call that made the node of a number. None of a node that was made before
        the log, or after a range.
        """
        place = int(np.searchsorted(self._sequence, sequence)) - 1
        found = self._log.event(int(self._rows[place])) if place >= 0 else None
        return found if found is not None and found.kind is Kind.CALL else None
