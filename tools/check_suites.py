#!/usr/bin/env python3
"""Runs samples of libraries' own test suites on Pellucid and on PyTorch.

    python tools/check_suites.py --own ENV/bin/python --torch PATH \
        --seconds 60 NAME FOLDER [pytest's arguments ...]

FOLDER is a checkout of the library without its package, so that the installed one is
tested. A test that ends alike on both sides agrees. The result is recorded in
tools/libraries/suites.json, from which the second table of docs/libraries.md is
written. Development only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from check_libraries import write_table

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = ROOT / "tools" / "libraries"
RECORDS = LIBRARIES / "suites.json"
_PATH = re.compile(r"(?<![\w.])/[\w./+-]+")


def run(
    python: str, folder: str, record: str, given: list[str], **settings: str
) -> None:
    """One side's run of the suite; its outcomes go to ``record``."""
    path = [str(LIBRARIES), folder, settings.pop("path", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        "SUITE_RECORD": record,
        **settings,
    }
    command = [python, "-m", "pytest", "-q", "-p", "sample_suite", "--tb=line"]
    command += ["-o", "addopts=", "-p", "no:cacheprovider", "-W", "ignore"]
    command += ["--continue-on-collection-errors", *given]
    subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)


def outcomes(record: str) -> dict[str, tuple[str, str]]:
    """{test: (how it ended, the first line of what failed)}."""
    found = {}
    if os.path.exists(record):
        for line in Path(record).read_text().splitlines():
            row = json.loads(line)
            first = row["text"].strip().splitlines()[:1]
            found[row["id"]] = row["outcome"], "".join(first)
    return found


def compared(own: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Counts of tests run on both sides and of equal outcomes; the others' reports."""
    both = [name for name in own if name in other]
    differing = [name for name in both if own[name][0] != other[name][0]]
    said = [_PATH.sub("...", own[name][1])[:120] or own[name][0] for name in differing]
    causes = Counter(said)
    for name in differing:
        print(f"{name}: {own[name][0]}, PyTorch {other[name][0]}: {own[name][1]}")
    return {
        "tests": len(both),
        "passed": sum(own[name][0] == "passed" for name in both),
        "agree": len(both) - len(differing),
        "left": [f"{count} x {cause}" for cause, count in causes.most_common(4)],
    }


def version_of(python: str, library: str) -> str:
    code = f"from importlib.metadata import version; print(version({library!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return done.stdout.strip() or "-"


def record(name: str, result: dict[str, Any]) -> None:
    held = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    held[name] = result
    RECORDS.write_text(json.dumps(held, indent=1, sort_keys=True) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--own", required=True, help="the environment's interpreter")
    parser.add_argument("--torch", required=True, help="the folder that has PyTorch")
    parser.add_argument("--seconds", default="60", help="of Pellucid's run")
    parser.add_argument("name", help="the distribution")
    parser.add_argument("folder", help="the checkout")
    arguments, given = parser.parse_known_args()
    folder = os.path.abspath(arguments.folder)
    with tempfile.TemporaryDirectory() as place:
        own, other = f"{place}/own", f"{place}/other"
        run(arguments.own, folder, own, given, SUITE_SECONDS=arguments.seconds)
        path = os.pathsep.join((str(LIBRARIES / "torch_side"), arguments.torch))
        run(arguments.own, folder, other, given, SUITE_ONLY=own, path=path)
        result = compared(outcomes(own), outcomes(other))
    record(
        arguments.name,
        {"version": version_of(arguments.own, arguments.name), **result},
    )
    write_table()
    print(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
