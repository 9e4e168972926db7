"""Notes that ops implemented in Python, such as DTensor's, add to an explanation.

``note`` is called while such an op runs; the timeline stores the text in the op's call.
Called by ``pellucid.distributed.tensor``; read next: report.py.
"""

from __future__ import annotations

from pellucid import _C


def note(lines: tuple[str, ...], brief: str) -> None:
    """Lines for ``more``, and the call's text in the table."""
    _C._timeline_note("\n".join([brief, *lines]))
