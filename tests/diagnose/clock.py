"""A clock for recorded programs that no other program disturbs.

``retimed(log)`` gives every event the time that its work would take on a processor of
these rates, so that verdicts depend on what a program did, on any machine. What only a
real processor shows is injected: `asleep` notes what a program asked to wait,
``fading`` after how many calls of an op values are too small to multiply fast.
"""

import time
from bisect import bisect_right
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

import pellucid as torch
from pellucid._compile.state import compilations
from pellucid.diagnose.machine import machine
from pellucid.diagnose.recording import outermost
from pellucid.diagnose.verdict import WATCH, facts_of, report_of, settings_now
from pellucid.profiler._timeline.costs import CostCounter
from pellucid.profiler._timeline.log import Kind, Session
from pellucid.profiler._timeline.shares import main_thread

_ARITHMETIC, _BYTES = 50e9, 10e9  # a second
_OWN = {Kind.CALL: 1_000, Kind.NODE: 300, Kind.PREPARE: 50_000}  # nanoseconds
_BETWEEN, _SLOWER = 300, 10
_ASLEEP = "asleep "


def roof():
    """A machine of the clock's rates, whatever this one's are."""
    return replace(
        machine(),
        name="the clock of tests",
        products={
            "float32": _ARITHMETIC,
            "float64": _ARITHMETIC,
            "bfloat16": 2 * _ARITHMETIC,
        },
        division=_ARITHMETIC / 10,
        elementary=_ARITHMETIC / 10,
        bandwidth=dict.fromkeys(("L1", "L2", "L3", "memory"), _BYTES),
        call=1e-6,
    )


@contextmanager
def asleep():
    """Sleeping is noted in the log instead."""

    def sleep(seconds):
        with torch.profiler.record_function(f"{_ASLEEP}{seconds}"):
            pass

    with mock.patch.object(time, "sleep", sleep):
        yield


def diagnosed(work, files=(), fading=None):
    """The report of ``work()`` by this clock; settings are as they were after it."""
    costs, session, threads = CostCounter(), Session(WATCH), torch.get_num_threads()
    session.start()
    try:
        with asleep(), compilations() as made:
            work()
    finally:
        log = session.stop()
    settings = settings_now(files, made)
    torch.set_num_threads(threads)
    torch.autograd.set_detect_anomaly(False)
    idle = retimed(log, costs, fading), 0.0
    return report_of(facts_of(log, costs, roof(), idle, settings))


def retimed(log, costs, fading=None):
    """Change a log's times to those of this clock; the seconds asleep in it."""
    thread = main_thread(log)
    work = {event: _nanoseconds(event, costs) for event in outermost(log, costs)}
    before = [event.begin for event in thread.events]
    children, seen, slept = {}, Counter(), 0.0
    for event in thread.events:
        children.setdefault(event.parent, []).append(event)

    def run(event, now):
        nonlocal slept
        event.begin = now
        now += _OWN.get(event.kind, 0)
        for inner in children.get(event, ()):
            now = run(inner, now)
        seconds = _asleep(event)
        slept += seconds
        now += seconds * 1e9
        if event in work:
            seen[event.name, event.line] += 1
            is_slow = fading is not None and seen[event.name, event.line] > fading
            now += work[event] * (_SLOWER if is_slow else 1)
        event.end = now
        return now

    now = log.begin
    for event in children.get(None, ()):
        now = run(event, now + _BETWEEN)
    log.end = now + _BETWEEN
    after = [event.begin for event in thread.events]
    for other in log.threads:
        for event in other.events if other is not thread else ():
            place = bisect_right(before, event.begin) - 1
            event.begin = event.end = after[place] if place >= 0 else log.begin
    log.__dict__.pop("events", None)  # sorted by the times before
    return slept


def _asleep(event):
    """Seconds that a program asked to wait, or waits for another rank."""
    if event.name.startswith(_ASLEEP):
        return float(event.name.removeprefix(_ASLEEP))
    return 0.01 if event.name == "distributed::wait" else 0.0


def _nanoseconds(event, costs):
    """What the operations and the bytes take; of a routine, the cube of its side."""
    cost = costs.as_run(event, [])
    if cost is None:
        sizes = [a.shape for a in event.thread.arguments(event) if hasattr(a, "shape")]
        side = max((max(shape, default=1) for shape in sizes), default=1)
        return side**3 / _ARITHMETIC * 1e9 if "linalg" in event.name else 0
    operations = cost.operations
    arithmetic = operations.get("arithmetic", 0) / _ARITHMETIC
    slow = sum(operations.get(name, 0) for name in ("division", "elementary"))
    moved = (cost.bytes_read + cost.bytes_written) / _BYTES
    return max(arithmetic + slow / (_ARITHMETIC / 10), moved) * 1e9
