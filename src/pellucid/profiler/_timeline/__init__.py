"""The timeline: what ran and when, as the runtime recorded it.

``runtime/timeline`` writes events; here sessions begin and end, and events become
objects. Used by `profiler`, `diagnose` and whatever else reads what ran; imported when
first used. Read `log.py` first.
"""

from pellucid.profiler._timeline.log import Event, Log, Session, Watch

__all__ = ["Event", "Log", "Session", "Watch"]
