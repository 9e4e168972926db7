"""Random calls never crash and raise PyTorch's error types; random programs give the
same results in every run, and random layouts change no value.
"""

import subprocess
import sys
from pathlib import Path

import pytest


def run(script, *arguments):
    command = [sys.executable, str(Path(__file__).with_name(script)), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    last = done.stderr.strip().splitlines()[-12:]
    assert done.returncode == 0, "\n".join([done.stdout[-3000:], *last])


@pytest.mark.parametrize("seed", [1, 2])
def test_random_calls(seed):
    run("fuzz.py", str(seed), "500")


@pytest.mark.parametrize("seed", [1, 2])
def test_random_layouts(seed):
    run("layouts.py", str(seed), "1000")


def test_random_programs_of_repeated_calls():
    run("programs.py", "1", "40")


def test_random_programs_of_several_threads():
    run("programs.py", "2", "30", "--threads")
