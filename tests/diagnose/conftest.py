"""Reports of programs by a clock of their own; one process makes them for all tests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pellucid.diagnose.findings import Report

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="session")
def report_of():
    """A function that gives a program's report by a clock of its own: one process
    makes those that the tests ask for.
    """
    command = [sys.executable, str(PROGRAMS.parent / "record_programs.py")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, bufsize=1, **pipes) as recorder:

        def report(name):
            print(PROGRAMS / Path(name).with_suffix(".py"), file=recorder.stdin)
            return Report.unpickled(json.loads(recorder.stdout.readline())["report"])

        yield report
        recorder.stdin.close()
    assert recorder.returncode == 0
