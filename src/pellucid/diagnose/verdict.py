"""From a log to a verdict: exclusive shares that sum to the wall time, lines, rules.

Called in the process that ran the program. The shares: "data" inside the loader,
"python" between calls, "overhead" of the runtime, "compute" and "bandwidth" by the roof
that bounds a call, "copy", "first-time" (traced, compiled, read), "wait" (asleep) and
"away" (another program had the core).
"""

from __future__ import annotations

import ast
import linecache
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np

from pellucid.diagnose.findings import Finding, Report
from pellucid.diagnose.imports import Imports
from pellucid.diagnose.machine import Machine
from pellucid.diagnose.recording import Computation, computations
from pellucid.diagnose.roofline import bound_of, roofline_of
from pellucid.diagnose.samples import Samples
from pellucid.diagnose.stacks import Inside, Stacks
from pellucid.diagnose.steps import Step, steps_of
from pellucid.profiler._timeline.columns import Array
from pellucid.profiler._timeline.costs import CostCounter
from pellucid.profiler._timeline.log import Kind, Line, Log, Watch
from pellucid.profiler._timeline.shares import Shares, main_thread, shares
from pellucid.profiler._timeline.storages import LOADER

WATCH = Watch.FACTS | Watch.LINES | Watch.MEMORY | Watch.STEPS | Watch.STACKS
CATEGORIES = (
    *("data", "python", "overhead", "compute", "bandwidth", "copy", "first-time"),
)
# A call that takes less is overhead if its cost is unknown, or small beside it.
_SHORT, _SMALL = 5e-6, 0.25


@dataclass
class LineTime:
    """The work of one line of the program; seconds by category."""

    line: Line
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    calls: int = 0
    items: list[Computation] = field(default_factory=list)

    @property
    def total(self) -> float:
        """Seconds without those of what is needed once."""
        return sum(s for name, s in self.seconds.items() if name != "first-time")

    def calls_of(self) -> int:
        """The number of computations."""
        return sum(item.calls for item in self.items)


