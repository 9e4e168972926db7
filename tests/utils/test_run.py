"""``python -m pellucid.run``: torch is Pellucid, what is missing says so."""

import subprocess
import sys

import pellucid

PROGRAM = """
import sys
import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader
from torch.optim.lr_scheduler import StepLR
import pellucid

assert torch is pellucid and nn is pellucid.nn and F is pellucid.nn.functional
assert DataLoader is pellucid.utils.data.DataLoader
assert nn.__spec__.name == "pellucid.nn"
assert __name__ == "__main__"
for name in ("torchvision", "torch.nothing", "torch.nn.nothing"):
    try:
        __import__(name)
    except ImportError as error:
        print(error.name, "|", error)
print(sys.argv[1:])
"""


def run(*arguments):
    command = [sys.executable, "-m", "pellucid.run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_scripts_find_pellucid_as_torch(tmp_path):
    (tmp_path / "helper_of_program.py").write_text("value = 3\n")
    (tmp_path / "torchvision.py").write_text("raise AssertionError('was run')\n")
    script = tmp_path / "program.py"
    script.write_text("import helper_of_program\n" + PROGRAM)
    result = run(str(script), "a", "-b")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[-1] == "['a', '-b']"
    assert lines[0].startswith("torchvision |") and "torch.from_numpy" in lines[0]
    assert lines[1].startswith("torch.nothing |")
    assert lines[2].startswith("torch.nn.nothing |")


def test_refused_libraries_that_are_not_installed_are_just_missing():
    find = "from importlib.util import find_spec; print(find_spec('torchtext'))"
    assert run("-c", find).stdout == "None\n"


def test_code_and_modules_run_too():
    found = run("-c", "import torch; print(torch.__file__)").stdout
    assert found == f"{pellucid.__file__}\n"
    assert "json" in run("-m", "json.tool", "--help").stdout


def test_bad_command_lines_are_explained():
    assert run().returncode == 2
    missing = run("no-such-file.py")
    assert missing.returncode == 1 and "no-such-file.py" in missing.stderr
    assert "Traceback" not in missing.stderr


def test_the_programs_failures_are_its_own(tmp_path):
    script = tmp_path / "program.py"
    script.write_text("raise SystemExit(7)\n")
    assert run(str(script)).returncode == 7
