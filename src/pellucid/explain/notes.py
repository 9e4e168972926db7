"""What Python that answers for ops, such as DTensor's, adds to an explanation.

``note`` is called while such an op runs: what it says is shown at the op's call. Called
by ``pellucid.distributed.tensor``; read next: report.py.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pellucid import _C


class Note(NamedTuple):
    """Lines for ``more``, and what the table says of the call."""

    lines: tuple[str, ...]
    brief: str


Notes = dict[int, Note]  # by the call's position in the log


class _Taken(threading.local):
    notes: Notes | None = None


_taken = _Taken()


@contextmanager
def taking_notes() -> Iterator[Notes]:
    """Inside of the ``with`` block this thread's notes are added to the result."""
    before, _taken.notes = _taken.notes, {}
    try:
        yield _taken.notes
    finally:
        _taken.notes = before


def note(lines: tuple[str, ...], brief: str) -> None:
    """Notes of the call that was the last to be logged."""
    if _taken.notes is not None:
        _taken.notes[_C._num_logged_calls() - 1] = Note(lines, brief)
