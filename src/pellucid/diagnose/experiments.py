"""Measures a patch's gain: original and patched program alternate in child processes.

Every run is a separate process that executes the script with the text of some files
replaced; no file is changed. The runs of a pair follow each other directly, in changing
order: what else the machine does is alike for both. ``judging.py`` says what they show.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO

from pellucid.diagnose.budget import Budget
from pellucid.diagnose.findings import Finding, Report
from pellucid.diagnose.judging import (
    GAIN,
    best_of_each_line,
    interval,
    is_proved,
    is_worth,
    judge,
    not_mended,
    rank,
    ratios_of,
)
from pellucid.diagnose.values import SECONDS

_PAIRS = 9  # at the most; fewer once the interval of some is narrow enough
_NARROW = {2: 1.06, 3: 1.1, 5: 1.2}
_UNPROVED = 0.3  # share of the time from which a fix is named that was not tried
_ASKED = 0.08  # share of the time from which values are compared
_OF_VALUES = 0.4  # of the time that is left: to compare values
_OF_REPLAYS, _REPLAY = 1.0, 0.6  # seconds: to start a process, and of each replay
_LEAST = 0.5  # seconds in which values show anything


class Program:
    """A script and its arguments, to be run in child processes: each is a fork of one
    that has imported this package, which ends with this object.
    """

    def __init__(self, script: str, arguments: Sequence[str]) -> None:
        self.script, self.arguments = script, list(arguments)

    @cached_property
    def _channel(self) -> TextIO:
        own, other = socket.socketpair()
        with own, other:
            command = [sys.executable, "-m", "pellucid.diagnose.child"]
            command += [str(other.fileno()), self.script, *self.arguments]
            handed, nothing = (other.fileno(),), subprocess.DEVNULL
            self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
            process = subprocess.Popen(
                command, pass_fds=handed, stdout=nothing, stderr=self._errors
            )
            channel = own.makefile("rw", encoding="utf-8")
        weakref.finalize(self, _end, channel, process, self._errors)
        return channel

    def run(
        self,
        mode: str,
        patched: dict[str, str] | None = None,
        limit: float | None = None,
        seconds: float = SECONDS,
    ) -> dict[str, Any]:
        """What the child reports; "output" is what the program printed, "spent" are the
        seconds of "wall" that the run took, without those in which it had no core.
        RuntimeError if the program fails, or takes longer than ``limit``. ``seconds``:
        of the CPU, in which values are compared.
        """
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            request = {"mode": mode, "patched": patched or {}, "limit": limit}
            request |= {"folder": folder, "seconds": seconds}
            reply: dict[str, Any] = {}
            with contextlib.suppress(ConnectionError):
                print(json.dumps(request), file=self._channel, flush=True)
                reply = json.loads(self._channel.readline() or "{}")
            if not reply:
                self._errors.seek(0)
                raise RuntimeError(
                    f"the process that starts {self.script} has ended:\n"
                    f"{self._errors.read()[-999:]}"
                )
            if reply["status"] is None:
                raise RuntimeError(f"{self.script} took {limit:.1f} s")
            output, errors, result = (
                Path(folder, name) for name in ("output", "errors", "result")
            )
            if reply["status"] or not result.exists():
                said = errors.read_text() if errors.exists() else ""
                raise RuntimeError(
                    f"{self.script} ended with {reply['status']}:\n{said[-999:]}"
                )
            written = json.loads(result.read_text())
            measured: dict[str, Any] = json.loads(written["found"])
            spent = written["spent"] + reply["spent"]
            wall = time.perf_counter() - begin
            measured |= {"spent": spent, "wall": wall, "output": output.read_text()}
            return measured


def _end(channel: TextIO, process: subprocess.Popen[bytes], errors: TextIO) -> None:
    with contextlib.suppress(ConnectionError):  # the process has ended
        channel.close()
    process.wait()
    errors.close()


def measure(
    program: Program, report: Report, budget: Budget, output: str | None = None
) -> None:
    """Fills in the gains of a report's findings, and drops findings without a gain, and
    those that change what is to stay the same; ``output``: of the recorded run.

    A part of the budget compares values, replays have some seconds, pairs of runs the
    rest. The most important findings are measured first; what is not has no gain.
    """
    _ask(program, report, budget)
    every = [*report.findings, *report.options]
    wanted = [f for f in every if f.patch is not None]
    wanted.sort(key=lambda f: (f.is_option, not f.is_certain, -f.share * f.part))
    replays = [f for f in every if f.replay is not None and f.patch is None]
    kept = _OF_REPLAYS + _REPLAY * min(len(replays), 3) if replays else 0.0
    trials = Trials(program, budget, kept)
    for turn in range(_PAIRS):
        if not trials.turn(wanted, is_reversed=bool(turn % 2)):
            break
    for finding in wanted:
        judge(finding, *trials.sides(finding))
    failed = trials.failed
    replay(replays, max(budget.left, kept))
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
    # By the program alone; of a part that was recorded, the first part.
    if output is not None and _repeats(trials.plain, output, report.is_part):
        useless |= {id(f) for f in wanted if f.keeps_output and f.same_output is False}
    useless |= {id(f) for f in every if f.replayed_gain and f.replayed_gain[1] <= GAIN}
    seconds = max(report.own_seconds, 1e-9), report.steady
    replayed = (f for f in every if f.replayed_gain)
    useless |= {id(f) for f in replayed if f.estimate(*seconds) < GAIN}
    untried = (f for f in wanted if f.patch is not None and f.measured_gain is None)
    useless |= {id(f) for f in untried if f.share < _UNPROVED and not f.is_certain}
    useless |= {id(f) for f in every if not is_proved(f)}
    report.dropped = [f.text for f in every if id(f) in useless]
    worth = [f for f in report.findings if id(f) not in useless]
    report.findings = sorted(not_mended(best_of_each_line(worth)), key=rank)
    report.options = [f for f in report.options if is_worth(f)]


class Trials:
    """Runs of the original and of patched programs, until there is no time: ``plain``,
    the original's, and ``failed``, by identity the findings whose patch does not run.
    ``kept``: seconds of the budget that are for others.
    """

    def __init__(self, program: Program, budget: Budget, kept: float = 0.0) -> None:
        self._program, self._budget, self._kept = program, budget, kept
        self.plain: list[dict[str, Any]] = []
        self.failed: set[int] = set()
        self._pairs: dict[int, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
        self._longest = 0.0

    def turn(self, findings: Sequence[Finding], is_reversed: bool) -> bool:
        """A run of the original and of each patch whose gain is not certain yet, in the
        order of their importance or, reversed, the original last; whether there were.
        """
        wanted = [f for f in findings if not self._is_done(f)]
        if not wanted or (self.plain and self._left() <= self._longest):
            return False
        made: list[tuple[Finding, dict[str, Any]]] = []
        if not is_reversed:
            self._run_plain()
        for finding in wanted:
            is_first = finding is findings[0] and not self._pairs
            needed = self._longest * (2 if is_reversed else 1)
            if is_first or self._left() > needed:
                made += [(finding, one) for one in self._run_patched(finding)]
        if is_reversed and made:
            self._run_plain()
        for finding, one in made:
            self._pairs.setdefault(id(finding), []).append((self.plain[-1], one))
        return bool(made)

    def sides(
        self, finding: Finding
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The runs of the original and of a finding's patch, in pairs."""
        pairs = self._pairs.get(id(finding), [])
        return [a for a, _ in pairs], [b for _, b in pairs]

    def _is_done(self, finding: Finding) -> bool:
        ratios = ratios_of(*self.sides(finding))
        limits = [limit for count, limit in _NARROW.items() if len(ratios) >= count]
        low, high = interval(ratios)
        is_narrow = high <= max(limits, default=0.0) * low
        return is_narrow or id(finding) in self.failed

    def _left(self) -> float:
        """Seconds until the end, without those of replays."""
        return self._budget.left - self._kept

    def _run_plain(self) -> None:
        self.plain.append(self._program.run("time"))
        spent = self.plain[-1]["spent"]
        self._budget.spend(spent, self.plain[-1]["wall"])
        self._budget.timed(spent)
        self._longest = max(self._longest, spent)

    def _run_patched(self, finding: Finding) -> list[dict[str, Any]]:
        """One run; none if the patched program fails or takes longer."""
        patch = finding.patch
        assert patch is not None
        source = Path(patch.file).read_text(encoding="utf-8")
        limit = self._budget.patience
        try:
            text = patch.apply(source)
            found = self._program.run("time", {patch.file: text}, limit)
        except RuntimeError:
            self.failed.add(id(finding))
            self._budget.spend(self._longest)
            return []
        self._budget.spend(found["spent"], found["wall"])
        return [found]


