"""Measures a patch's gain: original and patched program alternate in child processes.

Every run is a separate process that executes the script with the text of some files
replaced; no file is changed. A gain is the ratio of the fastest runs, within the
interval of the pairs' ratios; it counts if the lower end of that is above 1.05, or if
the peak of memory falls by a twentieth.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pellucid.diagnose.findings import Finding, Report

_PAIRS = 5  # at the most
_GAIN, _SAVING = 1.05, 0.05
_UNPROVED = 0.3  # share of the time from which a fix is named that was not tried
_SLOWER = 0.9  # than this: memory is not worth it, and above the noise
_CERTAIN, _GUESSED = 0.8, 0.4  # parts of a share that an untried fix may save
_ASKED = 0.08  # share of the time from which values are compared
_PATIENCE = 3  # times as long as there is time: other programs may have the cores
_TIMES, _BESIDES = 3, 4.0  # what a report takes: times the program's, and seconds


class Program:
    """A script and its arguments, to be run in a child process."""

    def __init__(self, script: str, arguments: Sequence[str]) -> None:
        self.script, self.arguments = script, list(arguments)

    def run(
        self,
        mode: str,
        patched: dict[str, str] | None = None,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        """What the child reports; "output" is what the program printed. RuntimeError
        if the program fails, or takes longer than ``seconds``.
        """
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder, "result.json")
            texts = Path(folder, "patched.json")
            texts.write_text(json.dumps(patched or {}))
            command = [sys.executable, "-m", "pellucid.diagnose.child"]
            command += [mode, str(result), str(texts), self.script, *self.arguments]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=seconds
                )
            except subprocess.TimeoutExpired as late:
                raise RuntimeError(f"{self.script} took {late.timeout} s") from None
            if done.returncode or not result.exists():
                raise RuntimeError(
                    f"{self.script} ended with {done.returncode}:\n{done.stderr[-999:]}"
                )
            measured: dict[str, Any] = json.loads(result.read_text())
            return {**measured, "output": done.stdout}


def measure(
    program: Program, report: Report, begin: float, output: str | None = None
) -> None:
    """Fills in the gains of a report's findings, and drops findings without a gain, and
    those that change what is to stay the same; ``output``: of the recorded run.

    Stops after three times the program's time plus 4 s since ``begin``, not counting
    time in which children had no core. The most important findings are measured first;
    the rest stays unmeasured.
    """
    begin += _ask(program, report)
    every = [*report.findings, *report.options]
    wanted = [f for f in every if f.patch is not None]
    wanted.sort(key=lambda f: (f.is_option, not f.is_certain, -f.share))
    plain: list[dict[str, Any]] = []
    runs: dict[int, list[dict[str, Any]]] = {id(finding): [] for finding in wanted}
    failed: set[int] = set()
    shortest, longest, end = float("inf"), 0.0, float("inf")
    for _ in range(_PAIRS if wanted else 0):
        if time.perf_counter() + longest >= end:
            break
        start = time.perf_counter()
        plain.append(program.run("time"))
        away = plain[-1]["away"]
        wall = time.perf_counter() - start
        took = wall - away
        shortest, longest, begin = min(shortest, took), max(longest, took), begin + away
        end = begin + _TIMES * shortest + _BESIDES
        for finding in wanted:
            left = end - time.perf_counter()
            is_first = finding is wanted[0] and not runs[id(finding)]
            if id(finding) in failed or (left <= longest and not is_first):
                continue
            found = _patched(program, finding, _PATIENCE * max(left, wall))
            runs[id(finding)] += found
            failed |= set() if found else {id(finding)}
            away = sum(one["away"] for one in found)
            begin, end = begin + away, end + away
    for finding in wanted:
        judge(finding, plain, runs[id(finding)])
    replay([f for f in every if f.replay is not None and f.patch is None])
    for finding in report.findings:
        if finding.pairs == 1 and not is_worth(finding):
            finding.measured_gain = None  # one pair may be disturbed by other programs
    for finding in wanted:
        if finding.is_certain and id(finding) in failed:
            finding.patch = None
    tried = [
        f
        for f in wanted
        if f.measured_gain is not None or (id(f) in failed and f.patch is not None)
    ]
    useless = {id(f) for f in tried if not is_worth(f)}
    if all(run["output"] == output for run in plain):  # it depends on the program alone
        useless |= {id(f) for f in wanted if f.keeps_output and f.same_output is False}
    useless |= {id(f) for f in every if f.replayed_gain and f.replayed_gain[1] <= _GAIN}
    untried = (f for f in wanted if f.patch is not None and f.measured_gain is None)
    useless |= {id(f) for f in untried if f.share < _UNPROVED and not f.is_certain}
    report.dropped = [f.text for f in every if id(f) in useless]
    worth = [f for f in report.findings if id(f) not in useless]
    report.findings = sorted(not_mended(best_of_each_line(worth)), key=_rank)
    report.options = [f for f in report.options if is_worth(f)]


def _ask(program: Program, report: Report) -> float:
    """Adds what the values of a program's expressions show; seconds without a core."""
    from pellucid.diagnose.instrument import Probes
    from pellucid.diagnose.rules import all_answers

    if sum(question.share for question in report.questions) < _ASKED:
        return 0.0
    probes = Probes([(one.file, one.line) for one in report.questions])
    try:
        values = program.run("values", probes.texts)
    except RuntimeError as error:
        report.failures = [*report.failures, f"no values compared: {error}"]
        return 0.0
    found = all_answers(probes.places, values, report.questions)
    fixed = {
        (one.patch.file, number)
        for one in report.findings
        if one.patch is not None and one.keeps_output
        for first, last, _ in one.patch.edits
        for number in range(first, last + 1)
    }
    report.findings += [one for one in found if (one.file, one.line) not in fixed]
    report.findings.sort(key=_rank)
    return float(values["away"])


