"""No kernel form touches memory outside its operands."""

import subprocess
import sys


def test_kernels_stay_between_closed_pages():
    done = subprocess.run(
        [sys.executable, "-m", "tests.compiler.guarded"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    last = "\n".join(done.stderr.strip().splitlines()[-8:])
    assert done.returncode == 0, f"signal or error {done.returncode} after\n{last}"
