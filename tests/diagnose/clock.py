"""A clock for recorded programs that is independent of other programs.

``retimed(log)`` gives every event the time that its work would take on a processor of
these rates, so that verdicts depend on what a program did, on any machine. What only a
real processor shows is injected: `injected` records requested waits and the time that
Python takes to parse a text, ``fading`` is the number of calls of an op after which
values are denormal.
"""

import json
import time
from bisect import bisect_right
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

import pellucid as torch
from pellucid._compile.state import compilations
from pellucid.diagnose.batches import Batches
from pellucid.diagnose.machine import machine
from pellucid.diagnose.recording import outermost
from pellucid.diagnose.session import settings_now
from pellucid.diagnose.sleeping import Sleeping
from pellucid.diagnose.training import Training
from pellucid.diagnose.verdict import WATCH, facts_of, report_of
from pellucid.profiler._timeline.costs import CostCounter
from pellucid.profiler._timeline.log import Kind, Session
from pellucid.profiler._timeline.shares import main_thread

_ARITHMETIC, _BYTES = 50e9, 10e9  # a second
_OWN = {Kind.CALL: 1_000, Kind.NODE: 300, Kind.PREPARE: 50_000}  # nanoseconds
_BETWEEN, _SLOWER = 300, 10
_ASLEEP, _BUSY = "asleep ", "busy "
_WAITS = {
    "distributed::wait": 0.01,
    "torch.save": 0.1,
    "torch.load": 0.1,
    "Tensor.__repr__": 0.001,
}


def roof():
    """A machine with the clock's rates, independent of the current one."""
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
def injected():
    """Records sleeping in the log instead, and that parsing takes 0.1 ms."""
    loads = json.loads

    def sleep(seconds):
        with torch.profiler.record_function(f"{_ASLEEP}{seconds}"):
            pass

    def parse(text):
        with torch.profiler.record_function(f"{_BUSY}0.0001"):
            return loads(text)

    with (
        mock.patch.object(time, "sleep", sleep),
        mock.patch.object(json, "loads", parse),
    ):
        yield


def diagnosed(work, files=(), fading=None):
    """The report of ``work()`` by this clock; restores settings."""
    costs, session, threads = CostCounter(), Session(WATCH), torch.get_num_threads()
    training, batches, sleeping = Training(), Batches(), Sleeping()
    training.start()
    batches.start()
    session.start()
    try:
        with injected(), compilations() as result:
            sleeping.start()
            try:
                work()
            finally:
                sleeping.stop()
    finally:
        log = session.stop()
        training.stop()
        batches.stop()
    settings = settings_now(files, result, log, training)
    settings |= {"padded": batches.padded, "rows": batches.rows}
    torch.set_num_threads(threads)
    torch.autograd.set_detect_anomaly(False)
    idle = retimed(log, costs, fading), 0.0
    return report_of(facts_of(log, costs, roof(), idle, settings))


def retimed(log, costs, fading=None):
    """Change a log's times to those of this clock; the seconds asleep in it."""
    columns, thread = log.columns, main_thread(log)
    own = thread.rows.tolist()
    work = {row: _nanoseconds(log, row, costs) for row in outermost(log, costs)}
    before = [columns.begin[row] for row in own]
    children, seen, slept = {}, Counter(), 0.0
    parents, names = columns.parent.tolist(), columns.name.tolist()
    kinds, lines = columns.kind.tolist(), columns.line.tolist()
    for row in own:
        children.setdefault(parents[row], []).append(row)

    def run(row, now):
        nonlocal slept
        columns.begin[row] = now
        now += _OWN.get(kinds[row], 0)
        for inner in children.get(row, ()):
            now = run(inner, now)
        seconds = _asleep(columns.names[names[row]])
        slept += seconds
        now += (seconds + _busy(columns.names[names[row]])) * 1e9
        if row in work:
            seen[names[row], lines[row]] += 1
            is_slow = fading is not None and seen[names[row], lines[row]] > fading
            now += work[row] * (_SLOWER if is_slow else 1)
        columns.end[row] = now
        return now

    now = log.begin
    for row in children.get(-1, ()):
        now = run(row, now + _BETWEEN)
    log.end = now + _BETWEEN
    after = [columns.begin[row] for row in own]
    for other in set(range(len(columns))) - set(own):
        place = bisect_right(before, columns.begin[other]) - 1
        moment = after[place] if place >= 0 else log.begin
        columns.begin[other] = columns.end[other] = moment
    return slept


def _asleep(name):
    """Seconds of requested waits, and of waits for another rank or a file."""
    if name.startswith(_ASLEEP):
        return float(name.removeprefix(_ASLEEP))
    return _WAITS.get(name, 0.0)


def _busy(name):
    """Seconds that Python takes."""
    return float(name.removeprefix(_BUSY)) if name.startswith(_BUSY) else 0.0


def _nanoseconds(log, row, costs):
    """The time of the operations and bytes; for a routine, the cube of its size."""
    name, arguments = log.columns.names[log.columns.name[row]], log.arguments(row)
    cost = costs.as_run(name, arguments)
    if cost is None:
        sizes = [a.shape for a in arguments if hasattr(a, "shape")]
        side = max((max(shape, default=1) for shape in sizes), default=1)
        return side**3 / _ARITHMETIC * 1e9 if "linalg" in name else 0
    operations = cost.operations
    arithmetic = operations.get("arithmetic", 0) / _ARITHMETIC
    slow = sum(operations.get(name, 0) for name in ("division", "elementary"))
    moved = (cost.bytes_read + cost.bytes_written) / _BYTES
    return max(arithmetic + slow / (_ARITHMETIC / 10), moved) * 1e9
