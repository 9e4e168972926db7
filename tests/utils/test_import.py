"""What ``import pellucid`` brings in: as little as it can."""

import subprocess
import sys

from tests.unmeasured import environment

HEAVY = (
    "numpy",
    "llvmlite",
    "dataclasses",
    "inspect",
    "typing",
    "multiprocessing",
    "zipfile",
    "pickle",
    "pellucid_compiler",
)


def test_importing_leaves_heavy_modules_out():
    program = f"import sys, pellucid; print([m for m in {HEAVY} if m in sys.modules])"
    command = [sys.executable, "-c", program]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=environment()
    )
    assert result.stdout == "[]\n", result.stderr


def test_modules_on_demand_come_when_they_are_named():
    program = "import pellucid; pellucid.cuda.is_available(); pellucid.save; print(1)"
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.stdout == "1\n", result.stderr
