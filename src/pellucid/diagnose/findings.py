"""The results of diagnose: findings, patches, reports."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pellucid.diagnose.steps import as_json, shown_steps

KINDS = (
    *("data", "overhead", "copy", "compute", "bandwidth", "peak", "leak", "waste"),
    *("wait", "first-time"),
)


@dataclass(frozen=True)
class Patch:
    """A file with some lines replaced: each edit is (first, last, new lines), lines
    counted from 1, the last included; a first behind the last inserts before it.
    """

    file: str
    edits: tuple[tuple[int, int, tuple[str, ...]], ...]

    def apply(self, source: str) -> str:
        """The patched text."""
        lines = source.splitlines()
        for first, last, new in sorted(self.edits, reverse=True):
            lines[first - 1 : last] = new
        return "\n".join(lines) + "\n"

    def diff(self) -> str:
        """As a unified diff."""
        source = Path(self.file).read_text(encoding="utf-8")
        name = Path(self.file).name
        lines = difflib.unified_diff(
            source.splitlines(),
            self.apply(source).splitlines(),
            name,
            name,
            "",
            "",
            0,
            "",
        )
        return "\n".join(lines)


@dataclass(frozen=True)
class Replay:
    """A line's computation and a replacement, as expressions over tensors that
    ``setup`` creates with the recorded sizes and strides. Measured if the source does
    not show how to patch the program.
    """

    setup: str
    plain: str
    better: str


@dataclass
class Finding:
    """A finding: the line, the evidence, the fix. ``share``: its part of the time;
    ``bound``: the speed-up if it were removed completely. ``measured_gain``
    is (speed-up, low, high) of the whole program, None if it was not measured. An
    option (``is_option``) is an optional optimisation of sound code. ``keeps_output``:
    the fix computes the same values; if the output differs, it is wrong.
    ``is_certain``: the evidence is a fact of the run, whether or not the patch runs.
    ``is_guess``: the evidence shows no loss yet; pairs of runs must.
    ``part``: of the share, what the fix saves at the most.
    ``is_question``: a place whose values a further run is to compare; no finding yet.
    """

    kind: str
    file: str
    line: int
    text: str
    evidence: str
    fix: str
    share: float
    patch: Patch | None = None
    patched: str = ""
    bound: float = 1.0
    part: float = 1.0
    measured_gain: tuple[float, float, float] | None = None
    pairs: int = 0
    saved_bytes: int = 0
    same_output: bool | None = None
    keeps_output: bool = False
    is_certain: bool = False
    is_guess: bool = False
    is_option: bool = False
    is_question: bool = False
    replay: Replay | None = None
    replayed_gain: tuple[float, float, float] | None = None  # of the line alone
    replayed_once: float = 0.0  # seconds that the better form needs the first time

    @classmethod
    def at(cls, file: str, line: int, **facts: Any) -> Finding:
        """One whose text is that of its line."""
        import linecache

        return cls(
            file=file, line=line, text=linecache.getline(file, line).strip(), **facts
        )

    @classmethod
    def question(
        cls, file: str, line: int, kind: str, share: float, evidence: str = ""
    ) -> Finding:
        """Asks the run of the instrumented program about the calls of a line."""
        facts = {"kind": kind, "share": share, "evidence": evidence, "fix": ""}
        return cls.at(file, line, **facts, is_question=True)

    def lines(self, number: int, seconds: float, steady: float) -> list[str]:
        """At most four lines of a report; ``seconds`` of the program, and of these the
        part ``steady`` that ``share`` is a share of.
        """
        name = Path(self.file).name
        shown = [f"{number}. {name}:{self.line}  {self.text}".rstrip()]
        shown.append(f"   {self.evidence}")
        shown.append(f"   fix    {self.fix}")
        if self.measured_gain is not None or self.saved_bytes:
            shown.append(f"          measured {self._measured()}")
        elif self.replayed_gain is not None:
            shown.append(f"          replayed: {self._replayed(seconds, steady)}")
        elif self.patch is None:
            shown.append("          not measured: there is no patch of it")
        else:
            shown.append("          not measured: there was no time, or --no-rerun")
        return shown

    def estimate(self, seconds: float, steady: float) -> float:
        """The speed-up of a program of some ``seconds`` by what the replay gained."""
        assert self.replayed_gain is not None
        saved = seconds * steady * self.share * (1 - 1 / self.replayed_gain[0])
        return seconds / (seconds - saved + self.replayed_once)

    def _replayed(self, seconds: float, steady: float) -> str:
        assert self.replayed_gain is not None
        gain, low, high = self.replayed_gain
        whole = self.estimate(seconds, steady)
        line = f"{gain:.2f}x on the line ({low:.2f} to {high:.2f})"
        return f"{line}, about {whole:.2f}x in all"

    def option_lines(self) -> list[str]:
        """Two lines of a report."""
        place = f" ({Path(self.file).name}:{self.line})" if self.file else ""
        return [f"option {self.fix}{place}", f"       measured {self._measured()}"]

    def _measured(self) -> str:
        from pellucid.memory._peak import readable

        parts = []
        if self.measured_gain is not None:
            gain, low, high = self.measured_gain
            range_ = f"{low:.2f} to {high:.2f}, {self.pairs} pairs"
            parts.append(f"{gain:.2f}x ({range_ if self.pairs > 1 else '1 pair'})")
        if self.saved_bytes:
            parts.append(f"{readable(-self.saved_bytes)} at the peak")
        if self.same_output is not None:
            parts.append("same output" if self.same_output else "output differs")
        return ", ".join(parts)


@dataclass
class Report:
    """The verdict: ``kind`` of the largest share, shares of the wall time that sum to
    1, findings by weight, ``options`` that are not faults and gained when measured;
    ``failures``: rules that raised or had no time; ``questions``: what `experiments`
    asks first; ``is_part``: the program ended when its recording was full.
    """

    kind: str
    shares: dict[str, float]
    seconds: float
    calls: int
    machine: str
    roof: float
    findings: list[Finding] = field(default_factory=list)
    options: list[Finding] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    rows: Sequence[Any] = ()
    runs: int = 1
    steps: Sequence[Any] = ()
    failures: Sequence[str] = ()
    questions: list[Finding] = field(default_factory=list)
    is_part: bool = False

    @property
    def own_seconds(self) -> float:
        """In which the program had a core."""
        return self.seconds * (1 - self.shares.get("away", 0.0))

    @property
    def steady(self) -> float:
        """Of ``own_seconds`` the part that was not spent on what is needed once."""
        own = 1 - self.shares.get("away", 0.0)
        return max(1 - self.shares.get("first-time", 0.0) / max(own, 1e-9), 0.0)

    @property
    def calls_each(self) -> float:
        """Calls of one run."""
        return self.calls / self.runs

    def text(self) -> str:
        """At most 25 lines."""
        parts = [f"{name} {share:.0%}" for name, share in _largest(self.shares)]
        lines = [
            f"{self.kind}-bound: {', '.join(parts)} of {self.seconds * 1e3:.1f} ms, "
            f"{self.calls} calls" + (", then the recording was full" * self.is_part)
        ]
        shown = self.findings[:4]
        for number, finding in enumerate(shown, 1):
            lines += finding.lines(number, max(self.own_seconds, 1e-9), self.steady)
        if len(self.findings) > len(shown):
            lines.append(f"and {len(self.findings) - len(shown)} smaller findings")
        if not self.findings:
            lines.append("nothing to fix")
        lines += [line.partition("\n")[0] for line in self.failures[:2]]
        for option in self.options[:2]:
            if option.measured_gain is not None:
                lines += option.option_lines()
        lines += shown_steps(self.steps)
        lines.append(
            f"roofline: computations take {self.roof:.1f}x their time at the roof"
        )
        for row in list(self.rows)[:3] if not self.findings else []:
            lines.append(
                f"  {row.op} at {row.line}: {row.share_of_roof:.0%} of its roof "
                f"({row.limit})"
            )
        return "\n".join(lines[:25])

    __str__ = __repr__ = text

    def json(self) -> str:
        """All of it; shares and gains are ratios."""
        fields = {
            "kind": self.kind,
            "shares": self.shares,
            "seconds": self.seconds,
            "calls": self.calls,
            "is_part": self.is_part,
            "steps": as_json(self.steps),
            "machine": self.machine,
            "roof": self.roof,
            "findings": [asdict(finding) for finding in self.findings],
            "options": [asdict(option) for option in self.options],
            "dropped": self.dropped,
            "failures": list(self.failures),
        }
        return json.dumps(fields, indent=1)

    def pickled(self) -> str:
        """As JSON that `unpickled` reads; without rows."""
        import base64
        import pickle
        from dataclasses import replace

        data = pickle.dumps(replace(self, rows=list(self.rows)[:20]))
        encoded = base64.b64encode(data).decode()
        return json.dumps({"report": encoded})

    @staticmethod
    def unpickled(text: str) -> Report:
        """Loads the report that a child process sent."""
        import base64
        import pickle

        report: Report = pickle.loads(base64.b64decode(text))
        return report


def _largest(shares: dict[str, float]) -> list[tuple[str, float]]:
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    return [(name, share) for name, share in ordered if share >= 0.02][:5]