def _rank(finding: Finding) -> float:
    """Orders findings: the greatest gain first, measured or to be expected."""
    if finding.measured_gain is not None:
        return -finding.measured_gain[0]
    part = _CERTAIN if finding.is_certain else _GUESSED
    return -1 / (1 - part * min(finding.share, 1.0))


def _patched(
    program: Program, finding: Finding, seconds: float
) -> list[dict[str, Any]]:
    """One run; none if the patched program fails or takes longer."""
    patch = finding.patch
    assert patch is not None
    source = Path(patch.file).read_text(encoding="utf-8")
    try:
        return [program.run("time", {patch.file: patch.apply(source)}, seconds)]
    except RuntimeError:
        return []


def judge(
    finding: Finding, plain: list[dict[str, Any]], patched: list[dict[str, Any]]
) -> None:
    """Fills in the result of pairs of runs: dicts of seconds, peak and output."""
    pairs = list(zip(plain, patched, strict=False))
    if not pairs:
        return
    ratios = sorted(a["seconds"] / b["seconds"] for a, b in pairs)
    cut = len(ratios) // 5  # extremes of many pairs are caused by other programs
    low, high = ratios[cut], ratios[len(ratios) - 1 - cut]
    # Other programs only add time, so the fastest runs are least disturbed.
    gain = min(a["seconds"] for a, _ in pairs) / min(b["seconds"] for _, b in pairs)
    finding.measured_gain = min(max(gain, low), high), low, high
    finding.pairs = len(pairs)
    finding.same_output = all(a["output"] == b["output"] for a, b in pairs)
    for peak in ("peak", "resident") if finding.kind == "peak" else ("peak",):
        before = min(a.get(peak, 0) for a, _ in pairs)
        saved = before - min(b.get(peak, 0) for _, b in pairs)
        if saved > _SAVING * before:
            finding.saved_bytes = max(saved, finding.saved_bytes)
    if finding.patch is not None:
        finding.patched = finding.patch.diff()


def best_of_each_line(findings: list[Finding]) -> list[Finding]:
    """Keeps the fix with the greatest measured gain among several for one line's time
    or memory.
    """

    def place(finding: Finding) -> tuple[str, int, bool]:
        return finding.file, finding.line, finding.kind in ("peak", "leak")

    best: dict[tuple[str, int, bool], Finding] = {}
    for finding in findings:
        if finding.measured_gain is not None:
            known = best.setdefault(place(finding), finding)
            assert known.measured_gain is not None
            if finding.measured_gain > known.measured_gain:
                best[place(finding)] = finding
    return [f for f in findings if best.get(place(f), f) is f]


def not_mended(findings: list[Finding]) -> list[Finding]:
    """Drops unmeasured findings at lines that a measured fix changes, or of which a
    certain one is known.
    """
    changed = {
        (finding.patch.file, number)
        for finding in findings
        if finding.patch is not None and finding.measured_gain is not None
        for first, last, _ in finding.patch.edits
        for number in range(first, last + 1)
    }
    certain = {(f.file, f.line) for f in findings if f.is_certain}
    return [
        f
        for f in findings
        if f.measured_gain is not None
        or ((f.file, f.line) not in changed | certain)
        or (f.is_certain and (f.file, f.line) not in changed)
    ]


def replay(findings: list[Finding]) -> None:
    """Fills in the gains of replacement expressions, in one child process."""
    if not findings:
        return
    wanted = [asdict(f.replay) for f in findings if f.replay is not None]
    with tempfile.TemporaryDirectory() as folder:
        result, texts = Path(folder, "result.json"), Path(folder, "replays.json")
        texts.write_text(json.dumps(wanted))
        command = [sys.executable, "-m", "pellucid.diagnose.replays"]
        done = subprocess.run([*command, str(texts), str(result)], capture_output=True)
        gains = json.loads(result.read_text()) if not done.returncode else []
    for finding, gain in zip(findings, gains, strict=False):
        finding.replayed_gain = tuple(gain) if gain else None


def is_worth(finding: Finding) -> bool:
    """Whether a measurement is a gain: of time, or of memory if the finding is about
    memory or no time is lost.
    """
    gain = finding.measured_gain
    if gain is None:
        return False
    is_memory = finding.kind in ("peak", "leak")
    is_slower = gain[2] < _SLOWER
    saves = is_memory or not (finding.is_option or is_slower)
    return gain[1] > _GAIN or (finding.saved_bytes > 0 and saves)
