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
for name in ("torchtext", "torch.nothing", "torch.nn.nothing"):
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
    (tmp_path / "torchtext.py").write_text("raise AssertionError('was run')\n")
    script = tmp_path / "program.py"
    script.write_text("import helper_of_program\n" + PROGRAM)
    result = run(str(script), "a", "-b")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[-1] == "['a', '-b']"
    assert lines[0].startswith("torchtext |") and "tokenizer" in lines[0]
    assert lines[1].startswith("torch.nothing |")
    assert lines[2].startswith("torch.nn.nothing |")


def test_refused_libraries_that_are_not_installed_are_just_missing():
    find = "from importlib.util import find_spec; print(find_spec('torchtext'))"
    assert run("-c", find).stdout == "None\n"


def test_code_and_modules_run_too():
    actual = run("-c", "import torch; print(torch.__file__)").stdout
    assert actual == f"{pellucid.__file__}\n"
    assert "json" in run("-m", "json.tool", "--help").stdout


def test_child_processes_find_pellucid_as_torch(tmp_path):
    script = tmp_path / "spawns.py"
    script.write_text(CHILDREN)
    result = run(str(script))
    assert result.returncode == 0, result.stderr
    assert result.stdout == "pellucid 2.13.0\ntensor([0., 2.])\n"


CHILDREN = """
import multiprocessing, subprocess, sys
import torch

def double(x):
    return x * 2

if __name__ == "__main__":
    program = (
        "import torch, importlib.metadata as m;"
        "print(torch.__spec__.name, m.version('torch'))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(double, (torch.arange(2.0),)))
"""


def test_bad_command_lines_are_explained():
    assert run().returncode == 2
    missing = run("no-such-file.py")
    assert missing.returncode == 1 and "no-such-file.py" in missing.stderr
    assert "Traceback" not in missing.stderr


def test_the_programs_failures_are_its_own(tmp_path):
    script = tmp_path / "program.py"
    script.write_text("raise SystemExit(7)\n")
    assert run(str(script)).returncode == 7


def test_modules_of_torch_are_programs():
    result = run("-m", "torch.distributed.run", "--help")
    assert result.returncode == 0, result.stderr
    assert "--nproc-per-node" in result.stdout
