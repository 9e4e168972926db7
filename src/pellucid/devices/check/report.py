"""What the kit found: results of checks, and the text that a maker reads."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

MOST_LINES = 10
"""Of an error; what is behind them is cut off."""


class Failure(NamedTuple):
    """A check that did not hold: its section, what it says, and how it failed."""

    section: str
    check: str
    reason: str


@dataclass
class Report:
    """The results of a run. ``host_steps``: how many steps the CPU ran, and why."""

    device: str
    checked: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    launched: int = 0
    host_steps: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def passed(self, section: str) -> None:
        """Notes a check that holds."""
        self.checked[section] = self.checked.get(section, 0) + 1

    def failed(self, section: str, check: str, reason: str) -> None:
        """Notes one that does not."""
        self.passed(section)
        lines = reason.splitlines()
        if len(lines) > MOST_LINES:
            lines[MOST_LINES - 1 :] = ["..."]
        self.failures.append(Failure(section, check, "\n".join(lines)))

    def __bool__(self) -> bool:
        return not self.failures

    def __str__(self) -> str:
        return "\n".join([self.device, *self._sections(), *self._summary()])

    def _sections(self) -> list[str]:
        lines = []
        for section, count in self.checked.items():
            failures = [f for f in self.failures if f.section == section]
            verdict = f"{len(failures)} failed" if failures else "ok"
            lines.append(f"  {section:15}{count:6} checks  {verdict}")
            for failure in failures:
                lines.append(f"    {failure.check}")
                lines += [f"      {line}" for line in failure.reason.splitlines()]
        return lines

    def _summary(self) -> list[str]:
        host = self.host_steps.total()
        lines = [
            f"{sum(self.checked.values())} checks, {len(self.failures)} failed, "
            f"{self.seconds:.0f} s; {self.launched} steps launched, {host} on the CPU"
        ]
        common = self.host_steps.most_common(8)
        lines += [f"  on the CPU: {why} ({count})" for why, count in common]
        return lines
