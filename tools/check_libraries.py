#!/usr/bin/env python3
"""Runs programs of libraries on Pellucid and on PyTorch, and writes docs/libraries.md.

    python tools/check_libraries.py --own ENV/bin/python --torch PATH [name ...]

ENV is a virtual environment with the libraries, Pellucid and its alias; PATH the folder
of packages that has PyTorch, which goes first in the other run. Development only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "tools" / "libraries" / "programs"
STAND_INS = ROOT / "tools" / "libraries" / "torch_side"
TABLE = ROOT / "docs" / "libraries.md"
RECORDS = ROOT / "tools" / "libraries" / "programs.json"
LIMIT = 580.0  # seconds of one program
TOLERANCE = 2e-3
_NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")
_HEAD = """\
# Libraries

Programs of `tools/libraries/programs`, each run with the library as installed from the
package index, on Pellucid and on PyTorch at equal seeds. A line agrees if its words
are the same and its numbers differ by less than 0.2 %. Recorded by
`tools/check_libraries.py` for the programs that it runs.

| library | version | program | lines | agree | what differs |
|---|---|---|---|---|---|
"""
_SUITES = """
## The libraries' own tests

Samples of the suites, drawn by the checksums of the tests' names, on both sides. A test
agrees if it ends alike: passed, failed or skipped. Recorded by `tools/check_suites.py`;
a cause that was fixed since is shown until the suite runs again.

| library | version | tests | passed | agree | what differs |
|---|---|---|---|---|---|
"""


class Result(NamedTuple):
    """The outcome of one program."""

    lines: int
    agreeing: int
    note: str


def printed(python: str, program: Path, first: str = "") -> tuple[list[str], str]:
    """The lines that a program prints, and the last line of its failure."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    if first:
        environment["PYTHONPATH"] = os.pathsep.join((str(STAND_INS), first))
    command = [python, "-W", "ignore", str(program)]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return [], f"no end after {LIMIT:.0f} s"
    failure = done.stderr.strip().splitlines()[-1:] if done.returncode else []
    return done.stdout.splitlines(), "".join(failure)


def agrees(own: str, other: str) -> bool:
    """Whether two lines are equal up to rounding."""
    if _NUMBER.sub("#", own) != _NUMBER.sub("#", other):
        return False
    pairs = zip(_NUMBER.findall(own), _NUMBER.findall(other), strict=True)
    return all(
        abs(float(a) - float(b)) <= TOLERANCE * max(abs(float(a)), abs(float(b)))
        for a, b in pairs
    )


def compared(own: list[str], other: list[str], failure: str) -> Result:
    """The lines of PyTorch's run that Pellucid's also has."""
    pairs = list(zip(own, other, strict=False))
    differing = [b.split()[0] for a, b in pairs if not agrees(a, b)]
    note = failure or ", ".join(differing)
    return Result(len(other), len(pairs) - len(differing), note)


def version_of(python: str, library: str) -> str:
    code = f"from importlib.metadata import version; print(version({library!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return done.stdout.strip() or "-"


def checked(python: str, torch: str, program: Path) -> dict[str, Any]:
    """The outcome of a program on both sides, as a record."""
    library = program.stem.partition("_")[0]
    own, failure = printed(python, program)
    other, its_failure = printed(python, program, torch)
    note = f"PyTorch: {its_failure}" if its_failure else failure
    result = compared(own, other, note)
    return {"version": version_of(python, library), **result._asdict()}


def records(path: Path) -> dict[str, dict[str, Any]]:
    """What was recorded of each program, or of each suite."""
    found: dict[str, dict[str, Any]] = json.loads(path.read_text())
    return found


def line(*cells: Any) -> str:
    return f"| {' | '.join(str(c).replace('|', '/') for c in cells)} |\n"


def programs() -> str:
    """The rows of the programs' table."""
    rows = []
    for name, found in sorted(records(RECORDS).items()):
        library, _, what = name.partition("_")
        counts = (found[k] for k in ("lines", "agreeing", "note"))
        rows.append(line(library, found["version"], what, *counts))
    return "".join(rows)


def suites() -> str:
    """The table of what check_suites.py recorded."""
    rows = []
    for name, found in records(ROOT / "tools/libraries/suites.json").items():
        counts = (found[k] for k in ("version", "tests", "passed", "agree"))
        rows.append(line(name, *counts, "; ".join(found["left"])))
    return _SUITES + "".join(rows)


def write_table() -> None:
    """The page, from both records."""
    TABLE.write_text(_HEAD + programs() + suites())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--own", required=True, help="the environment's interpreter")
    parser.add_argument("--torch", required=True, help="the folder that has PyTorch")
    parser.add_argument("names", nargs="*", help="programs; all without any")
    arguments = parser.parse_args()
    held = records(RECORDS)
    for program in sorted(PROGRAMS.glob("*.py")):
        if not arguments.names or program.stem in arguments.names:
            found = checked(arguments.own, arguments.torch, program)
            held[program.stem] = found
            print(program.stem, found, flush=True)
            RECORDS.write_text(json.dumps(held, indent=1, sort_keys=True) + "\n")
    write_table()
    return 0


if __name__ == "__main__":
    sys.exit(main())
