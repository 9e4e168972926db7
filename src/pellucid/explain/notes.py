"""Notes that ops implemented in Python, such as DTensor's, add to an explanation.

``note`` is called while such an op runs; its lines are shown at the op's call. Called
by ``pellucid.distributed.tensor``; read next: report.py.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pellucid import _C


class Note(NamedTuple):
    """Lines for ``more``, and the call's text in the table."""

    lines: tuple[str, ...]
    brief: str


Notes = dict[int, Note]  # by the call's position in the log


class _Taken(threading.local):
    notes: Notes | None = None


_taken = _Taken()


@contextmanager
def taking_notes() -> Iterator[Notes]:
    """Within the ``with`` block, this thread's notes are added to the result."""
    before, _taken.notes = _taken.notes, {}
    try:
        yield _taken.notes
    finally:
        _taken.notes = before


def note(lines: tuple[str, ...], brief: str) -> None:
    """The notes of the last logged call."""
    if _taken.notes is not None:
        _taken.notes[_C._num_logged_calls() - 1] = Note(lines, brief)