@dataclass
class Facts:
    """The facts that rules read."""

    log: Log
    wall: float
    shares: dict[str, float]
    lines: dict[tuple[str, int], LineTime]
    items: list[Computation]
    roof: Machine
    settings: dict[str, Any]
    stacks: Stacks
    pieces: Shares
    data_share: float = 0.0  # of the loader, asleep or not
    steps: list[Step] = field(default_factory=list)
    first_time: float = 0.0  # seconds, with what of them was away
    is_part: bool = False  # of the program: its recording was full
    costs_missing: int = 0  # kinds of calls for which there was no time

    def share_of(self, seconds: float) -> float:
        """A part of the time that was not spent on what is needed once, at most all of
        it: a short run shows what a long one spends its time on.
        """
        steady = self.wall - self.first_time
        return min(seconds / steady, 1.0) if steady > 0 else 0.0

    def own_share(self, *categories: str) -> float:
        """Of the time that was neither away nor spent on what is needed once."""
        others = "away", "first-time"
        own = sum(s for name, s in self.shares.items() if name not in others)
        return sum(self.shares.get(name, 0.0) for name in categories) / max(own, 1e-9)

    def within(self, file: str, node: ast.AST) -> Inside:
        """The work inside of a node of a file's syntax tree, with what it called."""
        return self.stacks.within(file, node)

    def share_within(self, file: str, node: ast.AST) -> float:
        """The share of a node of a file's syntax tree: of its calls and what they
        called, or of Python's own time in it, if that is more.
        """
        own = [stack for stacks in self.sampled.values() for stack in stacks]
        first, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        inside = sum(
            any(name == file and first <= line <= last for name, line in stack)
            for stack in own
        )
        python = inside / max(len(self.samples.stacks), 1)
        return max(self.share_of(self.within(file, node).total), python)

    def records(self, rows: Array) -> bool:
        """Whether nodes of a graph were made between these calls."""
        return len(np.unique(self.log.columns.sequence[rows])) > 1

    def ranges(self, name: str) -> dict[tuple[str, int], tuple[float, int]]:
        """Of each line the seconds in ranges of a name, and their number."""
        totals: dict[tuple[str, int], tuple[float, int]] = {}
        columns = self.log.columns
        for row in np.flatnonzero(columns.is_named(Kind.RANGE, name)).tolist():
            line = self.log.user_line(int(columns.line[row]))
            if line is not None:
                place = line.file, line.number
                seconds, count = totals.get(place, (0.0, 0))
                took = float(columns.end[row] - columns.begin[row]) / 1e9
                totals[place] = seconds + took, count + 1
        return totals

    def repeated(self, name: str, least: int) -> list[tuple[str, int, float, int]]:
        """The lines that spend a tenth of the time in ranges of a name, ``least`` of
        them or more: file, line, share of the time, number.
        """
        lines = self.ranges(name).items()
        found = [(*place, self.share_of(s), count) for place, (s, count) in lines]
        return [line for line in found if line[2] >= 0.1 and line[3] >= least]

    @cached_property
    def backward(self) -> dict[tuple[str, int], float]:
        """Of each line of forward passes the seconds of its nodes."""
        columns = self.log.columns
        calls = columns.rows_of(Kind.CALL)
        calls = calls[(columns.parent[calls] < 0) & (columns.sequence[calls] >= 0)]
        nodes = columns.rows_of(Kind.NODE)
        nodes = nodes[columns.sequence[nodes] >= 0]
        calls = calls[np.argsort(columns.sequence[calls], kind="stable")]
        # A call's number is that of the node before the one it makes.
        place = np.searchsorted(columns.sequence[calls], columns.sequence[nodes]) - 1
        nodes, place = nodes[place >= 0], place[place >= 0]
        numbers, lines = self.log.user_lines(calls[place])
        is_known = numbers >= 0
        durations = (columns.end[nodes] - columns.begin[nodes])[is_known] / 1e9
        sums = np.bincount(numbers[is_known], durations, len(lines))
        return {
            (line.file, line.number): float(seconds)
            for line, seconds in zip(lines, sums, strict=True)
        }

    @property
    def samples(self) -> Samples:
        """Of the main thread's lines; none without a timer."""
        samples: Samples = self.settings.get("samples") or Samples()
        return samples

    @cached_property
    def sampled(self) -> dict[int, list[tuple[tuple[str, int], ...]]]:
        """Of each row of the log the samples in Python's own time before it."""
        samples, found = self.samples, defaultdict(list)
        rows = samples.rows(self.log.columns.begin, self.pieces)
        for row, stack in zip(rows.tolist(), samples.stacks, strict=True):
            if row >= 0:
                found[row].append(stack)
        return dict(found)

    @cached_property
    def sampled_in_loader(self) -> list[tuple[tuple[str, int], ...]]:
        """The samples inside of the loader, of Python's time and of calls: the frames
        that the loader called.
        """
        samples, columns = self.samples, self.log.columns
        ranges = columns.is_named(Kind.RANGE, LOADER)
        begin, end = np.sort(columns.begin[ranges]), np.sort(columns.end[ranges])
        moments = np.array(samples.moments, np.float64)
        inside = np.searchsorted(begin, moments) > np.searchsorted(end, moments)
        callers = self.ranges(LOADER)
        return [
            tuple(takewhile(lambda place: place not in callers, stack))
            for stack, is_in in zip(samples.stacks, inside, strict=True)
            if is_in
        ]

    @property
    def files(self) -> list[str]:
        """The script, then what else of the program ran."""
        scripts = self.settings.get("files", ())
        return list(dict.fromkeys([*scripts, *(file for file, _ in self.lines)]))

    def matching(self, pattern: str) -> Iterator[tuple[str, int, str]]:
        """(file, number, text) of the program's lines that hold a pattern."""
        for file in self.files:
            for number, text in enumerate(linecache.getlines(file), 1):
                if re.search(pattern, text):
                    yield file, number, text.rstrip("\n")


