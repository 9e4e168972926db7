"""What pairs of runs show of a finding: its gain, and whether it is worth a line.

A gain is the median of the ratios of pairs. It counts if the interval's lower end is
above 1.05, if most of many pairs gain clearly, or if the peak of memory falls by a
twentieth. ``experiments.py`` and ``trials.py`` make the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from pellucid.diagnose.findings import Finding

_ALIKE = 1.2  # use of cores of two versions whose CPU times are compared
GAIN, _SAVING = 1.05, 0.05
# Of many pairs: the median, and the lower end without the extremes.
_MANY, _CLEAR, _EQUAL = 4, 1.1, 0.98
_PROOF = 2  # pairs of which all gain, where the gain is all the evidence
_SLOWER = 0.9  # than this: memory is not worth it, and above the noise
_CERTAIN, _GUESSED = 0.8, 0.4  # parts of a share that an untried fix may save
_OTHER = 0.7  # of a gain, if the output differs


def rank(finding: Finding) -> float:
    """Orders findings: the greatest gain first, measured or to be expected."""
    if finding.measured_gain is not None:
        return -finding.measured_gain[0]
    part = _CERTAIN if finding.is_certain else _GUESSED
    return -1 / (1 - part * finding.part * min(finding.share, 1.0))


def judge(
    finding: Finding, plain: list[dict[str, Any]], patched: list[dict[str, Any]]
) -> None:
    """Fills in the result of pairs of runs: dicts of seconds, peak and output."""
    pairs = list(zip(plain, patched, strict=False))
    if not pairs:
        return
    ratios = ratios_of(plain, patched)
    finding.measured_gain = median(ratios), *interval(ratios)
    finding.pairs = len(pairs)
    finding.same_output = all(a["output"] == b["output"] for a, b in pairs)
    for peak in ("peak", "resident") if finding.kind == "peak" else ("peak",):
        before = min(a.get(peak, 0) for a, _ in pairs)
        saved = before - min(b.get(peak, 0) for _, b in pairs)
        if saved > _SAVING * before:
            finding.saved_bytes = max(saved, finding.saved_bytes)
    if finding.patch is not None:
        finding.patched = finding.patch.diff()


def ratios_of(
    plain: Sequence[dict[str, Any]], patched: Sequence[dict[str, Any]]
) -> list[float]:
    """How many times as long the first of each pair took, sorted. The CPU's time is
    compared instead unless it is the less steady one, if both versions use as many
    cores.
    """
    pairs = list(zip(plain, patched, strict=False))
    if not pairs:
        return []
    clock = "seconds"
    if all("cpu" in run for pair in pairs for run in pair):
        cores = [
            [run["cpu"] / run["seconds"] for run in side] for side in (plain, patched)
        ]
        first, second = map(median, cores)
        is_alike = max(first, second) <= _ALIKE * min(first, second)
        spread = {
            name: max(run[name] for run in plain) / min(run[name] for run in plain)
            for name in ("cpu", "seconds")
        }
        if is_alike and spread["cpu"] <= spread["seconds"]:
            clock = "cpu"
    return sorted(a[clock] / b[clock] for a, b in pairs)


def interval(ratios: Sequence[float]) -> tuple[float, float]:
    """Of sorted ratios, without the extremes of many, which other programs cause."""
    cut = len(ratios) // 5
    return (ratios[cut], ratios[-1 - cut]) if ratios else (0.0, 1.0)


def best_of_each_line(findings: list[Finding]) -> list[Finding]:
    """Keeps the fix with the greatest measured gain among several for one line's time
    or memory, or that change the same lines; and of another kind one that was not
    measured, if more is to be expected of it.
    """
    measured = [f for f in findings if f.measured_gain is not None]
    taken: set[tuple[str, int, bool]] = set()
    best: set[int] = set()
    for finding in sorted(measured, key=_worth, reverse=True):
        is_memory = _place(finding)[2]
        lines = {(file, line, is_memory) for file, line in _changed([finding])}
        lines.add(_place(finding))
        if not lines & taken:
            best.add(id(finding))
            taken |= lines
    kept = [f for f in measured if id(f) in best]
    return [
        finding
        for finding in findings
        if id(finding) in best
        or (
            finding.measured_gain is None
            and not any(_includes(one, finding) for one in kept)
        )
    ]


def _includes(measured: Finding, other: Finding) -> bool:
    """Whether the gain of a fix at a line is all that can be said of the line."""
    is_better = measured.kind == other.kind or rank(measured) <= rank(other)
    return _place(measured) == _place(other) and is_better


def _place(finding: Finding) -> tuple[str, int, bool]:
    return finding.file, finding.line, finding.kind in ("peak", "leak")


def _changed(findings: Sequence[Finding]) -> set[tuple[str, int]]:
    """The lines that patches replace."""
    return {
        (finding.patch.file, number)
        for finding in findings
        if finding.patch is not None
        for first, last, _ in finding.patch.edits
        for number in range(first, last + 1)
    }


def _worth(finding: Finding) -> float:
    """Its measured gain; less if the output differs."""
    assert finding.measured_gain is not None
    return finding.measured_gain[0] * (_OTHER if finding.same_output is False else 1.0)


def not_mended(findings: list[Finding]) -> list[Finding]:
    """Drops unmeasured findings at lines that a measured fix changes, or of which a
    certain one is known.
    """
    changed = _changed([f for f in findings if f.measured_gain is not None])
    certain = {(f.file, f.line) for f in findings if f.is_certain}
    return [
        f
        for f in findings
        if f.measured_gain is not None
        or ((f.file, f.line) not in changed | certain)
        or (f.is_certain and (f.file, f.line) not in changed)
    ]


def is_worth(finding: Finding) -> bool:
    """Whether a measurement is a gain: of time, or of memory if no time is lost, or if
    it is an option's that saves memory.
    """
    gain = finding.measured_gain
    if gain is None:
        return False
    is_memory = finding.kind in ("peak", "leak")
    is_slower = gain[2] < _SLOWER
    saves = is_memory if finding.is_option else not is_slower
    is_steady = finding.pairs >= _MANY and gain[0] > _CLEAR and gain[1] > _EQUAL
    return gain[1] > GAIN or is_steady or (finding.saved_bytes > 0 and saves)


def is_proved(finding: Finding) -> bool:
    """Whether there is evidence of a loss, or pairs of runs that show it."""
    if not finding.is_guess:
        return True
    return finding.pairs >= _PROOF and is_worth(finding)
