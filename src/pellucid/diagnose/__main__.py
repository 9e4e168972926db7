"""``python -m pellucid.diagnose script.py``: what bounds a program, what fixes it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pellucid.diagnose.budget import Budget
from pellucid.diagnose.experiments import Program, measure
from pellucid.diagnose.findings import Report
from pellucid.diagnose.judging import is_proved


def main(arguments: list[str] | None = None) -> int:
    """Runs the script, prints the verdict, measures the fixes; returns the exit
    status.
    """
    parser = argparse.ArgumentParser(
        prog="python -m pellucid.diagnose", description=__doc__
    )
    parser.add_argument("--json", metavar="FILE", help="the whole report as JSON")
    parser.add_argument("--html", metavar="FILE", help="the verdict as a page")
    parser.add_argument(
        "--no-rerun", action="store_true", help="run once: measure no fixes"
    )
    parser.add_argument(
        "--write", action="store_true", help="apply the best fix that was measured"
    )
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    program = Program(options.script, options.arguments)
    budget = Budget()
    try:
        recorded = program.run("record")
    except (RuntimeError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    report = Report.unpickled(recorded["report"])
    budget.spend(recorded["spent"], recorded["wall"])
    budget.recorded(report.own_seconds)
    if not options.no_rerun:
        measure(program, report, budget, recorded["output"])
    report.findings = [f for f in report.findings if is_proved(f)]
    print(report)
    if options.json:
        Path(options.json).write_text(report.json())
    if options.html:
        from pellucid.diagnose.page import Page

        Page(text=str(report)).save(options.html)
    if options.write:
        _write(report)
    return 0


def _write(report: Report) -> None:
    """Applies the fix with the greatest measured gain."""
    worth = [f for f in report.findings if f.patch is not None and f.measured_gain]
    if not worth:
        print("nothing was written: no fix was measured to gain")
        return
    best = max(worth, key=lambda f: f.measured_gain or (0.0, 0.0, 0.0))
    assert best.patch is not None
    path = Path(best.patch.file)
    path.write_text(best.patch.apply(path.read_text(encoding="utf-8")))
    print(f"written to {path}:\n{best.patched}")


if __name__ == "__main__":
    sys.exit(main())