def facts_of(
    log: Log,
    costs: CostCounter,
    roof: Machine,
    idle: tuple[float, float],
    settings: dict[str, Any],
) -> Facts:
    """What rules look at; ``idle``: seconds asleep, and ready without a core."""
    items = computations([log], costs)
    categories = _categories_of_calls(log, items, roof)
    pieces = shares(log, main_thread(log))
    category = _categories_of_pieces(log, pieces, categories)
    imports = settings.get("imports")
    if imports is not None:
        pieces, category = _imports_apart(log, pieces, category, imports)
    seconds = pieces.nanoseconds / 1e9
    total = np.bincount(category, seconds, len(CATEGORIES))
    sums = {name: float(s) for name, s in zip(CATEGORIES, total, strict=True) if s}
    by_line = _lines_of(log, pieces, category)
    for item in items:
        if item.line is not None:
            key = item.line.file, item.line.number
            by_line.setdefault(key, LineTime(item.line)).items.append(item)
    wall = (log.end - log.begin) / 1e9
    divided = _divided(sums, wall, *idle)
    data = sums.get("data", 0.0) / wall * (1 - divided.get("away", 0.0))
    moments = np.append(log.columns.begin, log.end)[pieces.rows]
    steps = steps_of(log, moments, category, seconds, CATEGORIES)
    once = sums.get("first-time", 0.0)
    stacks = Stacks(log, pieces, category, CATEGORIES)
    return Facts(
        *(log, wall, divided, by_line, items, roof, settings, stacks, pieces),
        *(data, steps, once),
        costs_missing=costs.missing,
    )


def _imports_apart(
    log: Log, pieces: Shares, category: Array, imports: Imports
) -> tuple[Shares, Array]:
    """The pieces and their categories, with the imports in Python's time between calls
    as pieces of their own.
    """
    end = np.append(log.columns.begin, log.end)[pieces.rows]
    inside = imports.within(end - pieces.nanoseconds, end)
    inside = np.minimum(np.where(pieces.is_python, inside, 0.0), pieces.nanoseconds)
    places = np.flatnonzero(inside)
    apart = np.full(len(places), CATEGORIES.index("first-time"))
    found = Shares(
        np.concatenate([pieces.rows, pieces.rows[places]]),
        np.concatenate([pieces.nanoseconds - inside, inside[places]]),
        np.concatenate([pieces.is_python, pieces.is_python[places]]),
    )
    return found, np.concatenate([category, apart])


def _lines_of(
    log: Log, pieces: Shares, category: Array
) -> dict[tuple[str, int], LineTime]:
    """The time of each line of the program by category."""
    is_event = pieces.rows >= 0
    rows, seconds = pieces.rows[is_event], pieces.nanoseconds[is_event] / 1e9
    category, is_python = category[is_event], pieces.is_python[is_event]
    places, lines = log.user_lines(rows)
    is_known, width = places >= 0, len(CATEGORIES)
    cells = places[is_known] * width + category[is_known]
    times = np.bincount(cells, seconds[is_known], len(lines) * width)
    is_call = is_known & ~is_python & (log.columns.kind[rows] == Kind.CALL)
    calls = np.bincount(places[is_call], minlength=len(lines))
    entries = {}
    for number, line in enumerate(lines):
        entry = LineTime(line, calls=int(calls[number]))
        own = times[number * width : (number + 1) * width]
        for name, spent in zip(CATEGORIES, own.tolist(), strict=True):
            if spent:
                entry.seconds[name] = spent
        entries[line.file, line.number] = entry
    return entries


def _divided(
    sums: dict[str, float], wall: float, asleep: float, away: float
) -> dict[str, float]:
    """Shares of the wall time. Sleep was Python's or the loader's; a core was missing
    in any category, but not while the thread was asleep.
    """
    shares, waited = dict(sums), 0.0
    for name in ("python", "data"):
        part = min(asleep, shares.get(name, 0.0))
        shares[name] = shares.get(name, 0.0) - part
        waited += part
        asleep -= part
    total = sum(shares.values())
    away = min(away, total)
    scale = (total - away) / total if total else 0.0
    shares = {name: seconds * scale for name, seconds in shares.items()}
    shares |= {"wait": waited, "away": away}
    return {name: seconds / wall for name, seconds in shares.items() if seconds > 0}


