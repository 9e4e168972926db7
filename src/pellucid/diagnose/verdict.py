"""From a log to a verdict: exclusive shares that sum to the wall time, lines, rules.

Called in the process that ran the program. The shares: "data" inside the loader,
"python" between calls, "overhead" of the runtime, "compute" and "bandwidth" by the roof
that bounds a call, "copy", "first-time" (traced, compiled, read), "wait" (asleep) and
"away" (another program had the core).
"""

from __future__ import annotations

import linecache
import re
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pellucid._compile.state import compilations
from pellucid.diagnose.findings import Finding, Report
from pellucid.diagnose.machine import Machine, machine
from pellucid.diagnose.recording import Computation, computations, shown_op
from pellucid.diagnose.roofline import bound_of, roofline_of
from pellucid.diagnose.steps import Step, steps_of
from pellucid.profiler._timeline.costs import CostCounter
from pellucid.profiler._timeline.log import Event, Kind, Line, Log, Session, Watch
from pellucid.profiler._timeline.shares import main_thread, shares
from pellucid.profiler._timeline.storages import ancestors

WATCH = Watch.FACTS | Watch.LINES | Watch.MEMORY | Watch.STEPS
COPIES = {
    *("clone", "contiguous", "copy_", "cat", "stack", "to", "_to_copy", "repeat"),
    *("repeat_interleave", "tile", "double", "float", "type_as"),
}
_SHORT = 5e-6  # a call of unknown cost that is overhead, in seconds


@dataclass
class LineTime:
    """What one line of the program did; seconds by category."""

    line: Line
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    calls: int = 0
    items: list[Computation] = field(default_factory=list)

    @property
    def total(self) -> float:
        """Seconds of all categories."""
        return sum(self.seconds.values())


@dataclass
class Facts:
    """What rules look at."""

    log: Log
    wall: float
    shares: dict[str, float]
    lines: dict[tuple[str, int], LineTime]
    items: list[Computation]
    roof: Machine
    settings: dict[str, Any]
    data_share: float = 0.0  # of the loader, asleep or not
    steps: list[Step] = field(default_factory=list)

    def share_of(self, seconds: float) -> float:
        """A part of the wall time, at most all of it."""
        return min(seconds / self.wall, 1.0) if self.wall else 0.0

    def own_share(self, *categories: str) -> float:
        """Of the time that was not away."""
        own = sum(share for name, share in self.shares.items() if name != "away")
        return sum(self.shares.get(name, 0.0) for name in categories) / max(own, 1e-9)

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


class Recording:
    """A session that also reads the clocks of the thread."""

    def __init__(self) -> None:
        machine()  # before the clock
        self._costs = CostCounter()
        self._session = Session(WATCH)
        self._compilations = compilations()

    def start(self) -> None:
        """Record from now on."""
        self._made = self._compilations.__enter__()
        self._cpu, self._delay = time.thread_time(), _run_delay()
        self._session.start()

    def stop(self, files: Sequence[str] = ()) -> Facts:
        """What the rules need; ``files``: the program's own."""
        cpu, delay = time.thread_time() - self._cpu, _run_delay() - self._delay
        log = self._session.stop()
        self._compilations.__exit__(None, None, None)
        settings = settings_now(files, self._made)
        wall = (log.end - log.begin) / 1e9
        delay = min(delay, max(wall - cpu, 0.0))
        asleep = max(wall - cpu - delay, 0.0)
        return facts_of(log, self._costs, machine(), (asleep, delay), settings)


def settings_now(files: Sequence[str], made: Sequence[Any]) -> dict[str, Any]:
    """How the program ran, besides its calls; ``made``: its compiled callables."""
    import pellucid

    return {
        "anomaly": pellucid.is_anomaly_enabled(),
        "threads": pellucid.get_num_threads(),
        "files": list(files),
        "compilations": list(made),
        "memory": pellucid.memory.stats(),
    }


