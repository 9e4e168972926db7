"""Traced ops on disk (tools/freeze.py) are as old as the files that they rest on."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_trace_rests_on_the_files_that_its_op_imports_from() -> None:
    program = (
        "import freeze\n"
        "ops = freeze.ENGINE / 'catalogue'\n"
        "print(*(path.name for path in freeze.families_of(ops / 'products.py')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT / "tools",
        capture_output=True,
        text=True,
    )
    names = "contraction", "phases", "products", "real_only", "seen"
    families = [f"{name}.py" for name in names]
    assert done.stdout.split() == families, done.stderr