def _repeats(runs: Sequence[dict[str, Any]], output: str, is_part: bool) -> bool:
    """Whether runs printed what the recorded one did."""
    if is_part:
        return all(run["output"].startswith(output) for run in runs)
    return all(run["output"] == output for run in runs)


def _ask(program: Program, report: Report, budget: Budget) -> None:
    """Adds what the values of a program's expressions show."""
    from pellucid.diagnose.instrument import Probes
    from pellucid.diagnose.rules import all_answers

    if sum(question.share for question in report.questions) < _ASKED:
        return
    seconds = min(_OF_VALUES * budget.left, SECONDS)
    if seconds < _LEAST:
        report.failures = [*report.failures, "no values compared: there was no time"]
        return
    probes = Probes([(one.file, one.line) for one in report.questions])
    try:
        values = program.run("values", probes.texts, budget.patience, seconds)
    except RuntimeError as error:
        report.failures = [*report.failures, f"no values compared: {error}"]
        return
    budget.spend(values["spent"], values["wall"])
    found = all_answers(probes.places, values, report.questions)
    said = {(one.file, one.line, one.fix) for one in report.findings}
    report.findings += [f for f in found if (f.file, f.line, f.fix) not in said]
    report.findings.sort(key=rank)


def replay(findings: list[Finding], seconds: float) -> None:
    """Fills in the gains of replacement expressions, in one child process; of those
    with the greatest share if there is not the time for all.
    """
    count = int((seconds - _OF_REPLAYS) / _REPLAY)
    findings = sorted(findings, key=lambda f: -f.share)[: max(count, 0)]
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
        if gain is not None:
            *own, finding.replayed_once = gain
            finding.replayed_gain = tuple(own)
