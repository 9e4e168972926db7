"""Groups: their numbers, their storage on disk, and whether they are used at all."""

import itertools
import os
import subprocess
import sys

import pytest

import pellucid as torch
from pellucid import _C
from pellucid._compile import background
from pellucid._compile.trial import Trial


def scaled(x, a, b):
    """Five numbers, including the two that are implicit in ``add``."""
    return torch.add(x * a, x, alpha=b) - (x + b) * 0.5


SIZE = 40_000  # calls of fewer elements are prepared now and then, and run at once
NUMBERS = [(2.0, 2.0), (2.0, 3.0), (1.0, 3.0), (3.0, 1.0), (1.0, 1.0), (0.5, 0.5)]


def test_equal_numbers_and_ones_give_the_bits_of_eager():
    compiled = torch.compile(scaled)
    x = torch.randn(SIZE)
    for _ in range(3):
        for a, b in NUMBERS:
            assert torch.equal(compiled(x, a, b), scaled(x, a, b)), (a, b)
        background.wait(60)


def test_other_values_of_numbers_make_no_other_group():
    compiled = torch.compile(scaled)
    x = torch.randn(SIZE)
    for _ in range(3):
        for a, b in NUMBERS:
            compiled(x, a, b)
        background.wait(60)
    before = len(_C._recorded_groups())
    for k in range(2, 40):
        assert torch.equal(compiled(x, k * 1.1, k * 1.2), scaled(x, k * 1.1, k * 1.2))
    assert len(_C._recorded_groups()) == before


PROGRAM = """
import sys
import pellucid as torch
from pellucid._compile import background

@torch.compile
def f(x):
    return ((x * 2 + 1).exp() - x).tanh()

x = torch.linspace(-1, 1, 40_000)
for _ in range(5):
    y = f(x)
    background.wait(60)
fused = torch._C._recording_counts()[3]
print(fused, "pellucid_compiler.catalogue" in sys.modules, y.sum().item())
"""


def run_with_cache(folder):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PELLUCID_CACHE": str(folder)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    fused, compiled, total = done.stdout.split()
    return int(fused) > 0, compiled == "True", total


@pytest.mark.skipif("PELLUCID_CHECKED" in os.environ, reason="stores no groups")
def test_a_later_process_takes_groups_from_disk(tmp_path):
    first = run_with_cache(tmp_path)
    assert first[:2] == (True, True)
    again = run_with_cache(tmp_path)
    assert again[:2] == (True, False) and again[2] == first[2]
    (entry,) = (tmp_path / "groups").iterdir()
    entry.write_bytes(entry.read_bytes()[:-1])
    assert run_with_cache(tmp_path) == first


def test_a_process_ends_while_kernels_are_made(tmp_path):
    program = """
import pellucid as torch
from pellucid._compile import background

x = torch.randn(40_000)
for n in range(12):
    step = torch.compile(lambda x: torch.sin(torch.tanh(x * 2 + n).exp() - 3) * (n + 2))
    for _ in range(3):
        step(x)
assert not background.is_idle()
"""
    environment = {**os.environ, "PELLUCID_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def trial_of(with_region, without):
    """A trial whose calls take these times again and again; the number of calls."""
    trial = Trial()
    times = {False: itertools.cycle(with_region), True: itertools.cycle(without)}
    for calls in itertools.count():
        if calls % 4 == 0 and trial.is_done():
            return trial, calls
        is_without = trial.is_without_region()
        trial.add(next(times[is_without]), without=is_without)


def test_a_trial_takes_the_faster_way():
    trial, calls = trial_of((50, 53, 300, 50), (100, 100, 100, 100))
    assert trial.is_won() and calls == 8
    trial, calls = trial_of((140, 150, 140, 140), (100, 100, 99, 101))
    assert not trial.is_won() and calls == 8


def test_a_trial_goes_on_while_its_times_are_close():
    lucky = (90, 103, 104, 103)  # one call that nothing disturbed
    trial, calls = trial_of(lucky, (100, 100, 100, 100))
    assert not trial.is_won() and calls == 32
    trial, calls = trial_of((95, 94, 96, 95), (100, 100, 100, 100))
    assert trial.is_won() and calls == 32


def test_a_trial_sees_both_kinds_of_alternating_calls():
    kinds = {True: set(), False: set()}
    trial = Trial()
    number = 0
    while not trial.is_done():
        is_without = trial.is_without_region()
        kinds[is_without].add(number % 2)
        trial.add(1, without=is_without)
        number += 1
    assert kinds == {True: {0, 1}, False: {0, 1}}


def test_a_trial_takes_calls_that_threads_make_at_once():
    trial = Trial()
    for _ in range(20):  # all began when the first call of a kind was due
        trial.add(2, without=True)
    assert not trial.is_done() and not trial.is_without_region()
    trial.add(1, without=False)
    assert trial.is_done() and trial.is_won()


@pytest.mark.parametrize("rows", [128, 1024])
def test_what_a_later_group_reads_outlives_the_earlier_one(rows):
    """``total`` joins the group of ``shifted``, and so runs before the maximum."""

    @torch.compile
    def both(x):
        shifted = x + 1
        highest = shifted.amax(1)
        total = shifted * 2
        return highest, total

    x = torch.randn(rows, 128)
    for _ in range(3):
        highest, total = both(x)
        assert torch.equal(highest, (x + 1).amax(1))
        assert torch.equal(total, (x + 1) * 2)
        background.wait(60)
