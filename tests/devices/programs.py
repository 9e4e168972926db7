"""Programs in a process of their own: the first backend is its accelerator."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*arguments, expected=0):
    """The output of a Python process, including errors if they are expected."""
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == expected, done.stderr[-2000:]
    return done.stdout + (done.stderr if expected else "")


def run_program(text, expected=0):
    prepared = "import sys; sys.path.insert(0, 'examples')\n" + text
    return run("-c", prepared, expected=expected)
