"""The conformance kit and ``tools/check_gpu.py`` on the stand-in driver."""

import json
import os
import subprocess
import sys

from tests.cuda.standin import PRELUDE, ROOT, built, run_program


def test_the_kit_passes():
    output = run_program(
        """
import json
from pellucid.devices import check
from tools.given_calls import GIVEN
report = check.run("cuda", [s for s in check.SECTIONS if s != "ops"], given=GIVEN)
print(json.dumps([report.failures, report.launched, driver.faults, str(report)]))
""",
        count=2,
    )
    failures, launched, faults, text = json.loads(output)
    assert failures == [], text
    assert faults == []
    assert launched > 1000


def test_the_gpu_check_finds_the_emulators_bits():
    program = PRELUDE + "import runpy, sys; sys.argv[0] = 'tools/check_gpu.py'\n"
    program += "runpy.run_path(sys.argv[0], run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", program, "--skip-kit", "--small"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        env={**os.environ, "PELLUCID_CUDA_DRIVER": str(built()), "STANDIN": ""},
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    rows = [line for line in done.stdout.splitlines() if line.endswith("same |")]
    assert len(rows) >= 14
    assert "training step, GPT" in done.stdout


def test_the_gpu_check_says_that_there_is_no_gpu():
    done = subprocess.run(
        [sys.executable, "tools/check_gpu.py"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        env={**os.environ, "PELLUCID_CUDA_DRIVER": str(built()), "STANDIN": "count=0"},
    )
    assert done.returncode == 1
    assert "No CUDA GPUs are available" in done.stderr