def _run_delay() -> float:
    """Seconds that this thread was ready and had no core."""
    try:
        thread = threading.get_native_id()
        with open(f"/proc/self/task/{thread}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def facts_of(
    log: Log,
    costs: CostCounter,
    roof: Machine,
    idle: tuple[float, float],
    settings: dict[str, Any],
) -> Facts:
    """What rules look at; ``idle``: seconds asleep, and ready without a core."""
    items = computations([log], costs)
    least: dict[tuple[str, str], float] = {}
    for item in items:
        place = item.name, str(item.line)
        least[place] = min(least.get(place, item.seconds), item.seconds)
    category_of = {
        item.event: _category(item, least[item.name, str(item.line)], roof)
        for item in items
    }
    by_line: dict[tuple[str, int], LineTime] = {}
    sums: dict[str, float] = defaultdict(float)
    pieces: list[tuple[float, str, float]] = []
    thread = main_thread(log)
    for event, nanoseconds, is_python in shares(log, thread) if thread else ():
        category = _category_of_share(event, is_python, category_of)
        sums[category] += nanoseconds / 1e9
        moment = event.begin if event is not None else log.end
        pieces.append((moment, category, nanoseconds / 1e9))
        line = log.user_line(event.line) if event is not None else None
        if line is not None:
            key = line.file, line.number
            entry = by_line.setdefault(key, LineTime(line))
            entry.seconds[category] += nanoseconds / 1e9
            entry.calls += (
                event is not None and event.kind is Kind.CALL and not is_python
            )
    for item in items:
        if item.line is not None:
            key = item.line.file, item.line.number
            by_line.setdefault(key, LineTime(item.line)).items.append(item)
    wall = (log.end - log.begin) / 1e9
    divided = _divided(sums, wall, *idle)
    data = sums["data"] / wall * (1 - divided.get("away", 0.0))
    steps = steps_of(log, pieces)
    return Facts(log, wall, divided, by_line, items, roof, settings, data, steps)


def _divided(
    sums: dict[str, float], wall: float, asleep: float, away: float
) -> dict[str, float]:
    """Shares of the wall time. Sleep was Python's or the loader's; a core was missing
    in any category.
    """
    found = dict(sums)
    found["wait"] = 0.0
    for name in ("python", "data"):
        part = min(asleep, found.get(name, 0.0))
        found[name] = found.get(name, 0.0) - part
        found["wait"] += part
        asleep -= part
    total = sum(found.values())
    away = min(away, total)
    scale = (total - away) / total if total else 0.0
    found = {name: seconds * scale for name, seconds in found.items()}
    found["away"] = away
    return {name: seconds / wall for name, seconds in found.items() if seconds > 0}


def _category(item: Computation, least: float, roof: Machine) -> str:
    """``least``: seconds of the op's shortest call at the line; longer ones may have
    waited for a core.
    """
    if item.name in COPIES:
        return "copy"
    if item.run is None:
        return "overhead" if least < _SHORT else "compute"
    limit = bound_of(item, roof)[1]
    if limit == "calls":
        return "overhead"
    return "compute" if limit == "compute" else "bandwidth"


def _category_of_share(
    event: Event | None, is_python: bool, known: dict[Event, str]
) -> str:
    around = [] if event is None else [event, *ancestors(event)]
    if any(
        e.kind is Kind.RANGE and e.name.startswith("enumerate(Data") for e in around
    ):
        return "data"
    if event is None or is_python or event.kind is Kind.COLLECT:
        return "python"
    if event.kind is Kind.PREPARE:
        return "first-time"
    for outer in around:
        if outer in known:
            return known[outer]
    return "overhead"


_KIND_OF = {"python": "overhead"}


def report_of(facts: Facts) -> Report:
    """The verdict with the findings of all rules, none of them measured yet."""
    from pellucid.diagnose.rules import all_rules

    findings: list[Finding] = []
    for rule in all_rules():
        findings += rule(facts)
    places: dict[tuple[str, int, str], Finding] = {}
    for finding in sorted(findings, key=lambda f: -f.share):
        finding.bound = 1 / max(1 - finding.share, 0.01)
        places.setdefault((finding.file, finding.line, finding.kind), finding)
    roofs = roofline_of(facts.items, facts.roof)
    own = {name: share for name, share in facts.shares.items() if name != "away"}
    name = max(own, key=lambda n: own[n], default="overhead")
    calls = sum(event.kind is Kind.CALL for event in facts.log.events)
    return Report(
        kind=_KIND_OF.get(name, name),
        shares=facts.shares,
        seconds=facts.wall,
        calls=calls,
        machine=str(facts.roof),
        roof=1 / max(roofs.share_of_roof, 1e-3),
        findings=[found for found in places.values() if not found.is_option],
        options=[found for found in places.values() if found.is_option],
        rows=roofs.rows,
        steps=facts.steps,
    )


def op_name(event: Event) -> str:
    """As reports have it."""
    return shown_op(event.name)