def _categories_of_calls(log: Log, items: list[Computation], roof: Machine) -> Array:
    """Of each row that is a computation the place of its category, else -1.

    An op's shortest call at a line decides for all that are alike; longer ones may have
    waited for a core.
    """
    least: dict[tuple[str, Line | None], float] = {}
    for item in items:
        place = item.name, item.line
        shortest = float(item.seconds.min())
        least[place] = min(least.get(place, shortest), shortest)
    categories = np.full(len(log.columns), -1)
    for item in items:
        category = _category(item, least[item.name, item.line], roof)
        categories[item.rows] = CATEGORIES.index(category)
    return categories


def _category(item: Computation, least: float, roof: Machine) -> str:
    if item.is_copy:
        return "copy"
    if item.run is None:
        return "overhead" if least < _SHORT else "compute"
    bound, limit = bound_of(item, roof)
    if limit == "calls" or (least < _SHORT and bound < _SMALL * least):
        return "overhead"
    return "compute" if limit == "compute" else "bandwidth"


def _categories_of_pieces(log: Log, pieces: Shares, of_calls: Array) -> Array:
    """Of each piece the place of its category."""
    columns, rows = log.columns, pieces.rows
    kind = np.append(columns.kind, Kind.COLLECT)[rows]  # of the last: Python's
    call = columns.nearest(rows, of_calls >= 0)
    is_python = pieces.is_python | (kind == Kind.COLLECT)
    in_loader = columns.nearest(rows, columns.is_named(Kind.RANGE, LOADER)) >= 0
    known = [in_loader, is_python, kind == Kind.PREPARE, call >= 0]
    places = [CATEGORIES.index(name) for name in ("data", "python", "first-time")]
    categories: Array = np.select(
        known,
        [*places, np.append(of_calls, -1)[call]],
        CATEGORIES.index("overhead"),
    )
    return categories


_KIND_OF = {"python": "overhead"}


def report_of(facts: Facts) -> Report:
    """The verdict with the findings of all rules, not measured yet."""
    from pellucid.diagnose.rules import all_findings

    every, failures = all_findings(facts)
    if facts.costs_missing:
        failures.append(f"{facts.costs_missing} kinds of calls: no time for their cost")
    findings = [finding for finding in every if not finding.is_question]
    places: dict[tuple[Any, ...], Finding] = {}
    for finding in sorted(findings, key=lambda f: (-f.share, f.patch is None)):
        finding.bound = 1 / max(1 - finding.share * finding.part, 0.01)
        place: tuple[Any, ...] = (
            *(finding.file, finding.line, finding.kind, finding.is_option),
        )
        if finding.patch is not None:  # an experiment says which one is the better
            place = *place, finding.fix
        places.setdefault(place, finding)
    roofs = roofline_of(facts.items, facts.roof)
    own: dict[str, float] = defaultdict(float)
    for name, share in facts.shares.items():
        if name != "away":
            own[_KIND_OF.get(name, name)] += share
    calls = len(facts.log.columns.rows_of(Kind.CALL))
    return Report(
        kind=max(own, key=lambda name: own[name], default="overhead"),
        shares=facts.shares,
        seconds=facts.wall,
        calls=calls,
        machine=str(facts.roof),
        roof=max(
            (1 - facts.shares.get("away", 0.0)) / max(roofs.share_of_roof, 1e-3), 1.0
        ),
        findings=[entry for entry in places.values() if not entry.is_option],
        options=[entry for entry in places.values() if entry.is_option],
        rows=roofs.rows,
        steps=facts.steps,
        is_part=facts.is_part,
        failures=failures,
        questions=[finding for finding in every if finding.is_question],
    )
